/** The page wired together: key, search, related notes, the bridge's state. */

import { Away, WrongKey, ask, follow, key } from "./bridge.js";
import { $, el } from "./dom.js";
import { HitList } from "./hits.js";
import { listen } from "./keyboard.js";
import { Related } from "./related.js";
import * as words from "./words.js";

const PAUSE_MS = 120;
const FEW = 20;
const MOST = 200;

const hits = new HitList($("hits"), (hit) => related.toggle(hit));
const related = new Related($("beside"), (path) => hits.row(path), failed);

let following;
let searching;
let timer;
let limit = FEW;
let status;
let coverage = null;

// --- the key ---

function lock(fault = "") {
  following?.abort();
  searching?.abort();
  key.forget();
  show([]);
  $("unlock").hidden = false;
  $("desk").hidden = $("state").hidden = true;
  tellKeyFault(fault);
  $("key").focus();
}

function tellKeyFault(fault) {
  $("unlock-fault").textContent = fault;
  $("key").setAttribute("aria-invalid", fault !== "");
}

async function unlock(event) {
  event.preventDefault();
  const token = $("key").value.trim();
  try {
    await ask("/v1/status", { token });
    key.keep(token);
    $("key").value = "";
    enter();
  } catch (error) {
    tellKeyFault(
      error instanceof WrongKey
        ? "The bridge does not know this key. Copy it once more, whole and without blanks."
        : error instanceof Away
          ? "The bridge does not answer. Start it with “transom serve”, then try again."
          : error.message,
    );
    $("key").select();
  }
}

function enter() {
  $("unlock").hidden = true;
  $("desk").hidden = false;
  // On a phone this would raise the keyboard over the page.
  if (matchMedia("(hover: hover)").matches) $("query").focus();
  readAddress();
  following = new AbortController();
  follow({ seen, failed, signal: following.signal });
}

// --- search ---

const modes = document.forms.search.elements.mode;
const mode = () => modes.value;
const query = () => $("query").value.trim();

function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  modes.value = wanted.get("mode") ?? "hybrid";
  $("query").value = wanted.get("q") ?? "";
}

function writeAddress() {
  const wanted = new URLSearchParams(query() ? { q: query() } : {});
  if (mode() !== "hybrid") wanted.set("mode", mode());
  history.replaceState(null, "", wanted.size ? `#${wanted}` : location.pathname);
  document.title = query() ? `${query()} – Transom` : "Transom";
}

function searchSoon() {
  clearTimeout(timer);
  limit = FEW;
  timer = setTimeout(search, PAUSE_MS);
}

/** Search for what the page says now; gives true when hits came of it. */
async function search() {
  clearTimeout(timer);
  searching?.abort();
  const { signal } = (searching = new AbortController());
  writeAddress();
  if (!query()) return show([]);
  $("hits").setAttribute("aria-busy", "true");
  try {
    const answer = await ask("/v1/search", { body: { query: query(), mode: mode(), limit }, signal });
    // An answer to what was asked before must not replace the later one's.
    if (signal.aborted) return;
    show(answer.hits, answer);
    return answer.hits.length > 0;
  } catch (error) {
    if (signal.aborted) return;
    failed(error);
    if (error.retryAfter) timer = setTimeout(search, error.retryAfter * 1000);
  } finally {
    if (!signal.aborted) $("hits").removeAttribute("aria-busy");
  }
}

function show(list, answer = null) {
  coverage = answer?.coverage ?? null;
  const active = document.activeElement;
  hits.show(list);
  related.place();
  (active.isConnected ? active : hits.heir(active))?.focus({ preventScroll: true });
  $("count").textContent = list.length ? words.found(answer, limit) : "";
  $("hint").textContent = answer ? words.lacks(answer, mode()) : "";
  $("more").hidden = list.length < limit || limit === MOST;
  tell("");
  showBlank();
}

/** What stands where hits would: a welcome, or why there are none. */
function showBlank() {
  const blank = $("blank");
  blank.hidden = $("hits").children.length > 0 || !status;
  if (blank.hidden) return;
  if (words.isEmpty(status)) {
    blank.replaceChildren(el("h2", null, "No notes yet"), el("p", null, "Write one in Obsidian, and it can be found here at once."));
  } else if (query()) {
    const [head, advice] = words.nothing(query(), mode());
    blank.replaceChildren(el("h2", { dir: "auto" }, head), el("p", null, advice));
  } else {
    blank.replaceChildren(
      el("h2", null, "Ask in your own words"),
      el("p", null, "Every word counts and none is demanded. These narrow a search:"),
      el("dl", null, ...words.FILTERS.flatMap(([typed, meant]) => [el("dt", null, el("code", null, typed)), el("dd", null, meant)])),
    );
  }
}

// --- the bridge's state ---

function seen(now, moved) {
  const embedded = now.settled && coverage !== null && coverage < 1;
  status = now;
  const { tone, text, done, total } = words.state(now);
  $("state").hidden = false;
  $("state").dataset.tone = tone;
  // Progress read aloud at each step would drown everything else.
  $("state").setAttribute("aria-live", tone === "fault" ? "polite" : "off");
  $("state-text").textContent = text;
  $("state-progress").hidden = !total;
  $("state-progress").max = total || 1;
  $("state-progress").value = done ?? 0;
  if (moved || embedded) search();
  else showBlank();
}

function tell(text) {
  $("notice").textContent = text;
  document.body.classList.remove("away");
}

function failed(error) {
  if (error instanceof WrongKey) return lock("The bridge does not know this key any more. Paste the one it has now.");
  if (!(error instanceof Away)) return tell(error.message);
  tell("The bridge does not answer. What you see is kept; this page goes on by itself when it is back.");
  document.body.classList.add("away");
  $("state").hidden = true;
}

// --- wiring ---

$("unlock").addEventListener("submit", unlock);
$("forget").addEventListener("click", () => {
  $("query").value = "";
  writeAddress();
  lock();
});
$("query").addEventListener("input", (event) => event.isComposing || searchSoon());
$("query").addEventListener("compositionend", searchSoon);
$("modes").addEventListener("change", searchSoon);
$("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await search()) $("hits").querySelector(".title").focus();
});
$("more").addEventListener("click", () => {
  limit = Math.min(limit * 2, MOST);
  search();
});
addEventListener("hashchange", () => {
  readAddress();
  if (!$("desk").hidden) search();
});
listen(related);
if (key.get()) enter();
else lock();
