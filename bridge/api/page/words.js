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

export const count = (n, noun) => `${number.format(n)} ${noun}${n === 1 ? "" : "s"}`;
export const date = (time) => day.format(new Date(time));
export const folder = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Which signals found a hit, and how near the top. */
export function signals({ keyword, semantic, graph }) {
  return upper(
    [
      keyword && `words ${nth(keyword.rank)}`,
      semantic && `meaning ${nth(semantic.rank)}`,
      graph && (graph.hops > 0 ? `${count(graph.hops, "link")} away` : "linked"),
    ]
      .filter(Boolean)
      .join(" · "),
  );
}

const WHY = {
  meaning: () => "close in meaning",
  words: ({ words }) => `shares the words ${listed(words)}`,
  mention: ({ text, direction }) => (direction === "in" ? `mentions ${quoted(text)}` : `mentioned as ${quoted(text)}`),
  tags: ({ tags }) => `also tagged ${listed(tags.map((tag) => `#${tag}`))}`,
  links: ({ direction, through }) =>
    ({ out: "linked from this note", in: "links to this note", both: "linked both ways" })[direction] ??
    `shares links with ${listed((through ?? []).map(titleOf))}`,
};

/** Why a related note belongs to the chosen one; the related note is the subject. */
export const why = (reasons) =>
  upper(reasons.map((reason) => WHY[reason.kind]?.(reason)).filter(Boolean).join(" · "));

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
  const many = hits.length === limit && limit > 1 ? `The best ${count(limit, "note")}` : count(hits.length, "note");
  return `${many} in ${number.format(Math.max(1, Math.round(took)))} ms`;
}

/** What an empty list of hits means. */
export function nothing(query, mode) {
  const advice =
    mode === "semantic" ? "Say it in other words, or search by words too." : "Try fewer or other words, or check the filters you typed.";
  return [`Nothing found for ${quoted(query)}`, advice];
}

/** What may be typed beside words. */
export const FILTERS = [
  ['"exact words"', "exactly so"],
  ["-word", "without it"],
  ["tag:project", "notes with that tag"],
  ["path:Daily/", "notes under that folder"],
];

const notes = ({ notes: n, canvases, transcripts }) =>
  [count(n, "note"), canvases && count(canvases, "canvas").replace("canvass", "canvases"), transcripts && count(transcripts, "transcript")]
    .filter(Boolean)
    .join(", ");

export const isEmpty = ({ vault, sources }) =>
  vault.notes + vault.canvases + vault.transcripts === 0 && ["watching", "polling"].includes(sources.files.state);

/** The bridge's state as `{tone: "quiet" | "busy" | "fault", text, done?, total?}`; the worst first. */
export function state({ vault, embedding, sources: { files, livesync } }) {
  const fault = (text) => ({ tone: "fault", text });
  const because = (reason) => (reason ? `: ${reason}` : ".");
  if (files.state === "held") return fault(`Held, nothing is lost${because(files.reason)}`);
  if (livesync.state === "held") return fault(`LiveSync is held, nothing is lost${because(livesync.reason)}`);
  if (livesync.state === "stopped") return fault(`LiveSync has stopped${because(livesync.reason)}`);
  if (embedding.state === "failed") return fault(`The embedding model cannot be used${because(embedding.reason)}`);
  if (embedding.state === "endpoint_down") return fault(`The embedding service does not answer; search by words goes on.`);
  if (files.state === "scanning") return { tone: "busy", text: `Reading the vault: ${notes(vault)} so far` };
  if (livesync.state === "connecting") return { tone: "busy", text: "Connecting to LiveSync" };
  if (livesync.state === "catching_up") {
    return { tone: "busy", text: "Catching up with LiveSync", done: livesync.done, total: livesync.total };
  }
  if (embedding.state === "loading") return { tone: "busy", text: "Loading the embedding model" };
  if (embedding.pending > 0) {
    const total = embedding.embedded + embedding.pending;
    const text = `Embedding ${number.format(embedding.embedded)} of ${count(total, "chunk")}`;
    return { tone: "busy", text, done: embedding.embedded, total };
  }
  if (embedding.model === "none") return { tone: "quiet", text: `${notes(vault)}, by words only` };
  return { tone: "quiet", text: notes(vault) };
}
