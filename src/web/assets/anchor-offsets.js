// Places in a text, from points of the page to offsets of the API, and the words between offsets. Pure, as anchor.js is.
import { lastOf, length, TEXT, unitsOf } from "./anchor.js";

/** Number of scalar values that begin in the first `units` UTF-16 units of a text. */
const scalarsOf = (text, units) => {
  let count = 0;
  let passed = 0;
  for (const one of text) {
    if (passed >= units) break;
    passed += one.length;
    count += 1;
  }
  return count;
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
