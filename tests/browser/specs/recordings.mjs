// Recordings: the player, and the transcript that it follows.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { upload, wav } from "../lib/files.mjs";
import { LINES } from "../lib/speech.mjs";

export async function setUp(world) {
  const session = await world.signUp("Mara");
  const { documentId } = await upload(session, "tone.wav", "audio/wav", wav(20), 60);
  return { session, documentId, path: `/read/${documentId}` };
}

export const pages = (world, { session, path }) => [{ name: "recording", path, session }];

const isAt = (page, seconds) => page.waitForFunction((at) => Math.abs(document.getElementById("media").currentTime - at) < 0.5, seconds);
const row = (page, text) => page.locator(".said-row", { hasText: text });

const waitUntilPlayable = (page) => page.waitForFunction(() => document.getElementById("media")?.readyState > 0);

/** Opens the recording once it can be played. */
async function opened(t, path = t.data.path) {
  const page = await t.open({ session: t.data.session });
  await page.goto(path);
  await waitUntilPlayable(page);
  return page;
}

export const tests = {
  "the recording is sent in parts, and the player goes where it is told": async (t) => {
    const page = await opened(t, `${t.data.path}?t=5`);
    await isAt(page, 5);
    await page.keyboard.press("j");
    await isAt(page, 0);
    await page.getByRole("slider", { name: "Position" }).fill("12");
    await isAt(page, 12);
    assert.match(await page.getByRole("slider", { name: "Position" }).getAttribute("aria-valuetext"), /^0:12 of 0:20/);
  },

  "an uploaded recording goes to the line that is clicked": async (t) => {
    const session = await t.world.signUp("Uploader");
    const page = await t.open({ session });
    await page.goto("/uploads");
    await page.getByLabel("Choose files").setInputFiles({ name: "harbour.wav", mimeType: "audio/wav", buffer: wav(18) });
    await session.until("/uploads", (it) => it.uploads[0]?.status === "ready", 60);
    await page.reload();
    await page.getByRole("link", { name: "harbour" }).first().click();
    await page.waitForURL("**/read/**");
    await waitUntilPlayable(page);
    const [, , [third, , words]] = LINES;
    await row(page, words).locator(".place").click();
    await isAt(page, third);
  },

  "the transcript is downloaded as captions with its times": async (t) => {
    const page = await opened(t);
    await page.getByRole("button", { name: "More", exact: true }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#more").getByRole("link", { name: "Captions (WebVTT)" }).click()]);
    assert.equal(download.suggestedFilename(), "captions.vtt");
    const captions = await readFile(await download.path(), "utf8");
    assert.match(captions, /^WEBVTT\n/);
    for (const [start, , words] of LINES) assert.match(captions, new RegExp(`00:00:${String(start).padStart(2, "0")}\\.000 --> .*\n${words}`));
  },

  "keys play, and change the speed": async (t) => {
    const page = await opened(t);
    await page.keyboard.press("k");
    await page.getByRole("button", { name: "Pause (k)" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("button", { name: "Play (k)" }).waitFor();
    await page.keyboard.press(">");
    await page.getByRole("button", { name: "Speed 1.25 times" }).waitFor();
  },

  "a position is kept only after the player has moved, and none by scrolling": async (t) => {
    const page = await opened(t, `${t.data.path}?t=5`);
    await isAt(page, 5);
    const leave = () => page.evaluate(() => {
      const sent = [];
      navigator.sendBeacon = (url) => sent.push(url) > 0;
      dispatchEvent(new Event("scroll"));
      dispatchEvent(new Event("pagehide"));
      return sent.length;
    });
    assert.equal(await leave(), 0);
    await page.keyboard.press("j");
    await isAt(page, 0);
    assert.equal(await leave(), 1);
  },

  "a recording without a transcript begins where it stopped": async (t) => {
    const session = await t.world.signUp("Listener");
    const { documentId } = await upload(session, "tone.wav", "audio/wav", wav(20), 60);
    const page = await t.open({ session });
    await page.goto(`/read/${documentId}`);
    await waitUntilPlayable(page);
    await page.evaluate(() => { document.querySelector(".transcript").remove(); document.dispatchEvent(new CustomEvent("carrel:swap", { detail: { ids: [] } })); });
    await page.getByRole("slider", { name: "Position" }).fill("12");
    await isAt(page, 12);
    await page.evaluate(() => dispatchEvent(new Event("pagehide")));
    await session.until(`/documents/${documentId}`, (it) => it.position?.seconds === 12);
    await page.reload();
    await waitUntilPlayable(page);
    await isAt(page, 12);
  },

  "keys of the player wait while a dialog is open": async (t) => {
    const page = await opened(t, `${t.data.path}?t=5`);
    await isAt(page, 5);
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("l");
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    await isAt(page, 5);
    await page.keyboard.press("j");
    await isAt(page, 0);
  },

  "a click on the time of a line seeks there, and the line is current": async (t) => {
    const page = await opened(t);
    const [, [second, , words], [third, , last]] = LINES;
    await row(page, last).locator(".place").click();
    await isAt(page, third);
    assert.equal(await row(page, last).getAttribute("aria-current"), "true");
    await row(page, words).locator(".place").focus();
    await page.keyboard.press("Enter");
    await isAt(page, second);
    assert.equal(await page.locator(".said-row[aria-current]").count(), 1);
  },

  "a double click on a word of a line seeks into the line": async (t) => {
    const page = await opened(t);
    const [, , [start, end, words]] = LINES;
    await row(page, words).locator("p").dblclick();
    await page.waitForFunction(([from, until]) => {
      const at = document.getElementById("media").currentTime;
      return at >= from && at <= until;
    }, [start, end]);
  },

  "a time of the transcript is a link without script": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session, script: false });
    await page.goto(path);
    assert.ok(await page.locator("audio[controls]").isVisible());
    await page.follow(row(page, LINES[2][2]).locator(".place"));
    assert.match(page.url(), /[?]t=13#t13$/);
    assert.equal(await row(page, LINES[2][2]).getAttribute("aria-current"), "true");
  },
};
