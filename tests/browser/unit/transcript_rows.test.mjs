import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, nextSpeed, rowAt } from "../../../src/web/assets/transcript-rows.js";

test("row of a time is the last that has begun", () => {
  const starts = [0.5, 4, 9.25];

  assert.deepEqual([0, 0.5, 3.9, 4, 99].map((at) => rowAt(starts, at)), [-1, 0, 0, 1, 2]);
  assert.equal(rowAt([], 3), -1);
});

test("times have hours only where there are some", () => {
  assert.deepEqual([0, 61.9, 3600, 36_061].map(clock), ["0:00", "1:01", "1:00:00", "10:01:01"]);
});

test("speed moves by steps and stays within its bounds", () => {
  assert.equal(nextSpeed(1, 1), 1.25);
  assert.equal(nextSpeed(1, -1), 0.75);
  assert.equal(nextSpeed(3, 1), 3);
});
