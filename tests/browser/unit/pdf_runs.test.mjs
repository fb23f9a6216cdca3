import assert from "node:assert/strict";
import { test } from "node:test";

import { joinRuns, nextZoom } from "../../../src/web/assets/pdf-runs.js";

test("runs of one word are joined without a space", () => {
  const runs = [{ start: 0, words: "An auto" }, { start: 7, words: "matic" }, { start: 13, words: "car" }];

  assert.equal(joinRuns(runs), "An automatic car");
});

test("paragraphs are on lines of their own", () => {
  assert.equal(joinRuns([{ start: 0, words: "One." }, { start: 6, words: "Two." }]), "One.\nTwo.");
});

test("offsets count characters outside the basic plane once", () => {
  assert.equal(joinRuns([{ start: 0, words: "😀a" }, { start: 2, words: "b" }]), "😀ab");
});

test("zoom moves by steps and stays within its bounds", () => {
  assert.equal(nextZoom(100, 1), 125);
  assert.equal(nextZoom(110, -1), 100);
  assert.equal(nextZoom(400, 1), 400);
  assert.equal(nextZoom(50, -1), 50);
});
