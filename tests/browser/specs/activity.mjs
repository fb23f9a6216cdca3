// The activity: a chart and lines of the same calls, filters in the address, and a file; never what was searched for.
import assert from "node:assert/strict";
import { callMcp } from "../lib/mcp.mjs";

const CANARY = "quaggacanary";

/** Calls a tool of the MCP server. */
const call = (base, secret, tool, args) => callMcp(base, secret, "tools/call", { name: tool, arguments: args });

export async function setUp(world) {
  const session = await world.signUp();
  const { secret, key } = await session.api("POST", "/keys", { name: "Desk assistant", kind: "mcp", scopes: ["read:library"] });
  for (let number = 0; number < 3; number += 1) await call(world.base, secret, "search_library", { query: CANARY });
  await call(world.base, secret, "search_library", { query: CANARY, limit: 0 });
  await session.until("/activity", (answer) => answer.activity.length >= 4);
  return { session, key, empty: await world.signUp() };
}

export function pages(world, { session, empty }) {
  return [
    { name: "activity", path: "/settings/activity", session },
    { name: "refused activity", path: "/settings/activity?refused=1", session },
    { name: "empty activity", path: "/settings/activity", session: empty },
  ];
}

export const tests = {
  "chart, lines and file have the same calls and no canary": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/settings/activity");
    const lines = await page.locator("#list tbody tr").count();
    await page.locator("summary", { hasText: "Figures" }).click();
    const figures = await page.locator("figure tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(1, 3).reduce((sum, cell) => sum + Number(cell.innerText), 0)));
    const file = await page.evaluate(() => fetch("/settings/activity.csv").then((answer) => answer.text()));

    assert.equal(figures.length, 30);
    assert.equal(figures.reduce((sum, calls) => sum + calls, 0), lines);
    assert.equal(file.trim().split("\r\n").length, lines + 1);
    assert.ok(!file.includes(CANARY) && !(await page.content()).includes(CANARY));
  },

  "a filter is an address that back and reload keep": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/settings/activity");
    const all = await page.locator("#list tbody tr").count();
    await page.getByRole("link", { name: "Only refused" }).click();
    await page.waitForURL("**/settings/activity?refused=1");
    await page.reload();
    assert.ok(await page.locator("#list tbody tr").count() < all);
    await page.goBack();
    assert.equal(await page.locator("#list tbody tr").count(), all);
  },

  "a key is chosen in a menu": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/settings/activity");
    await page.getByRole("button", { name: "Every key and app" }).click();
    await page.getByRole("link", { name: "Desk assistant" }).click();
    await page.waitForURL(`**/settings/activity?key=${t.data.key.id}`);
    assert.match(await page.locator(".chip.is-on").first().innerText(), /Desk assistant/);
  },
};
