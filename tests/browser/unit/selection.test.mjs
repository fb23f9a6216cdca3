// The selection of lists: what is kept, and how it grows.
import assert from "node:assert/strict";
import test from "node:test";

import { between, countText, load, moved, save } from "../../../src/web/assets/selection.js";

const storage = (kept = {}) => ({
  kept,
  getItem: (key) => kept[key] ?? null,
  setItem: (key, value) => { kept[key] = value; },
  removeItem: (key) => { delete kept[key]; },
});

test("selection of a filter is kept apart from others", () => {
  const own = storage();

  save(own, "/library?is:unread", new Set(["a", "b"]));

  assert.deepEqual([...load(own, "/library?is:unread")], ["a", "b"]);
  assert.equal(load(own, "/library?").size, 0);
  save(own, "/library?is:unread", new Set());
  assert.deepEqual(own.kept, {});
});

test("selection that cannot be read or kept is empty", () => {
  for (const text of ["{", "7", "[1, null]"]) {
    assert.equal(load(storage({ "carrel-selection:x": text }), "x").size, 0, text);
  }
  const refusing = { setItem: () => { throw new Error("full"); }, getItem: () => { throw new Error("no"); } };
  save(refusing, "x", new Set(["a"]));
  assert.equal(load(refusing, "x").size, 0);
});

test("range is the same in both directions", () => {
  const ids = ["a", "b", "c", "d"];

  assert.deepEqual(between(ids, "b", "d"), ["b", "c", "d"]);
  assert.deepEqual(between(ids, "d", "b"), ["b", "c", "d"]);
  assert.deepEqual(between(ids, "of another page", "c"), ["c"]);
});

test("count is said in words", () => {
  const texts = { none: "None", one: "%count% row", many: "%count% rows" };

  assert.equal(countText(texts, 0), "None");
  assert.equal(countText(texts, 1), "1 row");
  assert.equal(countText(texts, 12), "12 rows");
  assert.equal(countText(texts, 1000, "1,000+"), "1,000+ rows");
});

test("movement stops at both ends of a list", () => {
  assert.equal(moved(-1, 1, 3), 0);
  assert.equal(moved(-1, -1, 3), 2);
  assert.equal(moved(2, 1, 3), 2);
  assert.equal(moved(0, -1, 3), 0);
  assert.equal(moved(0, 1, 0), -1);
});
