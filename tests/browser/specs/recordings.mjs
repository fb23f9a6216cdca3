// Recordings: the player, and what stands there while there is no transcript.
import assert from "node:assert/strict";
import { upload, wav } from "../lib/files.mjs";

export async function setUp(world) {
  const session = await world.signUp("Mara");
  const { documentId } = await upload(session, "tone.wav", "audio/wav", wav(20), 0);
  return { session, documentId, path: `/read/${documentId}` };
}

export const pages = (world, { session, path }) => [{ name: "recording", path, session }];

export const tests = {
  "the recording is sent in parts, and the player goes where it is told": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session });
    await page.goto(`${path}?t=5`);
    await page.waitForFunction(() => document.getElementById("media").readyState > 0);
    await page.waitForFunction(() => Math.abs(document.getElementById("media").currentTime - 5) < 0.5);
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.getElementById("media").currentTime < 0.5);
    await page.getByRole("slider", { name: "Position" }).fill("12");
    await page.waitForFunction(() => Math.abs(document.getElementById("media").currentTime - 12) < 0.5);
    assert.match(await page.getByRole("slider", { name: "Position" }).getAttribute("aria-valuetext"), /^0:12 of 0:20/);
  },

  "keys play, and change the speed": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session });
    await page.goto(path);
    await page.waitForFunction(() => document.getElementById("media").readyState > 0);
    await page.keyboard.press("k");
    await page.getByRole("button", { name: "Pause (k)" }).waitFor();
    await page.keyboard.press("k");
    await page.getByRole("button", { name: "Play (k)" }).waitFor();
    await page.keyboard.press(">");
    await page.getByRole("button", { name: "Speed 1.25 times" }).waitFor();
  },

  "without script the browser plays it": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session, script: false });
    await page.goto(path);
    assert.ok(await page.locator("audio[controls]").isVisible());
  },
};
