// API keys, connecting an assistant, connected apps, usage, and setting a lost password.
import assert from "node:assert/strict";
import { callMcp } from "../lib/mcp.mjs";

export async function setUp(world) {
  const session = await world.signUp();
  const created = await session.api("POST", "/keys", { name: "Night notes <script> script with a name that goes on and on and on until it wraps", kind: "mcp", scopes: ["read:library", "read:projects"] });
  return { session, key: created.key, fresh: await world.signUp() };
}

/** Creates a key on the page of its form, in any language, and waits for the page with its secret. */
async function showSecret(page) {
  await page.locator("#f-name").fill("Night notes");
  await page.locator('form[action="/settings/keys/new"] button').click();
  await page.locator("#secret").waitFor();
}

export function pages(world, { session, key, fresh }) {
  return [
    // Each look at the page creates a key, and a plan has few.
    { name: "secret of a key", path: "/settings/keys/new", session: fresh, prepare: showSecret },
    { name: "keys", path: "/settings/keys", session },
    { name: "new key", path: "/settings/keys/new", session },
    { name: "new REST key", path: "/settings/keys/new?kind=rest", session },
    { name: "key", path: `/settings/keys/${key.id}`, session },
    { name: "connect Claude", path: "/settings/connect/claude", session },
    { name: "connect Codex", path: "/settings/connect/codex", session },
    { name: "apps", path: "/settings/apps", session },
    { name: "usage", path: "/settings/usage", session },
    { name: "forgot", path: "/forgot" },
    { name: "spent link", path: "/reset?token=none" },
  ];
}

/** Creates a key by the page. Returns its secret. */
async function create(page, name) {
  await page.goto("/settings/keys/new");
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create the key" }).click();
  return page.locator("#secret").innerText();
}

const call = (base, secret) => callMcp(base, secret, "tools/list");

export const tests = {
  "the secret is in the page once and never again": async (t) => {
    const page = await t.open({ session: await t.world.signUp() });
    const secret = await create(page, "Reading group bot");
    assert.match(secret, /^pk_[A-Za-z0-9]{49}$/);

    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.cookie);
    assert.ok(!stored.includes(secret));
    await page.reload();
    assert.equal(new URL(page.url()).pathname, "/settings/keys");
    assert.ok(!(await page.content()).includes(secret));
    await page.goBack();
    assert.ok(!(await page.content()).includes(secret));
    await page.goto("/settings/keys");
    assert.equal(await page.locator(".key-row").count(), 1);
    await page.getByRole("link", { name: "Reading group bot", exact: true }).click();
    assert.ok(!(await page.content()).includes(secret));
  },

  "waiting turns to connected by a real call": async (t) => {
    const page = await t.open({ session: await t.world.signUp() });
    const secret = await create(page, "Desk assistant");
    assert.match(await page.locator("#first-call").innerText(), /Waiting for the first call/);

    assert.equal((await call(t.base, secret)).status, 200);

    await page.locator("#first-call", { hasText: "Connected" }).waitFor({ timeout: 20_000 });
  },

  "a key is created and revoked without script": async (t) => {
    const page = await t.open({ session: await t.world.signUp(), script: false });
    const secret = await create(page, "Tablet");
    assert.equal((await call(t.base, secret)).status, 200);

    await page.goto("/settings/keys");
    await page.getByRole("link", { name: "Tablet", exact: true }).click();
    await page.locator("summary", { hasText: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke" }).click();

    assert.equal(await page.locator("#toast").innerText(), "“Tablet” was revoked");
    assert.equal((await call(t.base, secret)).status, 401);
  },

  "a fault is beside its field and keeps what was typed": async (t) => {
    const page = await t.open({ session: await t.world.signUp() });
    page.expectStatus(422);
    await page.goto("/settings/keys/new");
    await page.getByLabel("Name").fill("Reader");
    await page.getByLabel("Calls an hour").fill("many");
    await page.getByRole("button", { name: "Create the key" }).click();
    const field = page.getByLabel("Calls an hour");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    assert.equal(await page.getByLabel("Name").inputValue(), "Reader");
  },

  "the connection test names its steps in place": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/settings/connect/codex");
    await page.getByRole("button", { name: "Test the connection" }).click();
    await page.locator("#test .checks li").first().waitFor();
    assert.equal(await page.locator("#test .checks li").count(), 6);
    assert.match(await page.locator("#test [role=status]").innerText(), /Every step passed/);
  },

  "a private address is said before the first step": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/settings/connect/claude");
    assert.match(await page.locator(".callout.is-warning").first().innerText(), /cannot reach this address/);
  },

  "German and long names do not clip": async (t) => {
    const page = await t.open({ session: t.data.session, size: [360, 740], language: "de-DE" });
    await page.goto("/settings/keys");
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "API-Schlüssel");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  },
};
