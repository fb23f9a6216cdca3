// PDFs page by page: pictures, words that can be chosen, highlights on their words at every zoom, places, search.
import assert from "node:assert/strict";
import { pdf, upload } from "../lib/files.mjs";

const FIRST = ["The heron stands in the shallow water.", "It waits for a fish to come near."];
const SECOND = ["The egret is a smaller bird.", "It walks along the shore."];

export async function setUp(world) {
  const session = await world.signUp("Mara");
  const { documentId } = await upload(session, "birds.pdf", "application/pdf", pdf([FIRST, SECOND, []]));
  return { session, documentId, path: `/read/${documentId}` };
}

export const pages = (world, { session, path }) => [
  { name: "pdf", path, session },
  { name: "pdf place", path: `${path}?at=4-9`, session },
  { name: "pdf found", path: `${path}?find=the`, session },
  { name: "pdf as text", path: `${path}?as=text`, session },
];

/** Selects words of the page by their text, over lines. */
const select = (page, from, to) => page.evaluate(([first, last]) => {
  const find = (words) => {
    const run = [...document.querySelectorAll(".words text")].find((it) => it.textContent.includes(words));
    return [run.firstChild, run.textContent.indexOf(words)];
  };
  const range = new Range();
  range.setStart(...find(first));
  const [node, at] = find(last);
  range.setEnd(node, at + last.length);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}, [from, to]);

/** How far a highlight is from the words "heron", in parts of their width. */
const distance = (page) => page.evaluate(() => {
  const run = [...document.querySelectorAll(".words text")].find((it) => it.textContent.includes("heron"));
  const range = new Range();
  const at = run.textContent.indexOf("heron");
  range.setStart(run.firstChild, at);
  range.setEnd(run.firstChild, at + 5);
  const [words, mark] = [range.getBoundingClientRect(), document.querySelector(".marks .hl").getBoundingClientRect()];
  return Math.max(Math.abs(words.left - mark.left), Math.abs(words.right - mark.right), Math.max(0, mark.top - words.bottom)) / words.width;
});

export const tests = {
  "a selection over two lines has the offsets of the text": async (t) => {
    const { session, path, documentId } = t.data;
    const page = await t.open({ session });
    await page.goto(path);
    await select(page, "shallow water.", "It waits");
    await page.keyboard.press("h");
    await page.getByRole("complementary").getByText("shallow water.").first().waitFor();

    const { highlights } = await session.api("GET", `/documents/${documentId}/highlights`);
    assert.equal(highlights.at(-1).text, "shallow water.\nIt waits");
  },

  "a highlight stands on its words at every zoom": async (t) => {
    const session = await t.world.signUp("Zoom");
    const { documentId } = await upload(session, "birds.pdf", "application/pdf", pdf([FIRST]));
    await session.api("POST", `/documents/${documentId}/highlights`, { startOffset: 4, endOffset: 9, version: 1, color: "green" });
    const page = await t.open({ session });
    await page.goto(`/read/${documentId}`);
    assert.ok((await distance(page)) < 0.35);
    for (const name of ["Smaller", "Smaller", "Smaller"]) await page.getByRole("button", { name }).click();
    assert.ok((await distance(page)) < 0.35);
    for (let n = 0; n < 8; n += 1) await page.getByRole("button", { name: "Larger" }).click();
    assert.ok((await distance(page)) < 0.35);
  },

  "a place opens its page and is marked, with script and without": async (t) => {
    const { session, path, documentId } = t.data;
    const { pages: listed } = await session.api("GET", `/documents/${documentId}/pages`);
    const start = listed[1].startOffset + 4;
    for (const script of [true, false]) {
      const page = await t.open({ session, script });
      await page.goto(`${path}?at=${start}-${start + 5}#at`);
      await page.locator("#at").waitFor();
      assert.equal(await page.getByLabel("Page", { exact: true }).inputValue(), "2");
    }
  },

  "words are found in all pages": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session });
    await page.goto(path);
    await page.keyboard.press("Control+f");
    await page.keyboard.type("egret");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "One place" }).waitFor();
    await page.getByRole("link", { name: /egret/ }).click();
    await page.locator("#p2 #at").waitFor();
  },

  "the end of the listed pages is not the end of a long PDF": async (t) => {
    const session = await t.world.signUp("Long");
    const { documentId } = await upload(session, "long.pdf", "application/pdf", pdf(Array.from({ length: 90 }, () => FIRST)));
    const page = await t.open({ session });
    await page.goto(`/read/${documentId}?page=1`);
    assert.deepEqual([await page.locator("#p81").count(), await page.locator("#read-end").count()], [1, 0]);
    await page.goto(`/read/${documentId}?page=90`);
    assert.equal(await page.locator("#read-end").count(), 1);
  },

  "words are found on a phone": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session, size: [360, 740] });
    await page.goto(path);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.locator("#fi-more").fill("egret");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "One place" }).waitFor();
  },

  "a page that was refused is loaded after the wait that was asked for": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session });
    page.expectStatus(503);
    let requests = 0;
    await page.route("**/pages/2", (route) => {
      requests += 1;
      if (requests > 1) return route.continue();
      return route.fulfill({ status: 503, headers: { "Retry-After": "1" }, contentType: "text/html", body: "" });
    });
    await page.goto(`${path}?page=1`);
    await page.locator("#p2:not(.is-waiting)").waitFor({ state: "attached" });
    assert.equal(requests, 2);
  },

  "a page without text says so": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session });
    await page.goto(path);
    await page.getByText("Page 3 has no text.").waitFor();
  },

  "without script the pages are links": async (t) => {
    const { session, path } = t.data;
    const page = await t.open({ session, script: false });
    await page.goto(`${path}?page=1`);
    await page.follow(page.getByRole("link", { name: "Next page" }));
    assert.equal(await page.getByLabel("Page", { exact: true }).inputValue(), "2");
    assert.ok(await page.getByText("The egret is a smaller bird.").count());
  },
};
