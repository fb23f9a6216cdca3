// Feeds: three panes, keys, marks that are undone, following by the address of a page, failing feeds, OPML.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { followFeed, rss } from "../lib/feeds.mjs";

const ENTRIES = [
  ["High water", "The harbour master looks at the step."], ["A field guide to mud", "Four tests with a stick."],
  ["Bread in a cold kitchen", "Below seventeen degrees the clock is of no use."],
];

export async function setUp(world) {
  const session = await world.signUp();
  await session.api("POST", "/onboarding/end", {});
  const feed = await followFeed(session, "Slack Water", ENTRIES, "Sea and shore");
  const failing = await followFeed(session, "The Fog Signal", [["Fog", "Nothing to see."]]);
  world.site.fail(new URL(failing.url).pathname, 503);
  await session.api("POST", `/library/feeds/${failing.feedId}/refresh`, {});
  await session.until("/feeds/tree", (tree) => tree.failing === 1);
  const { entries } = await session.api("GET", `/entries?feedId=${feed.feedId}`);
  return { session, feed, failing, entry: entries[0].entryId };
}

export function pages(world, { session, feed, failing, entry }) {
  return [
    { name: "feeds", path: "/feeds?show=all", session },
    { name: "feeds entry", path: `/feeds?show=all&entry=${entry}`, session },
    { name: "feeds failing", path: `/feeds?feed=${failing.feedId}&show=all`, session },
    { name: "feeds starred, empty", path: "/feeds?show=starred", session },
    { name: "feeds of a folder", path: "/feeds?folder=Sea+and+shore&show=all", session },
    { name: "feeds manage", path: "/feeds/manage", session },
    { name: "feeds follow", path: `/feeds/add?url=${encodeURIComponent(feed.url)}`, session },
    { name: "feeds opml", path: "/feeds/opml", session },
  ];
}

/** An account with one feed of three unread entries, on its page. */
async function opened(t, options = {}) {
  const session = await t.world.signUp();
  const feed = await followFeed(session, "Slack Water", ENTRIES);
  const page = await t.open({ session, ...options });
  await page.goto("/feeds");
  return { session, feed, page };
}

const unread = async (session) => (await session.api("GET", "/entries")).entries.length;

export const tests = {
  "an entry opens beside the list and is marked as read": async (t) => {
    const { session, page } = await opened(t);
    await page.getByRole("link", { name: /High water/ }).click();
    await page.locator("#entry").getByText("looks at the step").waitFor();
    assert.match(page.url(), /entry=/);
    assert.equal(await unread(session), 2);
    assert.equal(await page.locator(".entry").count(), 3);
  },

  "entries are read by keyboard alone": async (t) => {
    const { session, page } = await opened(t);
    await page.keyboard.press("j");
    await page.locator("#entry h2", { hasText: "High water" }).waitFor();
    await page.keyboard.press("j");
    await page.locator("#entry h2", { hasText: "A field guide to mud" }).waitFor();
    await page.keyboard.press("s");
    await page.locator("#entry-star-button[aria-pressed=true]").waitFor();
    await page.keyboard.press("m");
    await page.locator("#entry-read-button[value=read]").waitFor();
    await page.keyboard.press("k");
    await page.locator("#entry h2", { hasText: "High water" }).waitFor();
    assert.equal(await unread(session), 2);
    assert.equal((await session.api("GET", "/entries?show=starred")).entries.length, 1);
  },

  "all above are marked as read and the mark is undone": async (t) => {
    const { session, page } = await opened(t);
    await page.keyboard.press("Shift+A");
    await page.locator("#toast").getByText("3 entries are marked as read.").waitFor();
    assert.equal(await unread(session), 0);
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await page.locator("#toast").getByText("unread again").waitFor();
    assert.equal(await unread(session), 3);
  },

  "the number of the navigation follows what is read": async (t) => {
    const { page } = await opened(t);
    const count = page.locator("#count-feeds");
    assert.equal(await count.innerText(), "3");
    await page.getByRole("link", { name: /High water/ }).click();
    // The narrow navigation of this page does not show its numbers.
    await count.filter({ hasText: "2" }).waitFor({ state: "attached" });
    await page.keyboard.press("m");
    await count.filter({ hasText: "3" }).waitFor({ state: "attached" });
    await page.keyboard.press("Shift+A");
    await page.locator("#count-feeds[hidden]").waitFor({ state: "attached" });
  },

  "an entry is saved to the library": async (t) => {
    const { session, page } = await opened(t);
    await page.getByRole("link", { name: /A field guide to mud/ }).click();
    await page.locator("#entry").getByRole("button", { name: "Save" }).click();
    await page.locator("#entry").getByRole("link", { name: "saved" }).waitFor();
    assert.equal((await session.api("GET", "/library/bookmarks")).bookmarks.length, 1);
  },

  "everything works without script": async (t) => {
    const { session, page } = await opened(t, { script: false });
    await page.follow(page.getByRole("link", { name: /High water/ }));
    assert.equal(await page.locator("#entry h2").innerText(), "High water");
    await page.follow(page.getByRole("button", { name: "Mark as unread ( m )" }));
    assert.equal(await unread(session), 3);
    await page.follow(page.getByRole("button", { name: "Mark all above as read ( Shift A )" }));
    assert.equal(await unread(session), 2);
    await page.follow(page.getByRole("button", { name: "Undo" }));
    assert.equal(await unread(session), 3);
  },

  "an entry is its own page on a phone": async (t) => {
    const { page } = await opened(t, { size: [360, 740], touch: true });
    assert.ok(!(await page.locator("#part-reading").isVisible()));
    await page.getByRole("link", { name: /High water/ }).click();
    await page.locator("#entry h2").waitFor();
    assert.ok(!(await page.locator("#part-entries").isVisible()));
    await page.getByRole("link", { name: "Back to the entries" }).click();
    await page.locator("#part-entries").waitFor();
    await page.getByRole("button", { name: "Choose feeds" }).click();
    await page.getByRole("navigation", { name: "Feeds" }).getByRole("link", { name: /Starred/ }).click();
    await page.waitForURL("**/feeds?show=starred");
  },

  "a feed is followed by the address of a page": async (t) => {
    const session = await t.world.signUp();
    t.world.site.add("/reeds.xml", "application/rss+xml", rss("The Reeds", ENTRIES));
    const url = t.world.site.add("/reeds", "text/html", '<html><head><link rel="alternate" type="application/rss+xml" href="/reeds.xml" title="The Reeds"></head><body>Reeds</body></html>');
    const page = await t.open({ session });
    await page.goto("/feeds/add");
    await page.getByLabel("Address of a site or a feed").fill(url);
    await page.getByRole("button", { name: "Find feeds" }).click();
    await page.getByLabel("Folder").fill("Marsh");
    await page.getByRole("button", { name: "Follow", exact: true }).click();
    await page.waitForURL("**/feeds?feed=**");
    assert.equal(await page.locator(".entry").count(), 3);
    assert.equal((await session.api("GET", "/feeds/tree")).folders[0].name, "Marsh");
  },

  "following is ended, and taken up again as it was": async (t) => {
    const session = await t.world.signUp();
    const { feedId } = await followFeed(session, "Slack Water", ENTRIES, "Sea and shore");
    await session.api("PATCH", `/library/feeds/${feedId}`, { title: "Slow water" });
    const page = await t.open({ session });
    await page.goto("/feeds/manage");
    const row = page.locator(`#feed-${feedId}`);
    await row.locator("summary").click();
    await row.getByRole("button", { name: "Stop following" }).click();
    await page.locator("#toast", { hasText: "You no longer follow Slow water." }).waitFor();
    assert.equal((await session.api("GET", "/library/feeds")).feeds.length, 0);
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await page.waitForURL("**/feeds?feed=**");
    const [{ title, folder, fullText }] = (await session.api("GET", "/library/feeds")).feeds;
    assert.deepEqual([title, folder, fullText], ["Slow water", "Sea and shore", false]);
  },

  "a failing feed is named with its next try": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/feeds/manage");
    const row = page.locator(`#feed-${t.data.failing.feedId}`);
    assert.match(await row.innerText(), /503/);
    assert.match(await row.innerText(), /Failing since .* Next try: /s);
  },

  "exported feeds are imported unchanged": async (t) => {
    const { session, page } = await opened(t);
    await page.goto("/feeds/opml");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the file" }).click()]);
    const file = await download.path();
    const other = await t.world.signUp();
    const second = await t.open({ session: other });
    await second.goto("/feeds/opml");
    await second.getByLabel("OPML file").setInputFiles({ name: "feeds.opml", mimeType: "text/x-opml", buffer: await readFile(file) });
    await second.getByRole("button", { name: "Follow the feeds of the file" }).click();
    await second.waitForURL("**/feeds/manage**");
    const [ours, theirs] = await Promise.all([session, other].map((it) => it.api("GET", "/library/feeds/opml")));
    assert.equal(theirs.opml, ours.opml);
  },

  "muted words mark entries as read": async (t) => {
    const { session, page } = await opened(t);
    await page.goto("/feeds/manage");
    await page.getByLabel("Words", { exact: true }).fill("mud");
    await page.getByRole("button", { name: "Mute" }).click();
    await page.locator("#toast").getByText("One unread entry is marked as read.").waitFor();
    assert.equal(await unread(session), 2);
  },
};
