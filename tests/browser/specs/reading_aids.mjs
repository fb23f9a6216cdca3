// What the reader offers within a text: footnotes beside their marks, and copies of code blocks.
import assert from "node:assert/strict";
import { savePage, selectWords } from "../lib/reading.mjs";

const SENTENCE = "The tide table for Skarnholm fits in a coat pocket, and it is sold at the ferry office. ";
const NOTE = "The clock was set back by eleven minutes in the spring of 1913, as the notebook of the harbour says.";
const CODE = "let delay = 11;\nlet tide = clock - delay;";
const PAGE = `<html lang="en"><head><title>The clock</title></head><body><article><h1>The clock</h1>
  <p>${SENTENCE.repeat(4)}It was late<sup id="mark-1"><a href="#note-1">1</a></sup> for years.</p><p>${SENTENCE.repeat(6)}</p>
  <pre>${CODE}</pre>${`<p>${SENTENCE.repeat(8)}</p>`.repeat(8)}<h2>What the notebook says</h2>
  <ol><li id="note-1">${NOTE} ${SENTENCE} <a href="#mark-1">Back</a></li></ol></article></body></html>`;

export async function setUp(world) {
  const session = await world.signUp();
  const { project } = await session.api("POST", "/projects", { name: "The harbour book" });
  return { session, project, clock: await savePage(session, PAGE) };
}

/** Opens the footnote of the text. */
async function openFootnote(page) {
  await page.locator("sup a").click();
  await page.getByRole("dialog").waitFor();
}

export const pages = (world, { session, clock }) => [
  { name: "open footnote", path: clock.path, session, prepare: openFootnote },
  { name: "reader with footnotes", path: clock.path, session },
  { name: "words to a project", path: `${clock.path}/project?at=0-20`, session },
];

export const tests = {
  "a footnote opens beside its mark, and gives the focus back": async (t) => {
    const { session, clock } = t.data;
    const page = await t.open({ session });
    await page.goto(clock.path);
    const mark = page.locator("sup a");
    await mark.click();
    const note = page.getByRole("dialog", { name: "Footnote" });
    await note.waitFor();
    assert.match(await note.innerText(), /set back by eleven minutes/);
    await page.keyboard.press("Escape");
    await note.waitFor({ state: "detached" });
    assert.ok(await mark.evaluate((link) => link === document.activeElement));
    await page.keyboard.press("Enter");
    await note.getByRole("link", { name: "Show it in the text" }).click();
    await note.waitFor({ state: "detached" });
    assert.ok((await page.locator("#text li").boundingBox()).y < 900);
  },

  "a footnote is reached without script": async (t) => {
    const { session, clock } = t.data;
    const page = await t.open({ session, script: false });
    await page.goto(clock.path);
    await page.locator("sup a").click();
    assert.match(page.url(), /#o\d+$/);
    const box = await page.locator("#text li").boundingBox();
    assert.ok(box.y >= 0 && box.y < 900, JSON.stringify(box));
  },

  "a code block is copied": async (t) => {
    const { session, clock } = t.data;
    const page = await t.open({ session });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(clock.path);
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.locator("#toast", { hasText: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), CODE);
  },

  "selected words become a source of a project, and that is taken back": async (t) => {
    const { session, project, clock } = t.data;
    const page = await t.open({ session });
    await page.goto(clock.path);
    assert.ok(await selectWords(page, "It was late"));
    await page.getByRole("toolbar").getByRole("link", { name: "Add to project" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It was late").waitFor();
    await dialog.getByLabel("Project").selectOption({ label: project.name });
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await page.locator("#toast", { hasText: "Added to the project" }).waitFor();
    const items = await session.api("GET", `/projects/${project.id}/items`);
    assert.equal(items.items.length, 1);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator("#toast", { hasText: "deleted" }).waitFor();
    assert.equal((await session.api("GET", `/projects/${project.id}/items`)).items.length, 0);
  },

  "a question begins with the selected words": async (t) => {
    const { session, clock } = t.data;
    const page = await t.open({ session });
    await page.goto(clock.path);
    assert.ok(await selectWords(page, "It was late"));
    await page.getByRole("toolbar").getByRole("link", { name: "Ask about these words" }).click();
    await page.waitForURL("**/ask?**");
    assert.match(await page.getByLabel("Your question").inputValue(), /^“It was late”/);
  },
};
