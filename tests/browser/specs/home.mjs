// Home: four ways to start, what to continue, what is new, what was saved.
import assert from "node:assert/strict";
import { followFeed } from "../lib/feeds.mjs";

const TEXT = "The tide turned. Nobody saw it. Then the boats swung round.";

/** An account whose home page has every part. */
async function fullHome(world) {
  const session = await world.signUp();
  await session.api("POST", "/onboarding/end", {});
  const { bookmark } = await session.save({ url: "https://tides.example/turn", title: "The harbour that kept its own time", text: TEXT });
  const path = `/library/bookmarks/${bookmark.bookmarkId}`;
  await session.until(path, (answer) => answer.bookmark.status === "ready");
  await session.api("PATCH", path, { progress: 0.6 });
  const text = "Nobody saw it.";
  const startOffset = TEXT.indexOf(text);
  await session.api("POST", `${path}/highlights`, { text, startOffset, endOffset: startOffset + text.length });
  await session.api("POST", "/projects", { name: "Harbour book" });
  await followFeed(session, "Slack Water", [["High water", "The step."], ["Low water", "The mud."]]);
  await session.save({ url: world.site.fail("/gone", 404) });
  await session.until("/home", (home) => home.saved.some((it) => it.status === "failed"));
  return session;
}

export async function setUp(world) {
  return { full: await fullHome(world), fresh: await world.signUp() };
}

export function pages(world, { full, fresh }) {
  return [
    { name: "home", path: "/", session: full },
    { name: "welcome", path: "/", session: fresh },
    { name: "browser extension", path: "/settings/extension", session: full },
  ];
}

export const tests = {
  "home continues at the sentence where one stopped": async (t) => {
    const page = await t.open({ session: t.data.full });
    await page.goto("/");
    assert.match(await page.locator(".stopped").innerText(), /Nobody saw it\./);
    await page.getByRole("link", { name: "Continue", exact: true }).click();
    await page.waitForURL("**/read/**");
  },

  "another highlight is shown in place": async (t) => {
    const page = await t.open({ session: t.data.full });
    await page.goto("/");
    await page.getByRole("link", { name: "Another one" }).click();
    await page.locator("#part-again a[href*='turn=2']").waitFor();
    assert.match(await page.locator("#part-again").innerText(), /Nobody saw it\./);
  },

  "a failed save says why and is tried again": async (t) => {
    const page = await t.open({ session: t.data.full });
    await page.goto("/");
    await page.locator("#part-saved .is-error").waitFor();
    await page.getByRole("button", { name: /^Try again/ }).click();
    await page.locator("#toast").waitFor();
  },

  "a new entry opens from home": async (t) => {
    const page = await t.open({ session: t.data.full });
    await page.goto("/");
    await page.getByRole("link", { name: "High water" }).click();
    await page.locator("#entry h2", { hasText: "High water" }).waitFor();
  },

  "onboarding is done in place": async (t) => {
    const session = await t.world.signUp();
    const url = t.world.site.article("/first", "Mud", ["There are four kinds of mud, and one can stand on two of them."]);
    const page = await t.open({ session });
    await page.goto("/");
    assert.equal(await page.locator(".step.is-done").count(), 0);
    await page.getByLabel("Address").first().fill(url);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".step.is-done").waitFor();
    await page.getByRole("button", { name: "Add it" }).click();
    await page.getByRole("link", { name: /How tides work, with 5 sources/ }).waitFor();
    await session.until("/library/search?q=twelfths", (found) => found.results.length > 0);
    await page.getByRole("button", { name: "Remove it" }).click();
    await page.getByRole("button", { name: "Add it" }).waitFor();
    await page.getByRole("button", { name: "Go to my library" }).click();
    await page.getByRole("heading", { name: "Recently saved" }).waitFor();
  },

  "the extension is downloaded": async (t) => {
    const page = await t.open({ session: t.data.full });
    await page.goto("/settings/extension");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the extension" }).click()]);
    assert.equal(download.suggestedFilename(), "carrel-extension.zip");
  },
};
