// The frame of the app: gate, navigation, settings, palette, keys, and what works without script.
import assert from "node:assert/strict";
import { callMcp } from "../lib/mcp.mjs";
import { PASSWORD } from "../lib/world.mjs";

export async function setUp(world) {
  return { session: await world.signUp() };
}

/** Presses the key of a dialog, and waits for what it shows. */
const openBy = (key, selector) => async (page) => {
  await page.keyboard.press(key);
  await page.locator(`dialog[open] ${selector}`).waitFor();
};

export function pages(world, { session }) {
  const signedIn = [
    ["home", "/"], ["settings", "/settings"], ["account", "/settings/account"], ["delete account", "/settings/account/delete"],
    ["security", "/settings/security"], ["reading", "/settings/reading"], ["keyboard", "/settings/keyboard"], ["palette", "/go"],
    ["palette found", "/go?q=set"], ["menu", "/menu"], ["keys", "/help/keys"],
  ];
  return [
    ...signedIn.map(([name, path]) => ({ name, path, session })),
    { name: "palette over a page", path: "/settings", session, prepare: openBy("Control+k", "[role=option][aria-selected=true]") },
    { name: "keys over a page", path: "/settings", session, prepare: openBy("?", ".keys-cols") },
    { name: "saving over a page", path: "/settings", session, prepare: openBy("n", "#f-urls") },
    { name: "sign in", path: "/sign-in" },
    { name: "sign up", path: "/sign-up" },
    { name: "offline", path: "/offline" },
    { name: "not found", path: "/no/such/page", session, status: 404 },
  ];
}

/** Fills in the form of the gate, and sends it. */
async function signIn(page, email, password = PASSWORD) {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

export const tests = {
  "signing in by keyboard alone continues on the page that was asked for": async (t) => {
    const { user } = await t.world.signUp("Keyboard");
    const page = await t.open();
    await page.goto("/settings/account");
    await page.keyboard.type(user.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/settings/account");
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Account");
  },

  "a wrong password says one thing and keeps the address": async (t) => {
    const { user } = await t.world.signUp();
    const page = await t.open();
    page.expectStatus(401);
    await page.goto("/sign-in");
    await signIn(page, user.email, "not the password");
    assert.equal(await page.getByRole("alert").innerText(), "Wrong e-mail address or password.");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), user.email);
  },

  "signing in goes on to an own page, never to another host": async (t) => {
    const { user } = await t.world.signUp();
    for (const [next, path] of [["/library?tag=tides", "/library?tag=tides"], ["//example.org/library", "/"]]) {
      const page = await t.open();
      await page.goto(`/sign-in?next=${encodeURIComponent(next)}`);
      await signIn(page, user.email);
      await page.waitForURL(`${t.base}${path}`);
    }
  },

  "the sixth sign-in after five wrong ones has to wait": async (t) => {
    const { user } = await t.world.signUp();
    // From an IP address of its own: failures count for one too.
    const headers = { "X-Forwarded-For": "203.0.113.77" };
    const body = JSON.stringify({ email: user.email, password: "not the password" });
    for (let count = 0; count < 5; count += 1) {
      const refused = await fetch(`${t.base}/app/api/session`, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body });
      assert.equal(refused.status, 401);
    }
    const page = await t.open();
    page.expectStatus(429);
    await page.setExtraHTTPHeaders(headers);
    await page.goto("/sign-in");
    await signIn(page, user.email);
    assert.match(await page.getByRole("alert").innerText(), /^Try again in /);
  },

  "settings are changed by a form without script": async (t) => {
    const session = await t.world.signUp();
    const page = await t.open({ session, script: false });
    await page.goto("/settings/account");
    await page.getByLabel("Name").fill("Mara");
    await page.getByLabel("Dark").check();
    await page.follow(page.getByRole("button", { name: "Save" }));
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    assert.equal(await page.locator("#toast").innerText(), "Saved");
    await page.reload();
    assert.equal(await page.locator("#toast").count(), 0);
  },

  "the palette finds a page as one types, by keyboard": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type("secur");
    await page.getByRole("option", { name: "Security" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/settings/security");
  },

  "the palette stays when a selection ends on its backdrop, and closes by a click there": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/");
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox");
    // The dialog moves while it opens and when its list changes.
    await field.hover();
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    assert.ok(await field.isVisible());
    await page.mouse.click(5, 5);
    await page.locator("dialog").waitFor({ state: "detached" });
  },

  "single keys go to pages, and not at all when turned off": async (t) => {
    const session = await t.world.signUp();
    const page = await t.open({ session });
    await page.goto("/");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto("/settings/keyboard");
    await page.getByLabel("Single keys").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL("**/settings/keyboard**");
    await page.keyboard.press("?");
    await page.waitForTimeout(200);
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").waitFor();
  },

  "a key that is pressed twice opens one dialog": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.route("**/add", async (route) => {
      await new Promise((done) => { setTimeout(done, 300); });
      await route.continue();
    });
    await page.goto("/");
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    await page.getByRole("dialog").waitFor();
    await page.waitForTimeout(500);
    assert.equal(await page.getByRole("dialog").count(), 1);
  },

  "another session is ended in the list": async (t) => {
    const session = await t.world.signUp();
    await fetch(`${t.base}/app/api/session`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ email: session.user.email, password: PASSWORD }) });
    const page = await t.open({ session });
    await page.goto("/settings/security");
    assert.equal(await page.locator(".session-list > li").count(), 2);
    await page.getByRole("button", { name: "End", exact: true }).click();
    await page.locator("#toast").waitFor();
    assert.equal(await page.locator(".session-list > li").count(), 1);
  },

  "an account is deleted with its password, and leaves nothing": async (t) => {
    const session = await t.world.signUp();
    await session.save({ url: "https://slackwater.example/kept", title: "The harbour", text: "A few words." });
    const { secret } = await session.api("POST", "/keys", { name: "Desk assistant", kind: "mcp" });
    assert.equal((await callMcp(t.base, secret, "tools/list")).status, 200);
    const page = await t.open({ session });
    page.expectStatus(401, 422);
    await page.goto("/settings/account");
    await page.getByRole("link", { name: "Delete the account" }).click();
    await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Delete everything" }).click();
    await page.waitForURL("**/sign-in");
    assert.equal((await callMcp(t.base, secret, "tools/list")).status, 401);
    await assert.rejects(session.api("GET", "/library/bookmarks"), /401/);
    await signIn(page, session.user.email);
    assert.equal(await page.getByRole("alert").innerText(), "Wrong e-mail address or password.");

    await page.goto("/sign-up");
    await page.getByLabel("E-mail address").fill(session.user.email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByRole("heading", { name: /^Welcome/ }).waitFor();
    await page.goto("/library");
    await page.getByRole("heading", { name: "Nothing saved yet" }).waitFor();
  },

  "the app is in German for a browser that asks for it": async (t) => {
    const session = await t.world.signUp();
    const page = await t.open({ session, language: "de-DE" });
    await page.goto("/settings");
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Einstellungen");
  },

  "a page reached by phone has its tab bar and fits": async (t) => {
    const page = await t.open({ session: t.data.session, size: [360, 740], touch: true });
    await page.goto("/");
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "More" }).click();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("link", { name: "Reading" }).click();
    await page.getByRole("heading", { level: 1, name: "Reading" }).waitFor();
  },
};
