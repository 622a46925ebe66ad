/** The notes related to a chosen one: beside the hits where there is room, else beneath the hit. */

import { ask } from "./bridge.js";
import { button, el, passage, place, scoreBar, titleLink } from "./dom.js";
import { excerpt } from "./text.js";
import { why } from "./words.js";

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
    const home = this.#room.matches ? this.#beside : row;
    if (this.#panel.parentElement !== home) home.append(this.#panel);
  }

  async #load() {
    const note = this.#trail.at(-1);
    this.#asking?.abort();
    const { signal } = (this.#asking = new AbortController());
    this.#panel.setAttribute("aria-busy", "true");
    try {
      const answer = await ask(`/v1/related?path=${encodeURIComponent(note.path)}&limit=${LIMIT}`, { signal });
      if (!signal.aborted) this.#show(note, answer);
    } catch (error) {
      if (signal.aborted) return;
      this.close();
      this.#failed(error);
    } finally {
      if (!signal.aborted) this.#panel.removeAttribute("aria-busy");
    }
  }

  #show(note, { hits, coverage }) {
    const none = coverage !== null && coverage < 1 ? "Nothing yet: notes are still being embedded." : "No other note belongs with this one.";
    this.#panel.replaceChildren(
      el(
        "header",
        null,
        this.#trail.length > 1 ? button("←", "back", () => this.back(), { "aria-label": "Back" }) : null,
        el("h2", null, "Related to ", el("bdi", null, note.title)),
        button("×", "close", () => this.close(), { "aria-label": "Close" }),
      ),
      hits.length ? el("ol", { role: "list" }, ...hits.map((hit) => this.#row(hit))) : el("p", { class: "soft" }, none),
    );
    this.place();
    this.#panel.scrollTop = 0;
    this.#panel.focus({ preventScroll: true });
    if (!this.#room.matches) this.#panel.scrollIntoView({ block: "nearest" });
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
      place(hit),
      el("p", { class: "why" }, why(hit.why, hit.pinned)),
      passage(excerpt(hit.passage, [], GLANCE)),
      button("Related", "relate", walk),
    );
  }
}
