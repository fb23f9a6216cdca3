// Places in a text: offsets of the API (Unicode scalar values) to points of the page. The way back is in anchor-offsets.js.
//
// An element with `data-start` holds words that begin at that offset. A `br` in it is one character, a line break. Between two such
// elements the text has characters that stand in no element. Everything here is pure: it reads nodes, and changes none.

export const TEXT = 3;
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
export const lastOf = (runs, is) => {
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
