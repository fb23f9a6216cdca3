// Without a connection: what was opened is read from the worker's copy, and marks wait until there is a connection again.
import assert from "node:assert/strict";
import { savePage } from "../lib/reading.mjs";

const WORDS = "A capercaillie was seen on the breakwater.";
const PAGE = `<html lang="en"><head><title>The breakwater</title></head><body><article><h1>The breakwater</h1>${`<p>${WORDS} It stood there until the tide had turned, and nobody knows why.</p>`.repeat(6)}</article></body></html>`;

export async function setUp(world) {
  const session = await world.signUp();
  await session.api("POST", "/onboarding/end", {});
  return { session };
}

/** Runs a test on a page with a worker, which the other contexts of the suite block. */
async function withWorker(t, run) {
  const context = await t.world.browser.newContext({ baseURL: t.base });
  try {
    await context.addCookies([t.data.session.cookie]);
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    await page.goto("/");
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await run(page, context);
  } finally {
    await context.close();
  }
}

/** Saves a page and opens it, and waits until the worker has a copy. */
async function openSaved(t, page) {
  const saved = await savePage(t.data.session, PAGE);
  await page.goto(saved.path);
  await page.waitForFunction(async (path) => Boolean(await (await caches.open("read")).match(path)), saved.path);
  return saved;
}

const shown = async (t, saved) => (await t.data.session.api("GET", `/library/bookmarks/${saved.bookmarkId}`)).bookmark;

export const tests = {
  "an opened document is read without a connection, and others are not there": (t) => withWorker(t, async (page, context) => {
    const saved = await openSaved(t, page);
    await context.setOffline(true);
    await page.reload();
    await page.locator("#text").getByText(WORDS).first().waitFor();
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), "The breakwater");
    await page.goto("/library");
    await page.getByRole("heading", { level: 1 }).waitFor();
    assert.match(await page.locator("main").innerText(), /no connection|offline/i);
    await page.getByRole("link", { name: "The breakwater" }).click();
    await page.waitForURL(`**${saved.path}`);
    await page.locator("#text").getByText(WORDS).first().waitFor();
    await page.goto(saved.path);
    await page.locator("#text").getByText(WORDS).first().waitFor();
  }),

  "another form of a text is kept beside it": (t) => withWorker(t, async (page) => {
    const saved = await openSaved(t, page);
    await page.goto(`${saved.path}?as=text`);
    await page.waitForFunction(async (path) => Boolean(await (await caches.open("read")).match(`${path}?as=text`)), saved.path);
    assert.ok(await page.evaluate(async (path) => Boolean(await (await caches.open("read")).match(path)), saved.path));
  }),

  "marks are sent without locks, which browsers lack over plain http": (t) => withWorker(t, async (page, context) => {
    await page.addInitScript(() => { Object.defineProperty(Navigator.prototype, "locks", { value: undefined }); });
    const saved = await openSaved(t, page);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Favourite (f)" }).click();
    await page.locator(".read-bar .state", { hasText: "Waiting: 1" }).waitFor();

    await context.setOffline(false);
    await t.data.session.until(`/library/bookmarks/${saved.bookmarkId}`, ({ bookmark }) => bookmark.favorite);
  }),

  "marks wait without a connection, and are sent with one": (t) => withWorker(t, async (page, context) => {
    const saved = await openSaved(t, page);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Favourite (f)" }).click();
    await page.locator("#toast", { hasText: "The change is kept" }).waitFor();
    await page.locator(".read-bar .state", { hasText: "Waiting: 1" }).waitFor();
    assert.ok(await page.getByRole("button", { name: "Favourite (f)" }).isDisabled());
    await page.reload();
    await page.locator(".read-bar .state", { hasText: "Waiting: 1" }).waitFor();
    await page.getByRole("button", { name: "Finish and archive" }).click();
    await page.locator(".read-bar .state", { hasText: "Waiting: 2" }).waitFor();
    assert.equal((await shown(t, saved)).favorite, false);

    await context.setOffline(false);
    await t.data.session.until(`/library/bookmarks/${saved.bookmarkId}`, ({ bookmark }) => bookmark.favorite && bookmark.archived && bookmark.progress === 1);
    await page.locator(".read-bar .state").waitFor({ state: "detached" });
    await page.locator("[aria-pressed=true][data-key=f]").waitFor();
  }),

  "marks of another user are removed and not sent": (t) => withWorker(t, async (page, context) => {
    const saved = await openSaved(t, page);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Favourite (f)" }).click();
    await page.locator(".read-bar .state", { hasText: "Waiting: 1" }).waitFor();
    const other = await t.world.signUp();
    await other.api("POST", "/onboarding/end", {});
    await context.addCookies([other.cookie]);
    const posts = [];
    context.on("request", (request) => { if (request.method() === "POST" && request.url().endsWith("/bookmark")) posts.push(request.url()); });

    // Away from the page of the first user, which would send the marks of the first user itself.
    await page.goto("about:blank");
    await context.setOffline(false);
    await page.goto("/library");
    await page.waitForFunction(() => !localStorage.getItem("carrel-waiting"));
    assert.deepEqual(posts, []);
    assert.equal((await shown(t, saved)).favorite, false);
  }),

  "a mark on what was deleted meanwhile is given up in words": (t) => withWorker(t, async (page, context) => {
    const saved = await openSaved(t, page);
    await context.setOffline(true);
    await page.getByRole("button", { name: "Archive (e)" }).click();
    await page.locator(".read-bar .state", { hasText: "Waiting: 1" }).waitFor();
    await t.data.session.api("DELETE", `/library/bookmarks/${saved.bookmarkId}`);

    await context.setOffline(false);
    await page.locator("#toast", { hasText: "could not be made" }).waitFor();
    await page.locator(".read-bar .state").waitFor({ state: "detached" });
  }),
};
