/** Pure text work: code points, highlights, excerpts. */

/** Clamp, order and join ranges of a text of `length` code points. */
function tidy(ranges, length) {
  const kept = [];
  for (const [from, to] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const start = Math.max(from, kept.at(-1)?.[1] ?? 0);
    const end = Math.min(to, length);
    if (start < end) kept.push([start, end]);
  }
  return kept;
}

/** Cut code points `[start, end)` of `points` at the highlights into `{text, marked}` in order. */
function cut(points, highlights, start, end) {
  const pieces = [];
  const add = (from, to, marked) => {
    if (from < to) pieces.push({ text: points.slice(from, to).join(""), marked });
  };
  let at = start;
  for (const [from, to] of highlights) {
    if (to <= start || from >= end) continue;
    add(at, from, false);
    add(Math.max(from, start), Math.min(to, end), true);
    at = Math.min(to, end);
  }
  add(at, end, false);
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

/** Move `at` to the next word start within reach; where a script has no blanks, stay. */
function wordStart(points, at) {
  for (let next = at; next > 0 && next < at + 24; next++) {
    if (/\s/.test(points[next - 1] ?? "")) return next;
  }
  return at;
}

/**
 * The part of a passage worth a glance: `{pieces, before, after}`, where `before` and `after` say
 * that text was left out. `highlights` are `[start, end)` in code points, as the bridge counts;
 * a JavaScript string counts UTF-16 units, hence the array.
 */
export function excerpt(passage, highlights, length = Infinity) {
  const points = Array.from(passage);
  const marks = tidy(highlights, points.length);
  if (points.length <= length * 1.2) {
    return { pieces: cut(points, marks, 0, points.length), before: false, after: false };
  }
  const lead = Math.floor(length / 5);
  const wanted = densest(marks, length - lead) - lead;
  const start = wordStart(points, Math.max(0, Math.min(wanted, points.length - length)));
  const end = Math.min(start + length, points.length);
  return { pieces: cut(points, marks, start, end), before: start > 0, after: end < points.length };
}
