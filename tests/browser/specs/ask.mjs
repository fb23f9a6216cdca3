// Ask: an answer whose citations open beside it, saved as a note, deleted.
import assert from "node:assert/strict";
import { runProgram } from "../lib/program.mjs";

const SENTENCE = "The quagga of Artis died on the twelfth of August 1883.";
const QUESTION = "When did the quagga of Artis die?";

export async function setUp(world) {
  const session = await world.signUp("Ines Okafor");
  await session.save({ url: "https://artis.example/quagga", text: `Artis had many animals.\n\n${SENTENCE} It was the last of its kind.\n\nTea was served.`, title: "The quagga" });
  await session.until("/search?q=quagga", (found) => found.passageCount > 0);
  const { project } = await session.api("POST", "/projects", { name: "Animals" });
  const { thread } = await session.api("POST", "/threads", { question: QUESTION });
  const path = `/threads/${thread.threadId}`;
  await session.until(path, (shown) => shown.thread.questions[0].state === "answered");
  const free = await world.signUp();
  await runProgram("user", "set-plan", "--email", free.user.email, "--plan", "free");
  return { session, project, thread, free };
}

export function pages(world, { session, thread, free }) {
  return [
    { name: "new question", path: "/ask", session },
    { name: "answer", path: `/ask/${thread.threadId}`, session },
    { name: "source", path: `/ask/${thread.threadId}?c=1`, session },
    { name: "ask without answers in the plan", path: "/ask", session: free },
  ];
}

export const tests = {
  "a question is answered while the page waits": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/ask");
    await page.getByLabel("Your question").fill(QUESTION);
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/ask/*");
    await page.locator(".answer").getByText(SENTENCE).waitFor();
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), QUESTION);
  },

  "a plan without answers says so before one asks": async (t) => {
    const page = await t.open({ session: t.data.free });
    await page.goto("/ask");
    await page.getByText("Answers are not part of your plan.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Ask", exact: true }).isDisabled());
  },

  "a citation opens beside the answer and gives the focus back": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto(`/ask/${t.data.thread.threadId}`);
    const chip = page.locator(".answer a.cite").first();
    assert.equal(await chip.getAttribute("aria-label"), "Source 1");
    await chip.focus();
    await page.keyboard.press("Enter");
    const side = page.getByRole("complementary", { name: "Source 1" });
    await side.waitFor();
    assert.equal(await side.locator("mark.cited").innerText(), SENTENCE);
    assert.match(await side.innerText(), /Verified: the quote appears word for word/);
    assert.equal(await page.evaluate(() => document.activeElement.id), "side");
    await page.keyboard.press("Escape");
    await side.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.classList.contains("cite")), true);
  },

  "an answer is saved as a note and asked on without script": async (t) => {
    const page = await t.open({ session: t.data.session, script: false });
    await page.goto(`/ask/${t.data.thread.threadId}?c=1`);
    assert.equal(await page.locator("mark.cited").innerText(), SENTENCE);
    await page.getByText("Save as note").click();
    await page.follow(page.getByRole("button", { name: "Save the note" }));
    assert.match(await page.locator("#toast").innerText(), /Saved as the note/);
    const { notes } = await t.data.session.api("GET", `/projects/${t.data.project.id}/notes`);
    assert.match(notes[0].bodyMd, /\[1\]: http.*\/read\/.*\?at=/);
    await page.getByLabel("Ask a follow-up").fill("And of what?");
    await page.follow(page.getByRole("button", { name: "Ask", exact: true }));
    assert.equal(await page.locator(".turn").count(), 2);
  },

  "a question is deleted by a second press": async (t) => {
    const { thread } = await t.data.session.api("POST", "/threads", { question: QUESTION });
    const page = await t.open({ session: t.data.session });
    await page.goto(`/ask/${thread.threadId}`);
    await page.getByRole("button", { name: "More: new question, delete" }).click();
    await page.getByText("Delete this question").click();
    await page.getByText("The question and its answer cannot be restored.").waitFor();
    await page.getByRole("button", { name: "Delete for good" }).click();
    await page.locator("#toast").getByText("The question and its answer are deleted.").waitFor();
  },
};
