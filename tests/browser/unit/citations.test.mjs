// Steps through citations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbour } from "../../../src/web/assets/citation-steps.js";

test("a step leads to the next citation and not beyond the ends", () => {
  assert.deepEqual([neighbour(3, 0, 1), neighbour(3, 2, 1), neighbour(3, 1, -1), neighbour(3, 0, -1)], [1, -1, 0, -1]);
});

test("the first step opens an end of the list", () => {
  assert.deepEqual([neighbour(3, -1, 1), neighbour(3, -1, -1), neighbour(0, -1, 1)], [0, 2, -1]);
});
