/** What the page says, in plain words. */

const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };

/** Set apart a text of the owner, whichever way it is written. */
const own = (text) => `\u2068${text}\u2069`;
const quoted = (text) => `“${own(text)}”`;
const listed = (texts) => texts.map(own).join(", ");
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const nth = (rank) => `${rank}${ENDINGS[ordinals.select(rank)]}`;
const titleOf = (path) => path.slice(path.lastIndexOf("/") + 1).replace(/\.(md|canvas)$/i, "");

export const count = (n, one, many = `${one}s`) => `${number.format(n)} ${n === 1 ? one : many}`;
export const date = (time) => day.format(new Date(time));
export const folder = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Which signals found a hit, and how near their top. */
export const signals = ({ keyword, semantic, graph }) =>
  [
    keyword && `${nth(keyword.rank)} by words`,
    semantic && `${nth(semantic.rank)} by meaning`,
    graph && (graph.hops > 0 ? `${count(graph.hops, "link")} away` : "by its links"),
  ]
    .filter(Boolean)
    .join(" · ");

const WHY = {
  meaning: () => "close in meaning",
  words: ({ words }) => `shares the word${words.length > 1 ? "s" : ""} ${listed(words)}`,
  mention: ({ text, direction }) => (direction === "in" ? `mentions ${quoted(text)}` : `mentioned as ${quoted(text)}`),
  tags: ({ tags }) => `also tagged ${listed(tags.map((tag) => `#${tag}`))}`,
  links: ({ direction, through }) =>
    ({ out: "linked from this note", in: "links to this note", both: "linked both ways" })[direction] ??
    `shares links with ${listed((through ?? []).map(titleOf))}`,
};

/** Why a related note belongs to the chosen one; the related note is the subject. */
export const why = (reasons, pinned) =>
  upper([pinned && "pinned", ...reasons.map((reason) => WHY[reason.kind]?.(reason))].filter(Boolean).join(" · "));

const MISSING = {
  no_model: "there is no embedding model, so meaning is left out.",
  indexing: "the notes are still being read for their meaning.",
  deadline: "meaning took too long this time.",
  endpoint_down: "the embedding service does not answer.",
};

/** What an answer lacks, or "". */
export function lacks({ signals_missing: missing, coverage }, mode) {
  const meaning = missing.find(({ signal }) => signal === "semantic");
  if (mode === "keyword") return "";
  if (meaning) return `${mode === "semantic" ? "No search by meaning" : "By words only"}: ${MISSING[meaning.reason]}`;
  if (coverage !== null && coverage < 1) {
    return `By meaning, ${Math.floor(coverage * 100)} % of the text can be found so far; by words, all of it.`;
  }
  return "";
}

/** How many hits there are, and how fast. */
export function found({ hits, took_ms: took }, limit) {
  const many = hits.length === limit ? `The best ${count(limit, "note")}` : count(hits.length, "note");
  return `${many} in ${number.format(Math.max(1, Math.round(took)))} ms`;
}

/** What an empty list of hits means. */
export function nothing(query, mode) {
  const advice = mode === "semantic" ? "Search by words too, or say it otherwise." : "Try other words, or check the filters you typed.";
  return [`Nothing found for ${quoted(query)}`, advice];
}

/** What may be typed beside words. */
export const FILTERS = [
  ['"exact words"', "exactly so"],
  ["-word", "without it"],
  ["tag:project", "notes with that tag"],
  ["path:Daily/", "notes under that folder"],
];

const holdings = ({ notes, canvases, transcripts }) =>
  [count(notes, "note"), canvases && count(canvases, "canvas", "canvases"), transcripts && count(transcripts, "transcript")]
    .filter(Boolean)
    .join(", ");

export const isEmpty = ({ vault, sources }) =>
  vault.notes + vault.canvases + vault.transcripts === 0 && ["watching", "polling"].includes(sources.files.state);

/** The bridge's state as `{tone: "quiet" | "busy" | "fault", text, done?, total?}`; the worst first. */
export function state({ vault, embedding, sources: { files, livesync } }) {
  const fault = (text, reason) => ({ tone: "fault", text: reason ? `${text}: ${reason}` : `${text}.` });
  const busy = (text, done, total) => ({ tone: "busy", text, done, total });
  const { embedded, pending } = embedding;
  if (files.state === "held") return fault("Held, nothing is lost", files.reason);
  if (livesync.state === "held") return fault("LiveSync is held, nothing is lost", livesync.reason);
  if (livesync.state === "stopped") return fault("LiveSync has stopped", livesync.reason);
  if (embedding.state === "failed") return fault("The embedding model cannot be used", embedding.reason);
  if (embedding.state === "endpoint_down") return fault("The embedding service does not answer", embedding.reason);
  if (files.state === "scanning") return busy(`Reading the vault: ${holdings(vault)} so far`);
  if (livesync.state === "connecting") return busy("Connecting to LiveSync");
  if (livesync.state === "catching_up") return busy("Catching up with LiveSync", livesync.done, livesync.total);
  if (embedding.state === "loading") return busy("Loading the embedding model");
  if (pending > 0) {
    const total = embedded + pending;
    return busy(`Embedding ${number.format(embedded)} of ${count(total, "chunk")}`, embedded, total);
  }
  return { tone: "quiet", text: holdings(vault) + (embedding.model === "none" ? ", by words only" : "") };
}
