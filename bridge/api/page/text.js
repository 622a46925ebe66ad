/** Pure text work: code points, highlights, excerpts. */

const REACH = 24;

/** Cut code points `[start, end)` of `points` at the highlights into `{text, marked}` in order. */
function cut(points, highlights, start, end) {
  const pieces = [];
  let at = start;
  const upTo = (to, marked) => {
    if (to > at) pieces.push({ text: points.slice(at, to).join(""), marked });
    at = Math.max(at, to);
  };
  for (const [from, to] of highlights) {
    upTo(Math.min(from, end), false);
    upTo(Math.min(to, end), true);
  }
  upTo(end, false);
  return pieces;
}

/** The start, among the highlights', of the stretch of `length` code points that shows most of them. */
function densest(highlights, length) {
  let best = 0;
  let most = 0;
  for (const [start] of highlights) {
    const shown = highlights.filter(([from, to]) => from >= start && to <= start + length).length;
    if (shown > most) [best, most] = [start, shown];
  }
  return best;
}

/** Step from `at` to the nearest blank, so that no word is cut; where a script has none, stay. */
function blank(points, at, step) {
  const near = Array.from({ length: REACH }, (_, n) => at + n * step);
  return near.find((place) => /\s/.test(points[place] ?? "")) ?? at;
}

/**
 * Cut a passage, without the heading that its heading path names already; or where it is long the part
 * worth a glance: about `length` code points around most of its highlights. Gives `{pieces, before,
 * after}`; the latter say where text was left out. Highlights are `[start, end)` in code points, while
 * strings count UTF-16 units: hence the arrays.
 */
export function excerpt(passage, highlights, length = Infinity) {
  const points = Array.from(passage);
  const first = Array.from(/^#{1,6} .*\s*/.exec(passage)?.[0] ?? "").length;
  if (points.length - first <= length * 1.2) {
    return { pieces: cut(points, highlights, first, points.length), before: false, after: false };
  }
  const lead = Math.floor(length / 5);
  const wanted = densest(highlights, length - lead) - lead;
  const start = wanted > first ? blank(points, Math.min(wanted, points.length - length), 1) : first;
  const end = start + length < points.length ? blank(points, start + length, -1) : points.length;
  return { pieces: cut(points, highlights, start, end), before: start > first, after: end < points.length };
}
