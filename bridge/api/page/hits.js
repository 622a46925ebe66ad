/** The list of hits. */

import { el, passage, place, scoreBar, titleLink } from "./dom.js";
import { excerpt } from "./text.js";
import { date, folder, signals } from "./words.js";

const GLANCE = 300;

/** A passage of which a glance is shown, and a button for the rest where there is more. */
function unfolding({ passage: text, highlights }, open, toggled) {
  const glance = excerpt(text, highlights, GLANCE);
  if (!glance.before && !glance.after) return { text: passage(glance), button: null };
  const shown = () => passage(open ? excerpt(text, highlights) : glance);
  let current = shown();
  const button = el(
    "button",
    {
      class: "quiet whole",
      type: "button",
      "aria-expanded": open,
      onclick: () => {
        open = !open;
        toggled(open);
        current.replaceWith((current = shown()));
        button.textContent = open ? "Less" : "More";
        button.setAttribute("aria-expanded", open);
      },
    },
    open ? "Less" : "More",
  );
  return { text: current, button };
}

export class HitList {
  #list;
  #choose;
  #unfolded = new Set();

  /** `choose(hit)` is called when somebody asks for a hit's related notes. */
  constructor(list, choose) {
    this.#list = list;
    this.#choose = choose;
  }

  /** Show `hits` in place of the former ones; the focus stays on its note. */
  show(hits) {
    const active = document.activeElement;
    const row = this.#list.contains(active) ? active.closest("[data-path]") : null;
    this.#list.replaceChildren(...hits.map((hit) => this.#row(hit)));
    if (row) this.row(row.dataset.path)?.querySelector(`.${active.classList[0]}`)?.focus();
  }

  row(path) {
    return [...this.#list.children].find((row) => row.dataset.path === path);
  }

  #row(hit) {
    const remember = (open) => this.#unfolded[open ? "add" : "delete"](hit.path);
    const { text, button } = unfolding(hit, this.#unfolded.has(hit.path), remember);
    const time = el("time", { datetime: hit.modified, title: hit.modified }, date(hit.modified));
    return el(
      "li",
      { "data-path": hit.path },
      el(
        "article",
        null,
        el("div", { class: "head" }, el("h2", null, titleLink(hit)), scoreBar(hit.score)),
        place(folder(hit.path), hit.heading_path),
        text,
        el(
          "div",
          { class: "foot" },
          el("p", { class: "facts" }, el("span", null, signals(hit.signals)), el("span", { class: "kind" }, hit.kind), time),
          button,
          el(
            "button",
            { class: "quiet relate", type: "button", "aria-expanded": false, "aria-controls": "related", onclick: () => this.#choose(hit) },
            "Related",
          ),
        ),
      ),
    );
  }
}
