/** Keys: `/` to the search field, arrows through the notes, → related, Esc back. */

import { $ } from "./dom.js";

const links = (list) => [...list.querySelectorAll(":scope > li > article .title, :scope > li > .head .title")];

/** Move the focus by `step` notes in the list around `from`; above the first stands the field. */
function move(from, step) {
  const all = links(from.closest("ol"));
  const next = all.indexOf(from.closest("li").querySelector(".title")) + step;
  if (next >= 0) all[Math.min(next, all.length - 1)].focus();
  else if (from.closest("#related")) $("related").focus();
  else $("query").focus();
}

function clear(field) {
  field.value = "";
  field.dispatchEvent(new Event("input"));
}

/** What a key does where the focus is, as a function, or undefined where it is not ours. */
function action(key, at, related) {
  const typing = at.matches("input:not([type=radio])");
  const item = at.closest("#hits li");
  const panel = at.closest("#related");
  if (key === "/" && !typing) return () => $("query").select();
  if (at === $("query")) {
    const first = links($("hits"))[0];
    if (key === "ArrowDown" && first) return () => first.focus();
    if (key === "Escape") return () => (at.value ? clear(at) : related.close());
    return;
  }
  if (typing) return;
  if (panel && (key === "Escape" || key === "ArrowLeft")) return () => related.back();
  if (at === panel) return key === "ArrowDown" ? () => links(panel.querySelector("ol"))[0]?.focus() : undefined;
  if (key === "Escape") return () => (related.path ? related.close() : $("query").select());
  if (!item && !panel?.contains(at.closest("li"))) return;
  return {
    ArrowDown: () => move(at, 1),
    ArrowUp: () => move(at, -1),
    ArrowRight: () => at.closest("li").querySelector(".relate").click(),
  }[key];
}

export function listen(related) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $("desk").hidden) return;
    const act = action(event.key, event.target, related);
    if (!act) return;
    event.preventDefault();
    act();
  });
}
