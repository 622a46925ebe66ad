/** Small helpers for elements. Text from notes only ever becomes text nodes. */

import { folder } from "./words.js";

export const $ = (id) => document.getElementById(id);

/** Make an element; functions are listeners, null attributes and children are left out. */
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** A note's title as a link that opens it in Obsidian. */
export const titleLink = ({ title, open_url: url }) =>
  el(
    "a",
    { class: "title", dir: "auto", title: "Open in Obsidian", href: url.startsWith("obsidian://") ? url : null },
    title,
  );

/** A score in 0..1 as a bar. */
export function scoreBar(score) {
  const percent = Math.round(score * 100);
  const fill = el("span");
  fill.style.width = `${percent}%`;
  return el(
    "span",
    { class: "score", role: "meter", "aria-label": "Score", "aria-valuenow": percent, "aria-valuemin": 0, "aria-valuemax": 100, title: `Score ${percent} of 100` },
    fill,
  );
}

/** Where a passage stands: folder and heading path, the first heading only where it is not the title. */
export const place = ({ path, title, heading_path: [first, ...rest] }) =>
  el("p", { class: "place", dir: "auto" }, [folder(path), first === title ? "" : first, ...rest].filter(Boolean).join(" › "));

/** A passage with its highlights; where text was left out, its lines run together. */
export const passage = ({ pieces, before, after }) =>
  el(
    "p",
    { class: before || after ? "passage" : "passage lines", dir: "auto" },
    before ? "… " : null,
    ...pieces.map(({ text, marked }) => (marked ? el("mark", null, text) : text)),
    after ? " …" : null,
  );

/** A small button; the first of its classes names it. */
export const button = (text, name, onclick, attributes) =>
  el("button", { class: `${name} quiet`, type: "button", onclick, ...attributes }, text);
