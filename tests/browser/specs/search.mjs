// Search: passages that open where they stand, operators, filters, empty states.
import assert from "node:assert/strict";

const TEXT = ["The harbour has a card.", "Nobody reads it in winter.", "The quagga of Artis died on the twelfth of August 1883."].join("\n\n");

export async function setUp(world) {
  const session = await world.signUp("Ines Okafor");
  await session.save({ url: "https://harbour.example/quagga", text: TEXT, title: "The harbour that kept its own time" });
  await session.save({ url: "https://mud.example/field", text: "A field guide to mud, part one.", title: "Mud", tags: ["mud"] });
  await session.until("/search?q=quagga", (found) => found.passageCount > 0);
  await session.until("/search?q=mud", (found) => found.passageCount > 0);
  return { session };
}

export function pages(world, { session }) {
  return [
    { name: "start", path: "/search", session },
    { name: "results", path: "/search?q=quagga", session },
    { name: "near", path: "/search?q=quagga&type=pdf", session },
    { name: "nothing", path: "/search?q=%22ropeway%20pulley%22", session },
    { name: "fault", path: "/search?q=mud+is%3Ablue", session },
  ];
}

export const tests = {
  "a passage names its paragraph and opens there": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/search");
    await page.getByRole("searchbox").fill("quagga");
    await page.keyboard.press("Enter");
    const place = page.locator("#results .place").first();
    await place.waitFor();
    assert.match(new URL(page.url()).search, /q=quagga/);
    assert.match(await place.innerText(), /^¶ \d+$/);
    assert.match(await place.getAttribute("href"), /^\/read\/[0-9a-f-]+\?at=\d+-\d+#at$/);
    assert.equal(await page.locator("#results mark").first().innerText(), "quagga");
  },

  "a filter is kept in the address and taken away again": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/search?q=mud");
    await page.locator("#facets").getByRole("link", { name: "Feeds", exact: true }).click();
    await page.waitForURL("**source=feeds**");
    await page.getByRole("heading", { name: "Nothing found for “mud”" }).waitFor();
    await page.locator("#results").getByRole("link", { name: "Clear the filters" }).first().click();
    await page.waitForURL((url) => !url.search.includes("source="));
    await page.locator("#results .place").first().waitFor();
  },

  "filters and operators are reached in a narrow window": async (t) => {
    const page = await t.open({ session: t.data.session, script: false, size: [800, 700] });
    await page.goto("/search?q=mud");
    await page.getByRole("link", { name: "Filter", exact: true }).click();
    const facets = page.locator("#facets");
    assert.ok(await facets.getByText("tag:tides").isVisible());
    await facets.getByRole("link", { name: "Feeds", exact: true }).click();
    await page.waitForURL("**source=feeds**");
  },

  "the keys of lists go to a document and open it": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/search?q=mud");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.innerText), "Mud");
    await page.keyboard.press("o");
    await page.waitForURL("**/read/**");
  },

  "a search without a result shows what is near, and leads there": async (t) => {
    const page = await t.open({ session: t.data.session });
    await page.goto("/search?q=quagga&type=pdf");
    const near = page.getByRole("region", { name: "Close matches" });
    assert.equal(await near.locator("mark").first().innerText(), "quagga");
    await near.getByRole("link", { name: "All of these" }).click();
    await page.waitForURL((url) => !url.search.includes("type="));
    await page.locator("#results .place").first().waitFor();
  },

  "an operator with a fault is named": async (t) => {
    const page = await t.open({ session: t.data.session, script: false });
    await page.goto("/search?q=mud+before:soon");
    assert.match(await page.getByRole("alert").innerText(), /before:soon/);
    await page.goto("/search?q=field+tag:mud");
    assert.equal(await page.locator(".hit").count(), 1);
  },
};
