// Notices: what a key did for the first time, and the button that ends its access.
import assert from "node:assert/strict";
import { callMcp } from "../lib/mcp.mjs";

/** An account whose key was used for the first time. Returns the secret of the key. */
async function withNotice(world) {
  const session = await world.signUp();
  await session.api("POST", "/onboarding/end", {});
  const { secret } = await session.api("POST", "/keys", { name: "Desk assistant", kind: "mcp" });
  const use = () => callMcp(world.base, secret, "tools/list");
  await use();
  await session.until("/notices", (list) => list.notices.length === 1);
  return { session, use };
}

export async function setUp(world) {
  return { ...(await withNotice(world)), fresh: await world.signUp() };
}

export function pages(world, { session, fresh }) {
  return [
    { name: "notices", path: "/notices", session },
    { name: "notices empty", path: "/notices", session: fresh },
  ];
}

export const tests = {
  "a key that one does not know is revoked at once": async (t) => {
    const { session, use } = await withNotice(t.world);
    const page = await t.open({ session });
    await page.goto("/notices");
    await page.getByRole("button", { name: "Not you? Revoke the key Desk assistant" }).click();
    await page.locator("#toast").getByText("is revoked").waitFor();
    assert.equal((await use()).status, 401);
    assert.equal(await page.getByRole("button", { name: /Revoke/ }).count(), 0);
  },

  "all notices are marked as read without script": async (t) => {
    const { session } = await withNotice(t.world);
    const page = await t.open({ session, script: false });
    await page.goto("/notices");
    assert.equal(await page.locator(".row.is-new").count(), 1);
    await page.follow(page.getByRole("button", { name: "Mark all as read" }));
    assert.equal(await page.locator(".row.is-new").count(), 0);
  },
};
