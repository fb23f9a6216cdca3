// The library: filters in the address, selection over pages with undo, row states, saving, tags and collections.
import assert from "node:assert/strict";

const LONG_TITLE = `A title without an end ${"of the longest of all harbours ".repeat(8)}`;
const HOSTILE_TITLE = "</h3><script>alert(1)</script>\u202eyrots";

export async function setUp(world) {
  const session = await world.signUp();
  const empty = await world.signUp("Empty");
  const text = "A text of a few words about tides and mud.";
  const shelf = (await session.api("POST", "/library/collections", { name: "Winter reading", description: "For the dark months" })).collection;
  await session.api("POST", "/library/collections", { name: "مجموعة الشتاء", parentId: shelf.collectionId });
  await session.save({ url: "https://slackwater.example/own-time", title: "The harbour that kept its own time", tags: ["tides", "harbours"], text, favorite: true, collectionIds: [shelf.collectionId] });
  await session.save({ url: "https://slackwater.example/mud", title: "A field guide to mud", tags: ["mud"], text, savedAt: "2026-02-01T12:00:00Z" });
  await session.save({ url: "https://wide.example/long", title: LONG_TITLE, tags: ["harbour", "ein sehr langes Schlagwort ohne Ende".repeat(2)], text });
  await session.save({ url: "https://rtl.example/", title: "الميناء الذي حافظ على وقته", tags: ["مد"], text });
  await session.save({ url: "https://cjk.example/", title: "潮の満ち引きと港の時計", text });
  await session.save({ url: "https://hostile.example/", title: HOSTILE_TITLE, text });
  const started = (await session.save({ url: "https://started.example/", title: "Begun on Monday", text })).bookmark;
  await session.api("PATCH", `/library/bookmarks/${started.bookmarkId}`, { progress: 0.4 });
  const gone = (await session.save({ url: "https://gone.example/", title: "Deleted by mistake", text })).bookmark;
  await session.api("DELETE", `/library/bookmarks/${gone.bookmarkId}`);
  const search = (await session.api("POST", "/saved-searches", { name: "To read", query: "is:unread", isPinned: true })).savedSearch;
  return { session, empty, shelf, search, started };
}

/** Selects the first row by its key, and goes on to what asks for the tag or the collection. */
const selectFirst = (key, field) => async (page) => {
  await page.keyboard.press("j");
  await page.keyboard.press(key);
  await page.waitForURL("**/library/bulk");
  await page.locator(field).waitFor();
};

export function pages(world, { session, empty, shelf, search, started }) {
  const own = [
    ["library", "/library"], ["library cards", "/library?view=cards"], ["library titles", "/library?view=titles&sort=title"],
    ["library filtered", "/library?state=unread&tag=tides"], ["library nothing", "/library?type=video"], ["trash", "/library/trash"],
    ["paste", `/library/paste/${started.bookmarkId}`], ["edit", `/library/edit/${started.bookmarkId}`], ["collections", "/collections"], ["collection", `/collections/${shelf.collectionId}`],
    ["edit collection", `/collections/${shelf.collectionId}/edit`], ["tags", "/tags"], ["saved searches", "/saved-searches"],
    ["save a search", "/saved-searches/new?q=is:unread"], ["edit a search", `/saved-searches/${search.savedSearchId}`],
    ["add", "/add"], ["add shared", "/add?text=https%3A%2F%2Fslackwater.example%2Fown-time"], ["add note", "/add?what=note"],
    ["add files", "/add?what=files"], ["help search", "/help/search"],
  ];
  return [
    ...own.map(([name, path]) => ({ name, path, session })),
    { name: "library fault", path: "/library?q=is:gone", session, status: 422 },
    { name: "tag of a selection", path: "/library", session, prepare: selectFirst("t", "#f-tag") },
    { name: "collection of a selection", path: "/library", session, prepare: selectFirst("c", "#f-to") },
    ...["/library", "/library/trash", "/collections", "/tags", "/saved-searches"].map((path) => ({ name: `empty ${path.slice(1)}`, path, session: empty })),
  ];
}

/** The titles that a page of the library shows. */
const titles = (page) => page.locator("#library-results .title").allInnerTexts();

/** Saves pages with these titles for a new account. */
async function withPages(world, names) {
  const session = await world.signUp();
  for (const [index, title] of names.entries()) {
    await session.save({ url: `https://pages.example/${index}`, title, text: "Words.", savedAt: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString() });
  }
  return session;
}

export const tests = {
  "a filter is in the address, and back and reload keep it": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/library");
    await page.getByRole("complementary").getByRole("link", { name: /^tides/ }).click();
    await page.waitForURL("**/library?tag=tides");
    assert.deepEqual(await titles(page), ["The harbour that kept its own time"]);
    await page.reload();
    assert.deepEqual(await titles(page), ["The harbour that kept its own time"]);
    await page.getByRole("link", { name: "tides, remove" }).click();
    await page.waitForURL("**/library");
    await page.goBack();
    await page.waitForURL("**/library?tag=tides");
    await page.getByRole("link", { name: "tides, remove" }).waitFor();
  },

  "the box takes the query language and names a fault": async (t) => {
    const page = await t.open({ session: t.data.session });
    page.expectStatus(422);
    await page.goto("/library");
    await page.getByRole("searchbox").fill("tag:mud or -is:unread");
    await page.keyboard.press("Enter");
    await page.waitForURL("**q=tag**");
    assert.deepEqual(await titles(page), ["A field guide to mud"]);
    await page.getByRole("searchbox").fill("mud is:gone");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").innerText(), /character 8/);
  },

  "a selection over two pages is archived and undone": async (t) => {
    const session = await withPages(t.world, Array.from({ length: 55 }, (_, number) => `Page ${number}`));
    const page = await t.open({ session });
    await page.goto("/library");
    await page.getByRole("checkbox", { name: "Select “Page 54”" }).check();
    await page.getByRole("link", { name: "Next page" }).click();
    await page.getByRole("checkbox", { name: "Select “Page 2”" }).check();
    await page.getByText("2 selected").waitFor();
    await page.getByRole("button", { name: "Archive (e)" }).click();
    await page.locator("#toast").getByText("2 archived").waitFor();
    assert.equal((await session.api("GET", "/library/bookmarks?archived=true")).bookmarks.length, 2);
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await session.until("/library/bookmarks?archived=true", (answer) => answer.bookmarks.length === 0);
  },

  "everything that a filter matches is selected at once": async (t) => {
    const session = await withPages(t.world, ["Heron one", "Heron two", "Gull"]);
    const page = await t.open({ session });
    await page.goto("/library?q=heron");
    await page.getByRole("checkbox", { name: "Select “Heron one”" }).check();
    await page.getByRole("checkbox", { name: "All 2" }).check();
    await page.getByRole("button", { name: "Delete (#)" }).click();
    await page.locator("#toast").getByText("2 deleted").waitFor();
    assert.deepEqual((await session.api("GET", "/library/bookmarks")).bookmarks.map((row) => row.title), ["Gull"]);
  },

  "rows are selected and archived by keyboard alone": async (t) => {
    const session = await withPages(t.world, ["First", "Second", "Third"]);
    const page = await t.open({ session });
    await page.goto("/library");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("Shift+J");
    await page.getByText("2 selected").waitFor();
    await page.keyboard.press("e");
    await page.locator("#toast").getByText("2 archived").waitFor();
    assert.notEqual(await page.evaluate(() => document.activeElement.localName), "body");
    await page.keyboard.press("z");
    await session.until("/library/bookmarks?archived=true", (answer) => answer.bookmarks.length === 0);
    await page.getByRole("checkbox", { name: "Select “First”" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("o");
    await page.waitForURL("**/read/**");
  },

  "a refused change is sent once, and keeps the page and the selection": async (t) => {
    const session = await withPages(t.world, ["Only one"]);
    const page = await t.open({ session });
    page.expectStatus(503);
    await page.goto("/library");
    let sent = 0;
    const toast = '<div class="toast" id="toast" role="status"><span>The server is busy.</span></div>';
    await page.route("**/library/bulk", (route) => {
      sent += 1;
      return route.fulfill({ status: 503, headers: { "Retry-After": "1" }, contentType: "text/html; charset=utf-8", body: toast });
    });
    await page.getByRole("checkbox", { name: "Select “Only one”" }).check();
    await page.getByRole("button", { name: "Archive (e)" }).click();
    await page.locator("#toast", { hasText: "The server is busy." }).waitFor();
    await page.waitForTimeout(1500);
    assert.equal(sent, 1);
    assert.equal(new URL(page.url()).pathname, "/library");

    await page.unroute("**/library/bulk");
    await page.reload();
    await page.getByText("1 selected").waitFor();
    await page.getByRole("button", { name: "Archive (e)" }).click();
    await page.locator("#toast").getByText("1 archived").waitFor();
    await page.reload();
    assert.equal(await page.getByText("1 selected").count(), 0);
  },

  "a list that asks for itself leaves the focus and what is typed": async (t) => {
    const session = await withPages(t.world, ["Only one"]);
    const page = await t.open({ session });
    await page.route("**/library", async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('id="library-results"', 'id="library-results" data-live="1"');
      await route.fulfill({ response, body });
    });
    const answered = () => page.waitForResponse((response) => response.request().resourceType() === "fetch" && response.url().endsWith("/library"));
    await page.goto("/library");
    const title = page.getByRole("link", { name: "Only one" });
    await title.focus();
    await page.locator("#library-results").evaluate((list) => { list.dataset.old = ""; });
    await answered();
    await answered();
    assert.equal(await title.evaluate((link) => link === document.activeElement), true);
    // What was left out comes as soon as the row is left.
    await title.evaluate((link) => link.blur());
    await page.locator("#library-results:not([data-old])").waitFor();

    await page.reload();
    await page.getByRole("searchbox").fill("her");
    await answered();
    await answered();
    assert.equal(await page.getByRole("searchbox").inputValue(), "her");
  },

  "a tag is added to a selection by form without script": async (t) => {
    const session = await withPages(t.world, ["Only one"]);
    const page = await t.open({ session, script: false });
    await page.goto("/library");
    await page.getByRole("checkbox", { name: "Select “Only one”" }).check();
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await page.getByLabel("Tag").fill("tides");
    await page.getByRole("button", { name: "Add the tag" }).click();
    await page.waitForURL("**/library?done=**");
    await page.locator("#library-results").getByRole("link", { name: "tides" }).waitFor();
  },

  "saving says which addresses are new, known and refused": async (t) => {
    const session = await t.world.signUp();
    await session.save({ url: "https://known.example/", title: "Known before", text: "Words." });
    const page = await t.open({ session });
    await page.goto("/add");
    await page.getByLabel("Addresses, one a line").fill("https://known.example/\nhttp://192.168.1.20/manual");
    await page.locator("#add-found").getByText("saved already").waitFor();
    await page.locator("#add-found").getByText("refused").waitFor();
    const address = t.site.article("/tides", "Tides", ["The sea comes and goes twice a day, and the mud shines between."]);
    assert.ok(address);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("#add-found").getByText("refused").waitFor();
  },

  "a failed page shows its reason and is tried again": async (t) => {
    const session = await t.world.signUp();
    const { bookmark } = await session.save({ url: t.site.fail("/refused", 401) });
    await session.until(`/library/bookmarks/${bookmark.bookmarkId}`, (answer) => answer.bookmark.status === "failed", 60);
    const page = await t.open({ session });
    await page.goto("/library");
    const row = page.locator(`#b-${bookmark.bookmarkId}`);
    assert.match(await row.innerText(), /401|sign/i);
    for (const view of ["titles", "cards"]) {
      await page.goto(`/library?view=${view}`);
      await row.getByRole("button", { name: "Try again" }).waitFor();
    }
    await page.goto("/library");
    await row.getByRole("link", { name: "Paste the page" }).click();
    await page.getByLabel("Text or source of the page").fill("The text that the server could not fetch.");
    await page.getByRole("button", { name: "Save the text" }).click();
    await session.until(`/library/bookmarks/${bookmark.bookmarkId}`, (answer) => answer.bookmark.status === "ready", 60);
    await page.goto("/library");
    assert.equal(await row.getByRole("link", { name: "Paste the page" }).count(), 0);
  },

  "a file that cannot be read is refused before it is sent": async (t) => {
    const page = await t.open({ session: t.data.empty });
    const sent = [];
    page.on("request", (request) => { if (request.method() === "POST") sent.push(request.url()); });
    await page.goto("/add?what=files");
    await page.getByLabel("Drop files here").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no") });
    await page.getByText("This kind of file cannot be read.").waitFor();
    assert.deepEqual(sent, []);
  },

  "tags are merged and put back": async (t) => {
    const session = await t.world.signUp();
    await session.save({ url: "https://a.example/", tags: ["harbour", "mud"], text: "Words." });
    await session.save({ url: "https://b.example/", tags: ["harbours"], text: "Words." });
    const page = await t.open({ session });
    await page.goto("/tags?sort=name");
    await page.keyboard.press("k");
    await page.keyboard.press("k");
    await page.keyboard.press("k");
    await page.keyboard.press("x");
    assert.ok(await page.getByRole("checkbox", { name: "Select harbour", exact: true }).isChecked());
    await page.goto("/tags");
    await page.getByRole("checkbox", { name: "Select mud" }).check();
    await page.getByRole("checkbox", { name: "Select harbours" }).check();
    await page.getByLabel("New name").fill("shore");
    await page.getByRole("button", { name: "Rename or merge" }).click();
    await page.getByRole("link", { name: "shore" }).waitFor();
    await page.locator("#toast").getByRole("button", { name: "Undo" }).click();
    await page.getByRole("link", { name: "mud" }).waitFor();
    assert.equal((await session.api("GET", "/tags?q=shore")).tags.length, 0);
  },

  "a view is saved and stands in the sidebar": async (t) => {
    const session = await withPages(t.world, ["Only one"]);
    const page = await t.open({ session });
    await page.goto("/library?state=unread");
    await page.getByRole("link", { name: "Save this view" }).click();
    await page.getByLabel("Name").fill("Unread ones");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("navigation", { name: "Carrel" }).getByRole("link", { name: "Unread ones" }).waitFor();
  },
};
