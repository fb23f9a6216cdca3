// Projects: what they hold, what an assistant gets of them, and that archived ones do not change.
import assert from "node:assert/strict";

export async function setUp(world) {
  const session = await world.signUp("Ines Okafor");
  const { project } = await session.api("POST", "/projects", { name: "Harbour book", description: "A short book on one small port.", instructions: "Write in plain English." });
  const path = `/projects/${project.id}`;
  const { decision } = await session.api("POST", `${path}/decisions`, { title: "The book ends in 1974", body: "No afterword.", status: "decided" });
  await session.api("POST", `${path}/decisions`, { title: "Skarnholm keeps its spelling" });
  await session.api("POST", `${path}/notes`, { title: "The order of chapters", bodyMd: "One, two.", pinned: true });
  const items = Array.from({ length: 60 }, (_, n) => ({ url: `https://harbour.example/${"a-long-address-".repeat(8)}/${n}` }));
  await session.api("POST", `/library${path}/items`, { items });
  const old = await session.api("POST", "/projects", { name: "Old book", status: "archived" });
  return { session, project, decision, old: old.project };
}

/** Opens the form of a new decision over the page. */
async function openDecisionForm(page) {
  await page.locator('a[data-dialog][href$="/decisions/new"]').click();
  await page.locator("dialog[open] #f-title").waitFor();
}

export function pages(world, { session, project, decision, old }) {
  return [
    { name: "list", path: "/projects", session },
    { name: "new", path: "/projects/new", session },
    { name: "project", path: `/projects/${project.id}`, session },
    { name: "sources", path: `/projects/${project.id}?part=sources&max=32000`, session },
    { name: "notes", path: `/projects/${project.id}?part=notes`, session },
    { name: "archived", path: `/projects/${old.id}`, session },
    { name: "edit", path: `/projects/${project.id}/edit`, session },
    { name: "decision", path: `/projects/${project.id}/decisions/${decision.id}`, session },
    { name: "dialog of a new decision", path: `/projects/${project.id}?part=decisions`, session, prepare: openDecisionForm },
    { name: "new source", path: `/projects/${project.id}/sources/new`, session },
  ];
}

export const tests = {
  "the meter says what the context has, at both sizes": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto(`/projects/${t.data.project.id}`);
    for (const max of [16000, 32000]) {
      const size = await t.data.session.api("GET", `/projects/${t.data.project.id}/context-size?maxChars=${max}`);
      await page.locator("#meter").getByRole("link", { name: max.toLocaleString("en") }).click();
      await page.locator("#meter .meter-sum", { hasText: `of ${max.toLocaleString("en")}` }).waitFor();
      assert.match(await page.locator("#meter .meter-sum").innerText(), new RegExp(`^${size.chars.toLocaleString("en")} of`));
    }
  },

  "the cut stands between the right two sources": async (t) => {
    const page = await t.open({ session: t.data.session, script: false });
    const size = await t.data.session.api("GET", `/projects/${t.data.project.id}/context-size`);
    assert.ok(size.sources.given < 60);
    await page.goto(`/projects/${t.data.project.id}?part=sources`);
    const rows = await page.locator(".srcs > li").evaluateAll((all) => all.map((row) => row.className));
    assert.equal(rows.indexOf("cutline"), size.sources.given);
    assert.equal(rows.filter((name) => name.includes("is-cut")).length, 60 - size.sources.given);
  },

  "a project is made, gets a decision and a note, without script": async (t) => {
    const page = await t.open({ session: t.data.session, script: false });
    await page.goto("/projects/new");
    await page.getByLabel("Name").fill("Tide tables");
    await page.getByRole("button", { name: "Create the project" }).click();
    await page.getByRole("heading", { level: 1, name: "Tide tables" }).waitFor();
    const path = new URL(page.url()).pathname;
    await page.goto(`${path}/decisions/new`);
    await page.getByLabel("What was decided").fill("No formulas");
    await page.follow(page.getByRole("button", { name: "Record the decision" }));
    await page.goto(`${path}/notes/new`);
    await page.getByLabel("Title").fill("Glossary");
    await page.getByLabel("Text, as Markdown").fill("Springs and neaps.");
    await page.follow(page.getByRole("button", { name: "Add the note" }));
    assert.equal(await page.getByText("No formulas").count(), 1);
    assert.equal(await page.getByText("Glossary").count(), 1);
  },

  "a note is deleted by a second press": async (t) => {
    const { session, project } = t.data;
    const { note } = await session.api("POST", `/projects/${project.id}/notes`, { title: "Left over", bodyMd: "Old." });
    const page = await t.open({ session, script: false });
    await page.goto(`/projects/${project.id}/notes/${note.noteId}`);
    const button = page.locator("form[action$='/delete'] button");
    assert.equal(await button.isVisible(), false);
    await page.locator("summary", { hasText: "Delete" }).click();
    await page.follow(button);
    assert.match(await page.locator("#toast").innerText(), /The note is deleted/);
  },

  "an archived project has no forms but the one that makes it active": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto(`/projects/${t.data.old.id}`);
    assert.equal(await page.getByText("This project is archived.").count(), 1);
    assert.equal(await page.getByRole("link", { name: "Add", exact: true }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Make it active again" }).count(), 1);
  },
};
