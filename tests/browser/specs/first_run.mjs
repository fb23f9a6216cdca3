// The first account of a server, and a further one, created in the browser.
import assert from "node:assert/strict";
import { newPage } from "../lib/browser.mjs";
import { checkPage } from "../lib/checks.mjs";
import { startServer } from "../lib/server.mjs";
import { PASSWORD, World } from "../lib/world.mjs";

/** Fills in the fields of a new account. */
async function fillAccount(page, name, email) {
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
}

/** Asserts that the account is signed in, with its name and the time zone of the browser. */
async function assertAccount(page, name) {
  await page.goto("/settings/account");
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), name);
  assert.equal(await page.getByLabel("Time zone").inputValue(), "Europe/Berlin");
}

export const tests = {
  "the first account of a server is created in the browser": async (t) => {
    const server = await startServer();
    const world = new World(server.base, t.world.browser, t.site);
    const page = await newPage(world);
    try {
      await checkPage(world, { path: "/setup" });
      await page.goto("/");
      await page.waitForURL("**/setup");
      const password = page.getByLabel("Password", { exact: true });
      assert.equal(await password.getAttribute("autocomplete"), "new-password");
      await fillAccount(page, "Mara Lindqvist", "mara@home.example");
      await page.getByRole("button", { name: "Show the password" }).click();
      assert.equal(await password.getAttribute("type"), "text");
      await page.getByRole("button", { name: "Create the account" }).click();
      await page.getByRole("heading", { name: /^Welcome/ }).waitFor();
      await assertAccount(page, "Mara Lindqvist");
      await page.context().clearCookies();
      await page.goto("/setup");
      await page.waitForURL("**/sign-in**");
      page.assertQuiet();
    } finally {
      await page.context().close();
      await server.close();
    }
  },

  "a further account is created where sign-up is open": async (t) => {
    const { user } = await t.world.signUp();
    const page = await t.open();
    page.expectStatus(409);
    await page.goto("/sign-in");
    await page.getByRole("link", { name: "Create an account" }).click();
    await fillAccount(page, "Ines Okafor", "ines@shore.example");
    await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByRole("heading", { name: /^Welcome/ }).waitFor();
    await assertAccount(page, "Ines Okafor");
    await page.context().clearCookies();
    await page.goto("/sign-up");
    await fillAccount(page, "Another", user.email);
    await page.getByRole("button", { name: "Create an account" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByLabel("E-mail address").inputValue(), user.email);
  },
};
