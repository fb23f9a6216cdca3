// Places in a text: offsets of the API (Unicode scalar values) to points of the page, and back.
//
// An element with `data-start` holds words that begin at that offset. A `br` in it is one character, a line break. Between two such
// elements the text has characters that stand in no element. Everything here is pure: it reads nodes, and changes none.

const TEXT = 3;
const ELEMENT = 1;

/** Number of Unicode scalar values of a text. */
export const length = (text) => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** Number of UTF-16 units of the first `count` scalar values of a text. */
export const unitsOf = (text, count) => {
  let units = 0;
  for (const one of text) {
    if (count <= 0) break;
    count -= 1;
    units += one.length;
  }
  return units;
};

/** Number of scalar values that begin in the first `units` UTF-16 units of a text. */
export const scalarsOf = (text, units) => {
  let count = 0;
  let passed = 0;
  for (const one of text) {
    if (passed >= units) break;
    passed += one.length;
    count += 1;
  }
  return count;
};

/** The runs of a text: `{node, start, count, place}` in the order of the page, with the element that states their offset. */
export const index = (root) => {
  const runs = [];
  let place = null;
  let at = 0;
  const walk = (node) => {
    if (node.nodeType === TEXT) {
      if (!place) return;
      const count = length(node.data);
      if (count) runs.push({ node, start: at, count, place });
      at += count;
      return;
    }
    if (node.nodeType !== ELEMENT) return;
    if (node.localName === "br") {
      if (place) { runs.push({ node, start: at, count: 1, place }); at += 1; }
      return;
    }
    const start = node.getAttribute?.("data-start");
    const begins = start !== null && start !== undefined && start !== "";
    const [outer, outerAt] = [place, at];
    if (begins) { place = node; at = Number(start); }
    for (const child of node.childNodes) walk(child);
    if (begins) { place = outer; at = outerAt; }
  };
  walk(root);
  return runs;
};

/** Index of the last run for which `is` holds, if it holds for a first part of them; -1 if for none. */
const lastOf = (runs, is) => {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(runs[middle])) low = middle + 1; else high = middle;
  }
  return low - 1;
};

const pointIn = (run, offset) => {
  if (run.node.nodeType !== TEXT) {
    const siblings = [...run.node.parentNode.childNodes];
    return [run.node.parentNode, siblings.indexOf(run.node) + (offset > run.start ? 1 : 0)];
  }
  return [run.node, unitsOf(run.node.data, Math.max(0, Math.min(run.count, offset - run.start)))];
};

/** The points `[node, unit]` of a range of the text; `null` if none of it is on the page. */
export const toPoints = (runs, start, end) => {
  if (!(start < end)) return null;
  // The first run that ends behind the start, and the last one that begins before the end.
  const first = runs[lastOf(runs, (run) => run.start + run.count <= start) + 1];
  const last = runs[lastOf(runs, (run) => run.start < end)];
  if (!first || !last || first.start >= end || last.start + last.count <= start) return null;
  return { start: pointIn(first, Math.max(start, first.start)), end: pointIn(last, Math.min(end, last.start + last.count)) };
};

/** Path of child numbers from the topmost ancestor to a node. */
const pathOf = (node) => {
  const path = [];
  for (let one = node; one.parentNode; one = one.parentNode) path.unshift([...one.parentNode.childNodes].indexOf(one));
  return path;
};

/** Whether a node begins at or behind the point `[container, number]`. */
const isBehind = (node, path, number) => {
  const own = pathOf(node);
  const point = [...path, number];
  for (let depth = 0; depth < point.length; depth += 1) {
    if (depth >= own.length) return false;
    if (own[depth] !== point[depth]) return own[depth] > point[depth];
  }
  return true;
};

/** Offset of a point of the page. A point outside of words moves to the next words, or with `isEnd` to those before it. */
const offsetOf = (runs, container, number, isEnd) => {
  if (container.nodeType === TEXT) {
    const run = runs.find((one) => one.node === container);
    if (run) return run.start + scalarsOf(container.data, number);
  }
  const isText = container.nodeType === TEXT;
  const path = isText ? pathOf(container).slice(0, -1) : pathOf(container);
  const child = isText ? pathOf(container).at(-1) + (number > 0 ? 1 : 0) : number;
  const before = lastOf(runs, (run) => !isBehind(run.node, path, child));
  if (isEnd) return before < 0 ? null : runs[before].start + runs[before].count;
  return runs[before + 1] ? runs[before + 1].start : null;
};

/** The characters of the page between two offsets, each with its offset. */
const charactersOf = (runs, start, end) => {
  const characters = [];
  for (let at = Math.max(0, lastOf(runs, (run) => run.start + run.count <= start) + 1); at < runs.length && runs[at].start < end; at += 1) {
    const run = runs[at];
    let offset = run.start;
    for (const one of run.node.nodeType === TEXT ? run.node.data : "\n") {
      if (offset >= start && offset < end) characters.push([offset, one]);
      offset += 1;
    }
  }
  return characters;
};

/** Moves an offset outwards to a border of what the reader sees as one character. */
const snapped = (runs, offset, isEnd) => {
  const touching = isEnd
    ? runs[lastOf(runs, (run) => run.start < offset)]
    : runs[lastOf(runs, (run) => run.start <= offset)];
  if (!touching || typeof Intl.Segmenter !== "function") return offset;
  const own = runs.filter((run) => run.place === touching.place);
  const text = own.map((run) => (run.node.nodeType === TEXT ? run.node.data : "\n")).join("");
  const base = own[0].start;
  let at = base;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    const next = at + length(segment);
    if (isEnd ? offset > at && offset < next : offset > at && offset < next) return isEnd ? next : at;
    if (at >= offset) break;
    at = next;
  }
  return offset;
};

/**
 * The offsets of a range of the page (`startContainer`, `startOffset`, `endContainer`, `endOffset`), without white space around them;
 * `null` if it has no words.
 */
export const toOffsets = (runs, range) => {
  if (!runs.length) return null;
  const from = offsetOf(runs, range.startContainer, range.startOffset, false);
  const to = offsetOf(runs, range.endContainer, range.endOffset, true);
  if (from === null || to === null || from >= to) return null;
  const words = charactersOf(runs, from, to).filter(([, one]) => !/^\s$/u.test(one));
  if (!words.length) return null;
  return { start: snapped(runs, words[0][0], false), end: snapped(runs, words.at(-1)[0] + 1, true) };
};

/** The offsets of the words of a text between two offsets: `[start, end]` each. */
export const wordsOf = (runs, start, end, locale) => {
  const characters = charactersOf(runs, start, end);
  const text = characters.map(([, one]) => one).join("");
  const words = [];
  let at = 0;
  for (const { segment, isWordLike } of new Intl.Segmenter(locale, { granularity: "word" }).segment(text)) {
    const count = length(segment);
    if (isWordLike) words.push([characters[at][0], characters[at + count - 1][0] + 1]);
    at += count;
  }
  return words;
};

/** The text between two offsets, with a line break between blocks. */
export const textOf = (runs, start, end) => {
  let text = "";
  let place = null;
  for (const run of runs.slice(Math.max(0, lastOf(runs, (one) => one.start + one.count <= start) + 1))) {
    if (run.start >= end) break;
    if (place && run.place !== place) text += "\n";
    place = run.place;
    const all = run.node.nodeType === TEXT ? run.node.data : "\n";
    text += all.slice(unitsOf(all, start - run.start), unitsOf(all, end - run.start));
  }
  return text;
};

/** The shortest of the marks `{start, end}` that contain an offset; `undefined` if none does. */
export const shortestAt = (marks, offset) => marks
  .filter((mark) => mark.start <= offset && offset < mark.end)
  .sort((one, other) => (one.end - one.start) - (other.end - other.start))[0];
