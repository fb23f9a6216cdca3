// Places in a text, on a small document of our own: no browser is needed.
import assert from "node:assert/strict";
import test from "node:test";
import { index, length, toPoints } from "../../../src/web/assets/anchor.js";
import { shortestAt, textOf, toOffsets, wordsOf } from "../../../src/web/assets/anchor-offsets.js";

const text = (data) => ({ nodeType: 3, data });
const element = (localName, attributes, ...children) => {
  const node = {
    nodeType: 1, localName,
    getAttribute: (name) => (name in attributes ? String(attributes[name]) : null),
    childNodes: children.map((child) => (typeof child === "string" ? text(child) : child)),
  };
  for (const child of node.childNodes) child.parentNode = node;
  return node;
};
const block = (start, ...children) => element("p", { "data-start": start }, ...children);

const bold = element("b", {}, "bold");
const first = block(0, "Größe 😀 ", bold, element("br", {}), "next");
const caption = element("figcaption", {}, "A caption");
const second = block(20, "e\u0301t cetera");
const root = element("div", {}, first, element("figure", {}, caption), "\n", second);
const runs = index(root);
const range = (startContainer, startOffset, endContainer, endOffset) => ({ startContainer, startOffset, endContainer, endOffset });

test("runs_count_scalar_values_and_line_breaks", () => {
  assert.deepEqual(runs.map((run) => [run.start, run.count]), [[0, 8], [8, 4], [12, 1], [13, 4], [20, 10]]);
  assert.equal(length("😀e\u0301"), 3);
});

test("points_stand_between_utf16_units", () => {
  const { start, end } = toPoints(runs, 6, 10);
  assert.deepEqual([start[0].data, start[1]], ["Größe 😀 ", 6]);
  assert.deepEqual([end[0].data, end[1]], ["bold", 2]);
  assert.equal(toPoints(runs, 7, 8).start[1], 8);
});

test("range_between_blocks_moves_to_its_words", () => {
  const { start, end } = toPoints(runs, 18, 21);
  assert.deepEqual([start[0].data, start[1], end[1]], ["e\u0301t cetera", 0, 1]);
  assert.equal(toPoints(runs, 17, 20), null);
  assert.equal(toPoints(runs, 5, 5), null);
});

test("offsets_are_the_reverse_of_points", () => {
  for (let from = 0; from < 30; from += 1) {
    for (let to = from + 1; to <= 30; to += 1) {
      const points = toPoints(runs, from, to);
      if (!points) continue;
      const offsets = toOffsets(runs, range(...points.start, ...points.end));
      const words = textOf(runs, from, to).trim();
      if (!words) { assert.equal(offsets, null); continue; }
      assert.ok(textOf(runs, offsets.start, offsets.end).includes(words), `${from} ${to}`);
    }
  }
});

test("white_space_around_the_words_is_cut", () => {
  const node = first.childNodes[0];
  assert.deepEqual(toOffsets(runs, range(node, 5, node, 9)), { start: 6, end: 7 });
  assert.equal(toOffsets(runs, range(node, 5, node, 6)), null);
});

test("end_never_splits_a_character", () => {
  const node = second.childNodes[0];
  assert.deepEqual(toOffsets(runs, range(node, 0, node, 1)), { start: 20, end: 22 });
  assert.deepEqual(toOffsets(runs, range(node, 1, node, 3)), { start: 20, end: 23 });
});

test("ends_outside_of_words_move_inwards", () => {
  assert.deepEqual(toOffsets(runs, range(root, 0, root, 4)), { start: 0, end: 30 });
  assert.deepEqual(toOffsets(runs, range(caption.childNodes[0], 2, second.childNodes[0], 3)), { start: 20, end: 23 });
  assert.deepEqual(toOffsets(runs, range(bold.childNodes[0], 1, caption.childNodes[0], 4)), { start: 9, end: 17 });
  assert.equal(toOffsets(runs, range(caption.childNodes[0], 0, caption.childNodes[0], 4)), null);
});

test("words_have_their_offsets", () => {
  assert.deepEqual(wordsOf(runs, 0, 17, "de"), [[0, 5], [8, 12], [13, 17]]);
  assert.deepEqual(wordsOf(runs, 20, 30, "en"), [[20, 23], [24, 30]]);
});

test("shortest_of_overlapping_marks_is_chosen", () => {
  const marks = [{ start: 0, end: 10 }, { start: 4, end: 8 }, { start: 7, end: 20 }];
  assert.equal(shortestAt(marks, 5), marks[1]);
  assert.equal(shortestAt(marks, 9), marks[0]);
  assert.equal(shortestAt(marks, 30), undefined);
});
