// Whole ways through the app: on a phone by touch, and by keyboard alone. Each signs in, saves, reads, highlights, searches and opens, asks
// and opens a citation, and creates a key and sees its first use.
import assert from "node:assert/strict";
import { assertFits } from "../lib/checks.mjs";
import { callMcp } from "../lib/mcp.mjs";
import { selectWords } from "../lib/reading.mjs";
import { PASSWORD } from "../lib/world.mjs";

const SENTENCE = "The tide table for Skarnholm fits in a coat pocket, and it is sold at the ferry office.";
const RARE = "A capercaillie was seen on the breakwater once, in the winter of 1913.";
const QUESTION = "When was a capercaillie seen on the breakwater?";
const MAX_TABS = 80;

let journeys = 0;

/** An account that is not signed in, and the address of a page that is not saved. */
async function newcomer(t, title) {
  journeys += 1;
  const session = await t.world.signUp();
  await session.api("POST", "/onboarding/end", {});
  const paragraphs = [SENTENCE, SENTENCE.repeat(2), RARE, SENTENCE.repeat(3)];
  return { session, url: t.site.article(`/journeys/${journeys}`, title, paragraphs) };
}

/** Waits until the page is read and can be searched. */
async function waitForText(session) {
  await session.until("/library/bookmarks", (list) => list.bookmarks.some((it) => it.status === "ready"));
  await session.until("/search?q=capercaillie", (found) => found.passageCount > 0);
}

/** Presses Tab until an element that matches has the focus. */
async function tabTo(page, selector) {
  for (let count = 0; count < MAX_TABS; count += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  throw new Error(`Tab does not reach ${selector}`);
}

const highlightCount = async (session) => (await session.api("GET", "/highlights")).total;

/** Asserts that the page of a new key shows its first use when it happens. */
async function assertFirstUse(t, page) {
  const secret = await page.locator("#secret").innerText();
  assert.equal((await callMcp(t.base, secret, "tools/list")).status, 200);
  await page.locator("#first-call", { hasText: "Connected" }).waitFor({ timeout: 20_000 });
}

async function assertArrived(page) {
  await page.waitForURL(/[/]read[/]/);
  const place = page.locator("#at").first();
  await place.waitFor();
  const box = await place.boundingBox();
  assert.ok(box.y > 0 && box.y < page.viewportSize().height, JSON.stringify(box));
}

export const tests = {
  "the whole way on a phone, by touch": async (t) => {
    const { session, url } = await newcomer(t, "The phone harbour");
    const page = await t.open({ size: [360, 740], touch: true });
    await page.goto("/");
    await page.getByLabel("E-mail address").fill(session.user.email);
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).tap();
    await page.waitForURL(`${t.base}/`);

    await page.getByRole("banner").getByRole("link", { name: "Save something" }).tap();
    await page.getByRole("dialog").getByLabel("Addresses, one a line").fill(url);
    await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).tap();
    await page.locator("#toast", { hasText: "1 page saved" }).waitFor();
    await waitForText(session);

    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Library" }).tap();
    await page.getByRole("link", { name: "The phone harbour" }).tap();
    await page.waitForURL("**/read/**");
    await assertFits(page, "the reader");
    assert.ok(await selectWords(page, "coat pocket"));
    const bar = page.getByRole("toolbar");
    const box = await bar.boundingBox();
    assert.ok(box.y + box.height > 735, `the bar is at the foot of the window: ${JSON.stringify(box)}`);
    await bar.getByRole("button", { name: /^Green/ }).tap();
    await page.locator(".sidenote").waitFor({ state: "attached" });
    assert.equal(await highlightCount(session), 1);
    await page.getByRole("link", { name: /^Highlights/ }).first().tap();
    await page.locator("#notes.is-open").waitFor();
    assert.match(await page.locator(".sidenote").innerText(), /coat pocket/);
    await page.keyboard.press("Escape");

    await page.getByRole("link", { name: "Back to the library (u)" }).tap();
    await page.getByRole("banner").getByRole("link", { name: "Search" }).tap();
    await page.getByRole("searchbox").fill("capercaillie");
    await page.getByRole("button", { name: "Search", exact: true }).tap();
    const place = page.locator("#results .place").first();
    await place.waitFor();
    await assertFits(page, "the results");
    await place.tap();
    await assertArrived(page);

    await page.getByRole("link", { name: "Back to the library (u)" }).tap();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Ask" }).tap();
    await page.getByLabel("Your question").fill(QUESTION);
    await page.getByRole("button", { name: "Ask", exact: true }).tap();
    await page.waitForURL("**/ask/*");
    await page.locator(".answer", { hasText: RARE }).waitFor();
    await page.locator(".answer a.cite").first().tap();
    const side = page.getByRole("complementary", { name: "Source 1" });
    await side.waitFor();
    await assertFits(page, "the source of an answer");
    await side.getByRole("link", { name: /^Open at/ }).tap();
    await assertArrived(page);

    await page.getByRole("link", { name: "Back to the library (u)" }).tap();
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "More" }).tap();
    await page.getByRole("link", { name: "Settings" }).tap();
    await page.getByRole("link", { name: "API keys" }).tap();
    await page.getByRole("link", { name: "New key" }).first().tap();
    await page.getByLabel("Name").fill("Pocket assistant");
    await page.getByRole("button", { name: "Create the key" }).tap();
    await assertFirstUse(t, page);
    await assertFits(page, "the secret of a key");
  },

  "the whole way by keyboard alone": async (t) => {
    const { session, url } = await newcomer(t, "The keyboard harbour");
    const page = await t.open();
    await page.goto("/");
    await page.keyboard.type(session.user.email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${t.base}/`);

    await page.keyboard.press("n");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type(url);
    await page.keyboard.press("Control+Enter");
    await page.locator("#toast", { hasText: "1 page saved" }).waitFor();
    await waitForText(session);

    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.waitForURL("**/library");
    await page.locator(".row .title", { hasText: "The keyboard harbour" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/read/**");
    await page.keyboard.press("s");
    await page.locator("#text[role=application]").waitFor();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("h");
    await page.locator(".sidenote").waitFor({ state: "attached" });
    assert.equal(await highlightCount(session), 1);

    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.waitForURL("**/search");
    await page.keyboard.type("capercaillie");
    await page.keyboard.press("Enter");
    await page.locator("#results .place").first().waitFor();
    await tabTo(page, "#results .place");
    await page.keyboard.press("Enter");
    await assertArrived(page);

    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.waitForURL("**/ask");
    await page.locator("#question:focus").waitFor();
    await page.keyboard.type(QUESTION);
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/ask/*");
    await page.locator(".answer", { hasText: RARE }).waitFor();
    await page.keyboard.press("]");
    await page.locator("#side:focus").waitFor();
    await tabTo(page, "#side footer .btn-main");
    await page.keyboard.press("Enter");
    await assertArrived(page);

    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.waitForURL("**/settings");
    await tabTo(page, 'main a[href="/settings/keys"]');
    await page.keyboard.press("Enter");
    await page.waitForURL("**/settings/keys");
    await tabTo(page, 'a[href="/settings/keys/new"]');
    await page.keyboard.press("Enter");
    await page.waitForURL("**/settings/keys/new");
    await page.locator("#f-name:focus").waitFor();
    await page.keyboard.type("Desk assistant");
    await page.keyboard.press("Enter");
    await assertFirstUse(t, page);
  },
};
