// The reader of articles and notes, and the list of all highlights.
import assert from "node:assert/strict";
import { savePage, selectWords } from "../lib/reading.mjs";

const SENTENCE = "The tide table for Skarnholm fits in a coat pocket, and it is sold at the ferry office. ";
const PAGE = `<html lang="en"><head><title>The harbour</title></head><body><article><h1>The harbour</h1>
  <p>${SENTENCE.repeat(4)}</p><h2>Eleven minutes of mud</h2><p>Soft silt 😀 behaves less like a floor than like a mattre\u0301ss.<br>Water passing over it pushes it down.</p>
  <p>${SENTENCE.repeat(30)}</p><table><tr><th>Year</th><th>Source</th></tr><tr><td>1913</td><td>Berge, notebook</td></tr></table>
  <h2>The woman with the brass machine</h2>${`<p>${SENTENCE.repeat(12)}</p>`.repeat(12)}</article></body></html>`;
const ARABIC = `<html lang="ar"><head><title>ساعة المدّ</title></head><body><article><h1>ساعة المدّ</h1>${"<p>يقول البحّارة إن الماء يتأخر عند المنعطف، والرجل على حق، والطين هو السبب في ذلك كله.</p>".repeat(6)}</article></body></html>`;
const JAPANESE = `<html lang="ja"><head><title>潮の時計</title></head><body><article><h1>潮の時計</h1>${"<p>潮は浅いところに入ると遅くなる波である。港の人々はそれを知っていたが、遅れの大きさの理由は知らなかった。</p>".repeat(8)}</article></body></html>`;

/** The whole text of a document, and the offsets of words in it, as the API counts them. */
async function textOf(session, saved) {
  let [text, offset] = ["", 0];
  while (offset !== null) {
    const page = await session.api("GET", `/library/documents/${saved.documentId}?offset=${offset}&maxChars=20000`);
    text += page.text;
    offset = page.nextOffset;
  }
  const placeOf = (words) => {
    const start = [...text.slice(0, text.indexOf(words))].length;
    return [start, start + [...words].length];
  };
  return { text, placeOf };
}

const highlightsOf = async (session, saved) => (await session.api("GET", `/documents/${saved.documentId}/highlights`)).highlights;

async function mark(session, saved, words, color = "yellow", note) {
  const { placeOf } = await textOf(session, saved);
  const [startOffset, endOffset] = placeOf(words);
  return session.api("POST", `/documents/${saved.documentId}/highlights`, { startOffset, endOffset, version: 1, color, ...(note ? { note } : {}) });
}

const LOST_WORDS = "Water passing over it pushes it down";
const FOUND_WORDS = "Water flowing over it presses it down";

/** Saves a page whose highlight is lost, because another text has replaced its words. */
async function savePageWithLostHighlight(session) {
  const saved = await savePage(session, PAGE);
  const { highlight } = await mark(session, saved, LOST_WORDS);
  await session.api("POST", `/bookmarks/${saved.bookmarkId}/content`, { html: PAGE.replace(LOST_WORDS, FOUND_WORDS) });
  await session.until(`/documents/${saved.documentId}/highlights`, (answer) => answer.highlights[0].anchorState === "lost");
  return { ...saved, findPath: `${saved.path}/highlights/${highlight.highlightId}/find` };
}

export async function setUp(world) {
  const session = await world.signUp();
  const article = await savePage(session, PAGE, { tags: ["tides"], notes: "Read with the chart." });
  const place = (await textOf(session, article)).placeOf("Soft silt");
  await mark(session, article, "less like a floor", "green", "In a different word.");
  await mark(session, article, "floor than like", "yellow");
  const plain = await savePage(session, PAGE);
  const arabic = await savePage(session, ARABIC);
  const japanese = await savePage(session, JAPANESE);
  const { bookmark: gone } = await session.save({ url: world.site.fail("/gone", 404) });
  await session.until(`/library/bookmarks/${gone.bookmarkId}`, (answer) => answer.bookmark.status === "failed");
  const lost = await savePageWithLostHighlight(session);
  const other = await world.signUp("Nobody yet");
  return { session, article, plain, place, arabic, japanese, gone: { ...gone, path: `/read/${gone.documentId}` }, lost, other };
}

export function pages(world, { session, article, place, arabic, japanese, gone, lost, other }) {
  return [
    { name: "reader", path: article.path, session },
    { name: "reader at a place", path: `${article.path}?at=${place.join("-")}#at`, session },
    { name: "reader right to left", path: arabic.path, session },
    { name: "reader Japanese", path: japanese.path, session },
    { name: "reader failed", path: gone.path, session },
    { name: "reader with a lost highlight", path: lost.path, session },
    { name: "find a highlight again", path: lost.findPath, session },
    { name: "highlights", path: "/highlights", session },
    { name: "highlights of a colour", path: "/highlights?color=green", session },
    { name: "highlights none", path: "/highlights?color=pink", session },
    { name: "highlights empty", path: "/highlights", session: other },
  ];
}

export const tests = {
  "a link to a place shows it marked on the screen, with and without script": async (t) => {
    const { session, article } = t.data;
    const place = (await textOf(session, article)).placeOf("1913");
    for (const script of [true, false]) {
      const page = await t.open({ session, script });
      await page.goto(`${article.path}?at=${place.join("-")}#at`);
      const box = await page.locator("#at").boundingBox();
      assert.equal(await page.locator("#at").innerText(), "1913");
      assert.ok(box.y > 0 && box.y < 900, JSON.stringify(box));
    }
  },

  "an undo after a load leaves the text": async (t) => {
    const { session, plain } = t.data;
    const page = await t.open({ session, size: [360, 740], touch: true });
    await page.goto(plain.path);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.locator("#more").getByRole("button", { name: "Favourite" }).click();
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await page.locator("#toast", { hasText: "It is no longer a favourite." }).waitFor();
    await page.locator("#text .prose").getByText("Eleven minutes of mud").waitFor();
  },

  "words are highlighted by the selection bar, at the offsets of the API": async (t) => {
    const { session } = t.data;
    const saved = await savePage(session, PAGE);
    const { placeOf } = await textOf(session, saved);
    const page = await t.open({ session });
    await page.goto(saved.path);
    assert.ok(await selectWords(page, "Soft silt 😀 behaves"));
    await page.getByRole("toolbar").getByRole("button", { name: /^Blue/ }).click();
    await page.locator(".sidenote").waitFor({ state: "attached" });
    const [highlight] = await highlightsOf(session, saved);
    assert.deepEqual([highlight.startOffset, highlight.endOffset], placeOf("Soft silt 😀 behaves"));
    assert.equal(highlight.color, "blue");
  },

  "a highlight is taken back by its key, and the text has no ring": async (t) => {
    const { session } = t.data;
    const saved = await savePage(session, PAGE);
    const page = await t.open({ session });
    await page.goto(saved.path);
    await page.locator("#text .prose p").first().click();
    assert.ok(await selectWords(page, "Soft silt 😀 behaves"));
    await page.keyboard.press("h");
    await page.locator("#toast", { hasText: "Highlighted." }).getByRole("button", { name: "Undo" }).waitFor();
    await page.locator(".sidenote").waitFor({ state: "attached" });
    const focused = await page.evaluate(() => [document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle]);
    assert.deepEqual(focused, ["text", "none"]);

    await page.keyboard.press("z");
    await page.locator("#toast", { hasText: "The highlight is deleted." }).waitFor();
    assert.equal(await page.locator(".sidenote").count(), 0);
    assert.deepEqual(await highlightsOf(session, saved), []);
    assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, saved.path);
  },

  "words are highlighted by keyboard alone, with a note": async (t) => {
    const { session } = t.data;
    const saved = await savePage(session, PAGE);
    const page = await t.open({ session });
    await page.goto(saved.path);
    await page.keyboard.press("s");
    await page.locator("#text[role=application]").waitFor();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Shift+H");
    const note = page.getByLabel("Note", { exact: true });
    await note.waitFor();
    await page.keyboard.type("By keys");
    await page.keyboard.press("Tab");
    await page.locator(".sidenote").getByRole("button", { name: "Save" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".sidenote", { hasText: "By keys" }).waitFor({ state: "attached" });
    const [highlight] = await highlightsOf(session, saved);
    assert.equal(highlight.note, "By keys");
    assert.equal(highlight.text.split(/\s+/).length, 3);
  },

  "overlapping highlights are both drawn, and the shorter one is reached by a click": async (t) => {
    const { session, article } = t.data;
    const page = await t.open({ session });
    await page.goto(article.path);
    const drawn = await page.evaluate(() => ["green", "yellow"].map((color) => [...(CSS.highlights.get(color) ?? [])].map(String)));
    assert.deepEqual(drawn, [["less like a floor"], ["floor than like"]]);
    const plain = await t.open({ session, script: false });
    await plain.goto(article.path);
    assert.equal(await plain.locator("mark.hl.c-green mark.hl.c-yellow, mark.hl.c-yellow mark.hl.c-green").innerText(), "floor");
  },

  "a highlight is made, changed and deleted by forms without script": async (t) => {
    const { session } = t.data;
    const saved = await savePage(session, PAGE);
    const page = await t.open({ session, script: false });
    await page.goto(`${saved.path}?find=ferry+office`);
    assert.equal(await page.locator("#at").innerText(), "ferry office");
    await page.locator("#mark-form").getByLabel("Note").fill("Ask there");
    await page.follow(page.locator("#mark-form").getByRole("button", { name: "Highlight" }));
    const note = page.locator(".sidenote");
    assert.match(await note.innerText(), /Ask there/);
    await note.locator("summary").click();
    await page.follow(note.getByRole("button", { name: "Delete" }));
    assert.equal(await page.locator(".sidenote").count(), 0);
  },

  "a tag is added by its key, and the keys go through the list": async (t) => {
    const { session, plain, arabic } = t.data;
    const page = await t.open({ session });
    await page.goto("/library");
    await page.goto(plain.path);
    await page.keyboard.press("t");
    await page.getByLabel("Tag", { exact: true }).fill("ferry");
    await page.getByRole("button", { name: "Add the tag" }).click();
    await page.locator(".title-block .tags", { hasText: "ferry" }).waitFor();
    await page.keyboard.press("[");
    await page.waitForURL(`**${arabic.path}`);
    await page.keyboard.press("]");
    await page.waitForURL(`**${plain.path}`);
  },

  "the place comes back after the type has changed": async (t) => {
    const { session, plain } = t.data;
    const page = await t.open({ session });
    await page.goto(plain.path);
    await page.evaluate(() => scrollTo({ top: document.body.scrollHeight / 2, behavior: "instant" }));
    await page.waitForFunction(() => document.querySelector("c-reader").position.moved);
    await page.evaluate(() => document.querySelector("c-reader").position.save());
    const kept = await session.until(`/documents/${plain.documentId}`, (answer) => answer.position?.offset > 0);
    await session.api("PATCH", "/settings", { preset: "large" });
    const again = await t.open({ session });
    await again.goto(plain.path);
    const offset = await again.evaluate(() => document.querySelector("c-reader").firstVisible());
    await session.api("PATCH", "/settings", { preset: "page" });
    assert.ok(Math.abs(offset - kept.position.offset) < 400, `${offset} ${kept.position.offset}`);
  },

  "a lost highlight is placed on words like its own": async (t) => {
    const { session, lost } = t.data;
    const page = await t.open({ session });
    await page.goto(lost.path);
    await page.getByRole("link", { name: "Find it again" }).click();
    await page.locator(".candidates li", { hasText: FOUND_WORDS }).getByRole("button", { name: "Highlight this" }).click();
    await page.locator("#toast", { hasText: "back in the text" }).waitFor();
    const [highlight] = await highlightsOf(session, lost);
    assert.equal(highlight.text, FOUND_WORDS);
    assert.notEqual(highlight.anchorState, "lost");
  },

  "print has highlights and notes, and no controls": async (t) => {
    const { session, article } = t.data;
    const page = await t.open({ session });
    await page.goto(article.path);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    for (const control of [".read-bar", ".outline", ".read-end", ".note-edit"]) assert.ok(!(await page.locator(control).first().isVisible()), control);
    assert.ok(await page.getByRole("heading", { name: "Eleven minutes of mud" }).isVisible());
    assert.equal((await page.locator("#text mark.c-green").allInnerTexts()).join(""), "less like a floor");
    assert.ok(await page.locator(".sidenote > p.pre-line", { hasText: "In a different word." }).isVisible());
  },

  "a chosen preset moves the sliders to its measures": async (t) => {
    const session = await t.world.signUp();
    const saved = await savePage(session, PAGE);
    const page = await t.open({ session });
    await page.goto(saved.path);
    await page.getByRole("button", { name: "Type settings" }).click();
    await page.locator("#type .type-save").waitFor({ state: "hidden" });
    await page.locator("#type .p-large").click();
    const measures = await page.locator("#type [data-sets]").evaluateAll((sliders) => sliders.map((slider) => slider.value));
    assert.deepEqual(measures, ["1500", "158", "29"]);
  },

  "the list of highlights is filtered in place and exported": async (t) => {
    const { session } = t.data;
    const page = await t.open({ session });
    await page.goto("/highlights");
    await page.getByRole("link", { name: "Green", exact: true }).click();
    await page.waitForURL("**/highlights?color=green");
    assert.equal(await page.locator(".passage").count(), 1);
    await page.goBack();
    await page.locator(".passage").nth(1).waitFor();
    const answer = await page.request.get("/highlights.md?color=green");
    assert.match(await answer.text(), /> less like a floor/);
  },
};
