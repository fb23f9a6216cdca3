// Uploads by drop and by form, imports with preview, start and undo, and exports.
import assert from "node:assert/strict";
import { pdf } from "../lib/files.mjs";

const BOOKMARKS = '<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><A HREF="https://example.org/heron">Herons</A><DT><A HREF="javascript:0">No address</A></DL>';

const MORE_BOOKMARKS = BOOKMARKS.replace("</DL>", '<DT><A HREF="https://example.org/gull">Gulls</A></DL>');

/** Sends a file of bookmarks for a preview. Returns the path of the import, once it is read. */
async function stageImport(session, text) {
  const form = new FormData();
  form.set("dryRun", "true");
  form.set("file", new Blob([text], { type: "text/html" }), "bookmarks.html");
  const headers = { Cookie: `${session.cookie.name}=${session.cookie.value}` };
  const answer = await (await fetch(`${session.world.base}/app/api/imports`, { method: "POST", headers, body: form })).json();
  if (!answer.data) throw new Error(`POST /imports: ${JSON.stringify(answer.error)}`);
  const path = `/imports/${answer.data.import.id}`;
  await session.until(path, (it) => it.import.status === "checked");
  return path;
}

export async function setUp(world) {
  const session = await world.signUp("Mara");
  const done = await stageImport(session, BOOKMARKS);
  await session.api("POST", `${done}/start`, {});
  await session.until(done, (it) => it.import.status === "done");
  return { session, done, preview: await stageImport(session, MORE_BOOKMARKS) };
}

export const pages = (world, { session, done, preview }) => [
  { name: "import preview", path: preview, session },
  { name: "import done", path: done, session },
  { name: "uploads", path: "/uploads", session },
  { name: "uploads failed", path: "/uploads?stage=failed", session },
  { name: "import", path: "/imports/new", session },
  { name: "exports", path: "/exports", session },
];

const file = { name: "bookmarks.html", mimeType: "text/html", buffer: Buffer.from(BOOKMARKS) };

export const tests = {
  "an import is previewed, started and undone": async (t) => {
    const session = await t.world.signUp("Importer");
    const page = await t.open({ session });
    await page.goto("/imports/new");
    await page.getByLabel("File").setInputFiles(file);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("button", { name: "Import one row" }).waitFor();
    assert.equal((await session.api("GET", "/library/bookmarks")).bookmarks.length, 0);
    await page.getByRole("button", { name: "Import one row" }).click();
    await page.getByRole("button", { name: "Undo the import" }).waitFor();
    assert.equal((await session.api("GET", "/library/bookmarks")).bookmarks.length, 1);
    await page.getByRole("link", { name: "Skipped", exact: true }).click();
    await page.getByRole("region", { name: "Rows of the file" }).waitFor();
    await page.getByRole("button", { name: "Undo the import" }).click();
    await page.getByText("This import was undone.").waitFor();
    assert.equal((await session.api("GET", "/library/bookmarks")).bookmarks.length, 0);
  },

  "the steps and filters of an import fit a phone in German": async (t) => {
    const page = await t.open({ session: t.data.session, size: [360, 740], language: "de-DE" });
    await page.goto(t.data.done);
    assert.equal(await page.locator(".stages").getByText("Bericht").count(), 1);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    assert.ok(await page.locator("#rows > .tabs").evaluate((tabs) => tabs.scrollWidth <= tabs.clientWidth));
  },

  "a file is imported without script": async (t) => {
    const session = await t.world.signUp("Plain");
    const page = await t.open({ session, script: false });
    await page.goto("/imports/new");
    await page.getByLabel("File").setInputFiles(file);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/);
    const path = new URL(page.url()).pathname.replace("/imports/", "");
    await session.until(`/imports/${path}`, (it) => it.import.status === "checked");
    await page.reload();
    await page.getByRole("button", { name: "Import one row" }).click();
    await session.until(`/imports/${path}`, (it) => it.import.status === "done");
  },

  "a chosen file is uploaded with its state, and a wrong one is refused before it is sent": async (t) => {
    const session = await t.world.signUp("Uploader");
    const page = await t.open({ session });
    await page.goto("/uploads");
    await page.getByLabel("Choose files").setInputFiles([
      { name: "birds.pdf", mimeType: "application/pdf", buffer: pdf([["The heron stands."]]) },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no") },
      { name: "empty.pdf", mimeType: "application/pdf", buffer: Buffer.alloc(0) },
    ]);
    await page.getByText("Only PDFs, audio and video").waitFor();
    await page.getByText("This file is empty.").waitFor();
    await session.until("/uploads", (it) => it.uploads[0]?.status === "ready");
    await page.reload();
    await page.getByRole("link", { name: "birds" }).first().click();
    await page.getByRole("heading", { level: 1 }).waitFor();
  },

  "a file that waits for others is stopped": async (t) => {
    const session = await t.world.signUp("Stopper");
    const page = await t.open({ session });
    // The first two are announced, and never answered.
    await page.route("**/app/api/library/uploads", () => {});
    await page.goto("/uploads");
    const files = ["one", "two", "three"].map((name) => ({ name: `${name}.pdf`, mimeType: "application/pdf", buffer: pdf([[name]]) }));
    await page.getByLabel("Choose files").setInputFiles(files);
    const row = page.getByRole("article").filter({ hasText: "three.pdf" });
    await row.getByRole("button", { name: "Stop" }).click();
    await row.getByText("stopped").waitFor();
  },

  "a file is uploaded without script": async (t) => {
    const session = await t.world.signUp("Form");
    const page = await t.open({ session, script: false });
    await page.goto("/uploads");
    await page.getByLabel("Choose files").setInputFiles({ name: "birds.pdf", mimeType: "application/pdf", buffer: pdf([["The heron stands."]]) });
    await page.getByRole("button", { name: "Upload", exact: true }).click();
    await page.getByText("The file is uploaded.").waitFor();
  },

  "an export is packed and offered": async (t) => {
    const session = await t.world.signUp("Exporter");
    const page = await t.open({ session });
    await page.goto("/exports");
    await page.getByRole("button", { name: "Export everything" }).click();
    await page.getByRole("link", { name: /Export of/ }).waitFor();
  },
};
