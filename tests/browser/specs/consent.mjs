// The consent of a user to an app: without script, never framed, and only what is ticked.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { PASSWORD } from "../lib/world.mjs";

const REDIRECT = "http://127.0.0.1:43117/callback";
const SCOPES = "read:library read:projects write:notes";

/** Registers an app. Returns the address that it opens in the browser, and how it exchanges a code. */
async function register(base) {
  const registered = await fetch(`${base}/oauth/register`, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ client_name: "Heron", redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" }),
  });
  const { client_id: client } = await registered.json();
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: client, redirect_uri: REDIRECT, response_type: "code", scope: SCOPES, state: "xyz",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256",
  });
  const exchange = async (code) => {
    const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: REDIRECT, client_id: client, code_verifier: verifier });
    return (await fetch(`${base}/oauth/token`, { method: "POST", body })).json();
  };
  return { path: `/oauth/authorize?${query}`, exchange };
}

/** Runs an action that sends the browser back to the app. Returns the parameters that the app gets. */
async function sentBack(page, action) {
  await page.route(`${REDIRECT}**`, (route) => route.fulfill({ contentType: "text/html", body: "<title>back</title>" }));
  const [request] = await Promise.all([page.waitForRequest((it) => it.url().startsWith(REDIRECT)), action()]);
  // The app is another host, which is right here.
  page.noise.splice(0);
  return new URL(request.url()).searchParams;
}

export async function setUp(world) {
  return { session: await world.signUp(), app: await register(world.base) };
}

export function pages(world, { session, app }) {
  return [
    { name: "consent", path: app.path, session },
    { name: "consent sign-in", path: app.path },
    { name: "consent refused", path: "/oauth/authorize?client_id=unknown", status: 400 },
  ];
}

export const tests = {
  "one permission that is unticked is not granted, without script": async (t) => {
    const app = await register(t.base);
    // Notes need a plan that has them: only what the plan has is offered.
    const page = await t.open({ session: t.data.session, script: false });
    await page.goto(app.path);
    assert.match(await page.locator(".redirect .host").innerText(), /127\.0\.0\.1:43117/);
    await page.locator('input[value="read:projects"]').uncheck();
    const params = await sentBack(page, () => page.getByRole("button", { name: "Allow selected" }).click());
    const granted = (await app.exchange(params.get("code"))).scope.split(" ");
    assert.ok(granted.includes("read:library") && !granted.includes("read:projects"), granted.join(" "));
  },

  "a denial gives the app nothing": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto(t.data.app.path);
    const params = await sentBack(page, () => page.getByRole("button", { name: "Deny" }).click());
    assert.deepEqual([params.get("error"), params.get("state"), params.get("code")], ["access_denied", "xyz", null]);
  },

  "signing in continues with the request": async (t) => {
    const { user } = await t.world.signUp();
    const page = await t.open();
    await page.goto(t.data.app.path);
    await page.getByLabel("E-mail address").fill(user.email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Allow “Heron” to use your library?" }).waitFor();
    assert.match(await page.locator("main").innerText(), /90 days/);
  },

  "the page is not framed and runs no script": async (t) => {
    const page = await t.open({ session: t.data.session });
    const response = await page.goto(t.data.app.path);
    const policy = response.headers()["content-security-policy"];
    assert.ok(policy.includes("frame-ancestors 'none'") && policy.includes("default-src 'none'") && !policy.includes("script-src"), policy);
    assert.equal(await page.locator("script").count(), 0);
  },

  "a connected app is disconnected in place": async (t) => {
    const session = await t.world.signUp();
    const app = await register(t.base);
    const page = await t.open({ session });
    await page.goto(app.path);
    const params = await sentBack(page, () => page.getByRole("button", { name: "Allow selected" }).click());
    await app.exchange(params.get("code"));
    // This page still tries to reach the app, which nobody serves.
    await page.close();
    page.noise.splice(0);
    const settings = await t.open({ session });
    await settings.goto("/settings/apps");
    await settings.getByRole("button", { name: "Disconnect Heron" }).click();
    await settings.locator("#apps .key-row").waitFor({ state: "detached" });
    assert.equal(await settings.locator("#toast").innerText(), "Heron was disconnected");
  },
};
