// What holds on every page, in each theme and width.
import { readFile } from "node:fs/promises";
import { newPage, resolve } from "./browser.mjs";

const NARROW = [360, 740];
const SIZES = [[1280, 900], NARROW];
// The rules of axe that depend on the theme.
const COLOR_RULES = ["color-contrast", "link-in-text-block"];
const MAX_ASSET_BYTES = 100_000;
const axeSource = await readFile(resolve("axe-core/axe.min.js"), "utf8");

/** Loads the page of a spec: until its load event, or until `state`. */
export async function visit(page, { path, status = 200 }, state = "load") {
  const response = await page.goto(path, { waitUntil: state });
  if (response.status() !== status) throw new Error(`${path}: status ${response.status()}`);
}

/** Checks a page in all themes and widths, and that it shows its contents without script. */
export async function checkPage(world, spec) {
  for (const size of SIZES) {
    const page = await newPage(world, { session: spec.session, size });
    if (spec.status) page.expectStatus(spec.status);
    try {
      await checkWidth(page, spec, size);
      page.assertQuiet();
    } finally {
      await page.context().close();
    }
  }
}

/** Checks a page in one width: the first also counts what is loaded, the narrow one also has long words and no script. */
async function checkWidth(page, spec, size) {
  const at = `${spec.path}, ${size[0]} px`;
  const isNarrow = size === NARROW;
  const assets = collectAssetUrls(page);
  // Modules for elements of the page are fetched by others, which may be after its load event.
  await visit(page, spec, isNarrow ? "load" : "networkidle");
  if (!isNarrow) await assertLight(page, assets, spec.path);
  await spec.prepare?.(page);
  await assertFits(page, at);
  await assertStructure(page, at);
  await assertAccessible(page, at);
  // The other theme has the same elements in other colours.
  await page.emulateMedia({ colorScheme: "dark" });
  await page.evaluate(() => Promise.all(document.getAnimations().map((it) => it.finished)).then(() => true));
  await assertAccessible(page, `${at}, dark`, COLOR_RULES);
  if (!isNarrow) {
    if (!spec.prepare) await assertStatic(page, at);
    return;
  }
  await page.setExtraHTTPHeaders({ "Accept-Language": "xx" });
  await visit(page, spec);
  await spec.prepare?.(page);
  await assertFits(page, `${at}, with long words`);
  if (!spec.prepare) await assertShownWithoutScript(page, spec);
}

/** Asserts that a page shows its contents without script. */
async function assertShownWithoutScript(page, spec) {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setScriptExecutionDisabled", { value: true });
  await visit(page, spec);
  const text = await page.locator("main").innerText();
  if (!text.trim()) throw new Error(`${spec.path}: empty without script`);
}

/** Returns the addresses of own styles, scripts, icons and fonts, which grow while a page loads. */
function collectAssetUrls(page) {
  const urls = new Set();
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    // Requests to other hosts fail the page anyway.
    if (/\.(css|js|svg|woff2?)$/.test(pathname)) urls.add(request.url());
  });
  return urls;
}

const bytesOfAssets = new Map();

/** Returns the bytes of an asset, uncompressed. */
async function bytesOf(page, url) {
  if (!bytesOfAssets.has(url)) bytesOfAssets.set(url, (await (await page.context().request.get(url)).body()).length);
  return bytesOfAssets.get(url);
}

/** Asserts that a page loaded few bytes of assets before anything was done on it. */
async function assertLight(page, assets, path) {
  const files = await Promise.all([...assets].map(async (url) => [url, await bytesOf(page, url)]));
  const total = files.reduce((sum, [, bytes]) => sum + bytes, 0);
  if (total >= MAX_ASSET_BYTES) throw new Error(`${path}: ${total} bytes of assets\n${files.map(([url, bytes]) => `  ${bytes} ${url}`).join("\n")}`);
}

/** Asserts that axe finds nothing by these rules, or by all of its defaults. */
export async function assertAccessible(page, at, rules) {
  // In the main world, past the policy: the tool is not part of the page.
  const session = await page.context().newCDPSession(page);
  const { result: type } = await session.send("Runtime.evaluate", { expression: "typeof axe" });
  if (type.value === "undefined") await session.send("Runtime.evaluate", { expression: axeSource });
  const options = { resultTypes: ["violations"], ...(rules && { runOnly: { type: "rule", values: rules } }) };
  const { result } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, ${JSON.stringify(options)}).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html + ' ' + (n.failureSummary ?? ''))])))`,
    awaitPromise: true, returnByValue: true,
  });
  const violations = JSON.parse(result.value ?? "[[\"axe\", \"did not run\", []]]");
  if (violations.length) throw new Error(`${at}: ${violations.map(([id, help, nodes]) => `${id}: ${help}\n  ${nodes.slice(0, 5).join("\n  ")}`).join("\n")}`);
}

/** Asserts that nothing is wider than the window. */
export async function assertFits(page, at) {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return null;
    const outside = [...document.querySelectorAll("body *")].filter((it) => it.getBoundingClientRect().right > width + 1);
    return outside.slice(0, 5).map((it) => it.outerHTML.slice(0, 160)).join("\n  ") || "the document";
  });
  if (wide) throw new Error(`${at}: wider than the window:\n  ${wide}`);
}

/** Asserts that the page as it is sent has neither inline style nor inline script. */
export async function assertStatic(page, at) {
  // Not by a script of the page: the policy of a page without scripts forbids requests.
  const answer = await page.context().request.get(page.url(), { headers: { Accept: "text/html" } });
  const html = await answer.text();
  for (const inline of [/\sstyle=/i, /<style/i, /<script(?![^>]*\ssrc=)/i, /\son[a-z]+="/i, /=\s*["']?\s*javascript:(?!void\(open\()/i]) {
    const found = inline.exec(html);
    if (found) throw new Error(`${at}: ${html.slice(Math.max(0, found.index - 60), found.index + 100)}`);
  }
}

/** Asserts landmarks, one heading of the first rank, and a title. */
export async function assertStructure(page, at) {
  const found = await page.evaluate(() => ({
    mains: document.querySelectorAll("main").length,
    headings: [...document.querySelectorAll("h1")].filter((it) => !it.closest("dialog")).length,
    title: document.title, lang: document.documentElement.lang,
    ids: [...document.querySelectorAll("[id]")].map((it) => it.id).filter((id, index, all) => all.indexOf(id) !== index),
  }));
  if (found.mains !== 1 || found.headings !== 1 || found.ids.length || !found.lang || !/ – Carrel$/.test(found.title)) throw new Error(`${at}: ${JSON.stringify(found)}`);
}
