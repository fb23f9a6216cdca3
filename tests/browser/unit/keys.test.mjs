// The table of keys: every row is complete, and no sequence is hidden by a single key.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const source = await readFile(new URL("../../../src/web/assets/keys-table.js", import.meta.url), "utf8");
const table = JSON.parse(source.trim().replace(/^export default /, "").replace(/;$/, ""));

test("rows are complete", () => {
  for (const row of table) assert.ok(row.group && row.action && row.label && row.keys.length, JSON.stringify(row));
});

test("no single key hides a sequence", () => {
  const keys = table.flatMap((row) => row.keys);
  for (const sequence of keys.filter((it) => /^[^C\s]+ /.test(it) && !it.startsWith("Shift "))) {
    assert.ok(!keys.includes(sequence.split(" ")[0]), sequence);
  }
});
