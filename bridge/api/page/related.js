/** The notes related to a chosen one: beside the hits where there is room, else beneath the hit. */

import { ask } from "./bridge.js";
import { el, passage, place, scoreBar, titleLink } from "./dom.js";
import { excerpt } from "./text.js";
import { folder, why } from "./words.js";

const GLANCE = 150;
const LIMIT = 8;

export class Related {
  #beside;
  #rowOf;
  #failed;
  #panel = el("section", { id: "related", "aria-label": "Related notes", tabindex: "-1" });
  #trail = [];
  #asking;
  #room = matchMedia("(min-width: 60rem)");

  /** `rowOf(path)` gives the row of a hit on show; `failed(error)` is told what went wrong. */
  constructor(beside, rowOf, failed) {
    this.#beside = beside;
    this.#rowOf = rowOf;
    this.#failed = failed;
    this.#room.addEventListener("change", () => this.place());
  }

  /** The path of the hit whose related notes are open. */
  get path() {
    return this.#trail[0]?.path;
  }

  /** Open the panel for a hit, or close it when it is that hit's already. */
  toggle(hit) {
    if (this.path === hit.path) return this.close();
    this.#trail = [hit];
    this.#load();
  }

  /** One step back on the trail; from its first note the panel closes. */
  back() {
    if (this.#trail.length < 2) return this.close();
    this.#trail.pop();
    this.#load();
  }

  close() {
    const row = this.path && this.#rowOf(this.path);
    const focused = this.#panel.contains(document.activeElement);
    this.#asking?.abort();
    this.#trail = [];
    this.place();
    if (focused) row?.querySelector(".title").focus();
  }

  /** Put the panel where it belongs, after the hits or the width of the page changed. */
  place() {
    const focused = this.#panel.contains(document.activeElement) ? document.activeElement : null;
    document.querySelector(".chosen")?.classList.remove("chosen");
    document.querySelector(".relate[aria-expanded=true]")?.setAttribute("aria-expanded", "false");
    const row = this.path && this.#rowOf(this.path);
    if (!row) {
      this.#trail = [];
      this.#panel.remove();
      return;
    }
    row.classList.add("chosen");
    row.querySelector(".relate").setAttribute("aria-expanded", "true");
    (this.#room.matches ? this.#beside : row).append(this.#panel);
    focused?.focus();
  }

  async #load() {
    const note = this.#trail.at(-1);
    this.#asking?.abort();
    const { signal } = (this.#asking = new AbortController());
    this.#panel.setAttribute("aria-busy", "true");
    try {
      const answer = await ask(`/v1/related?path=${encodeURIComponent(note.path)}&limit=${LIMIT}`, { signal });
      if (signal.aborted) return;
      this.#show(note, answer);
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  #show(note, { hits, coverage }) {
    const more = this.#trail.length > 1;
    const button = (name, text, onclick) => el("button", { class: "quiet", type: "button", "aria-label": name, title: name, onclick }, text);
    const none = coverage !== null && coverage < 1 ? "Nothing yet: notes are still being embedded." : "No other note belongs with this one.";
    this.#panel.replaceChildren(
      el(
        "header",
        null,
        more ? button("Back", "←", () => this.back()) : null,
        el("h2", null, "Related to ", el("bdi", null, note.title)),
        button("Close", "×", () => this.close()),
      ),
      hits.length ? el("ol", { role: "list" }, ...hits.map((hit) => this.#row(hit))) : el("p", { class: "soft" }, none),
    );
    this.#panel.removeAttribute("aria-busy");
    this.place();
    this.#panel.scrollTop = 0;
    this.#panel.focus({ preventScroll: this.#room.matches });
  }

  #row(hit) {
    const walk = () => {
      this.#trail.push(hit);
      this.#load();
    };
    return el(
      "li",
      null,
      el("div", { class: "head" }, el("h3", null, titleLink(hit)), scoreBar(hit.score)),
      place(folder(hit.path), hit.heading_path),
      el("p", { class: "why" }, hit.pinned ? "Pinned · " : null, why(hit.why)),
      hit.passage ? passage(excerpt(hit.passage, [], GLANCE)) : null,
      el("button", { class: "quiet relate", type: "button", onclick: walk, "aria-label": `Related to ${hit.title}` }, "Related"),
    );
  }
}
