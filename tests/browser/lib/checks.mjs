// What holds on every page, in each theme and width.
import { readFile } from "node:fs/promises";
import { newPage, resolve } from "./browser.mjs";

const SIZES = [[360, 740], [1280, 900]];
const SCHEMES = ["light", "dark"];
const MAX_ASSET_BYTES = 100_000;
const axeSource = await readFile(resolve("axe-core/axe.min.js"), "utf8");

/** Opens a page of a spec: its address, and what it does to get the state that is shown. */
export async function openPage(world, { path, session, prepare, status = 200 }, options) {
  const page = await newPage(world, { session, ...options });
  if (status !== 200) page.expectStatus(status);
  const response = await page.goto(path, { waitUntil: "load" });
  if (response.status() !== status) throw new Error(`${path}: status ${response.status()}`);
  await prepare?.(page);
  return page;
}

/** Checks a page in all themes and widths, and that it shows its contents without script. */
export async function checkPage(world, spec) {
  await assertLight(world, spec);
  for (const scheme of SCHEMES) {
    for (const size of SIZES) {
      const page = await openPage(world, spec, { scheme, size });
      const at = `${spec.path}, ${scheme}, ${size[0]} px`;
      try {
        await assertAccessible(page, at);
        await assertFits(page, at);
        if (!spec.prepare) await assertStatic(page, at);
        await assertStructure(page, at);
        page.assertQuiet();
      } finally {
        await page.context().close();
      }
    }
  }
  const long = await openPage(world, spec, { size: SIZES[0], pseudo: true });
  await assertFits(long, `${spec.path}, with long words`);
  await long.context().close();
  if (spec.prepare) return;
  const plain = await openPage(world, spec, { script: false });
  const text = await plain.locator("main").innerText();
  await plain.context().close();
  if (!text.trim()) throw new Error(`${spec.path}: empty without script`);
}

/** Asserts that a page loads few bytes of own styles, scripts, icons and fonts, uncompressed, before anything is done on it. */
async function assertLight(world, { path, session }) {
  const page = await newPage(world, { session });
  try {
    const urls = new Set();
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin === new URL(world.base).origin && /\.(css|js|svg|woff2?)$/.test(url.pathname)) urls.add(url.pathname + url.search);
    });
    // Modules for elements of the page are fetched by others, which may be after its load event.
    await page.goto(path, { waitUntil: "networkidle" });
    const files = await Promise.all([...urls].map(async (url) => [url, (await (await page.context().request.get(url)).body()).length]));
    const total = files.reduce((sum, [, bytes]) => sum + bytes, 0);
    if (total >= MAX_ASSET_BYTES) throw new Error(`${path}: ${total} bytes of assets\n${files.map(([url, bytes]) => `  ${bytes} ${url}`).join("\n")}`);
  } finally {
    await page.context().close();
  }
}

/** Asserts that axe finds nothing. */
export async function assertAccessible(page, at) {
  // In the main world, past the policy: the tool is not part of the page.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: axeSource });
  const { result } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.map((n) => n.html + ' ' + (n.failureSummary ?? ''))])))",
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
