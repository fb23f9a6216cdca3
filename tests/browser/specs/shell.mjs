// The frame of the app: gate, navigation, settings, palette, keys, and what works without script.
import assert from "node:assert/strict";
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
    await page.getByLabel("E-mail address").fill(user.email);
    await page.getByLabel("Password", { exact: true }).fill("not the password");
    await page.getByRole("button", { name: "Sign in" }).click();
    assert.equal(await page.getByRole("alert").innerText(), "Wrong e-mail address or password.");
    assert.equal(await page.getByLabel("E-mail address").inputValue(), user.email);
  },

  "settings are changed by a form without script": async (t) => {
    const session = await t.world.signUp();
    const page = await t.open({ session, script: false });
    await page.goto("/settings/account");
    await page.getByLabel("Name").fill("Mara");
    await page.getByLabel("Dark").check();
    await page.getByRole("button", { name: "Save" }).click();
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

  "deleting the account asks for its password in a dialog": async (t) => {
    const session = await t.world.signUp();
    const page = await t.open({ session });
    page.expectStatus(422);
    await page.goto("/settings/account");
    await page.getByRole("link", { name: "Delete the account" }).click();
    await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Delete everything" }).click();
    await page.waitForURL("**/sign-in");
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
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "Reading");
  },
};
