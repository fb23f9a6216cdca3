// The operator's pages: how the server is doing, and nothing of what users read.
import assert from "node:assert/strict";
import { assertAccessible } from "../lib/checks.mjs";
import { runProgram } from "../lib/program.mjs";

const CANARY = "quaggacanary";

export async function setUp(world) {
  const [session, reader] = [await world.signUp(), await world.signUp(`${CANARY} Reader`)];
  await runProgram("user", "set-operator", "--email", session.user.email);
  await reader.save({ url: `https://reeds.example/${CANARY}`, text: `${CANARY} in the reeds`, title: CANARY, tags: [CANARY] });
  return { session, reader };
}

const PATHS = ["/operator", "/operator/users", "/operator/work", "/operator/hosts", "/operator/storage"];

export function pages(world, { session }) {
  return PATHS.map((path) => ({ name: `operator ${path.split("/")[2] ?? "health"}`, path, session }));
}

export const tests = {
  "an operator sees no canary of a user, and others get 404": async (t) => {
    const page = await t.open({ session: t.data.session });
    for (const path of PATHS) {
      await page.goto(path);
      assert.ok(!(await page.content()).includes(CANARY), path);
    }
    const other = await t.open({ session: t.data.reader });
    other.expectStatus(404);
    for (const path of PATHS) assert.equal((await other.goto(path)).status(), 404, path);
  },

  "an account is disabled and enabled in place": async (t) => {
    const user = await t.world.signUp();
    const page = await t.open({ session: t.data.session });
    await page.goto("/operator/users");
    const row = page.locator("tr", { hasText: user.user.email });
    // The list begins with the oldest accounts, and other specs have made some.
    while (!(await row.count())) {
      const before = page.url();
      await page.getByRole("link", { name: "Next page" }).click();
      await page.waitForURL((url) => url.href !== before);
    }
    await row.locator("summary").click();
    await row.getByRole("button", { name: "Disable" }).click();
    await row.getByRole("button", { name: "Enable" }).waitFor();
    await assert.rejects(user.api("GET", "/keys"), /401/);
    await row.getByRole("button", { name: "Enable" }).click();
    await row.locator("summary").waitFor();
  },

  "AI is paused, users read it, and the pause is taken back": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/operator");
    await page.getByRole("button", { name: "Pause AI" }).click();
    await page.getByRole("button", { name: "Resume AI" }).waitFor();
    // A toast that is looked at stays.
    await page.locator("#toast").hover();
    const reader = await t.open({ session: t.data.reader });
    await reader.goto("/ask");
    await reader.getByText("AI is paused.").waitFor();
    assert.ok(await reader.getByRole("button", { name: "Ask", exact: true }).isDisabled());
    await assertAccessible(reader, "/ask while AI is paused");
    await page.locator("#toast button").click();
    await page.getByRole("button", { name: "Pause AI" }).waitFor();
  },
};
