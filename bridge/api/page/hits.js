/** The list of hits. */

import { button, el, passage, place, scoreBar, titleLink } from "./dom.js";
import { excerpt } from "./text.js";
import { date, signals } from "./words.js";

const GLANCE = 300;

export class HitList {
  #list;
  #choose;
  #unfolded = new Set();

  /** `choose(hit)` is called when somebody asks for a hit's related notes. */
  constructor(list, choose) {
    this.#list = list;
    this.#choose = choose;
  }

  /** Show `hits` in place of the former ones. */
  show(hits) {
    this.#list.replaceChildren(...hits.map((hit) => this.#row(hit)));
  }

  row(path) {
    return [...this.#list.children].find((row) => row.dataset.path === path);
  }

  /** The counterpart of a control whose row was replaced. */
  heir(control) {
    const row = control.closest("[data-path]");
    return row && this.row(row.dataset.path)?.querySelector(`.${control.classList[0]}`);
  }

  #row(hit) {
    const [text, unfold] = this.#unfolding(hit);
    const relate = button("Related", "relate", () => this.#choose(hit), { "aria-expanded": false, "aria-controls": "related" });
    const facts = el(
      "p",
      { class: "facts" },
      el("span", null, signals(hit.signals)),
      el("span", { class: "kind" }, hit.kind),
      el("time", { datetime: hit.modified, title: hit.modified }, date(hit.modified)),
    );
    return el(
      "li",
      { "data-path": hit.path },
      el(
        "article",
        null,
        el("div", { class: "head" }, el("h2", null, titleLink(hit)), scoreBar(hit.score)),
        place(hit),
        text,
        el("div", { class: "foot" }, facts, el("div", { class: "actions" }, unfold, relate)),
      ),
    );
  }

  /** A hit's passage, and where only a glance of it fits, the button that shows the rest. */
  #unfolding({ path, passage: text, highlights }) {
    const glance = excerpt(text, highlights, GLANCE);
    if (!glance.before && !glance.after) return [passage(glance), null];
    const shown = el("div");
    const unfold = button("", "unfold", () => {
      if (!this.#unfolded.delete(path)) this.#unfolded.add(path);
      draw();
    });
    const draw = () => {
      const open = this.#unfolded.has(path);
      shown.replaceChildren(passage(open ? excerpt(text, highlights) : glance));
      unfold.textContent = open ? "Less" : "More";
      unfold.setAttribute("aria-expanded", open);
    };
    draw();
    return [shown, unfold];
  }
}
