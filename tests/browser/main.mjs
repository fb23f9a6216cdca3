// Runs the specs: `main.mjs BASE [screenshots FOLDER] [SPEC...]`. A spec is a file of specs/ with these exports, all optional:
//   setUp(world)      once, before the others: accounts and contents; returns what the others get as `data`
//   pages             [{ name, path, session, prepare }]: every page is checked in two themes and two widths, and pictured
//   tests             { "what is true": async (t) => { ... } }: each in a browser context of its own
import { readdir } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import { launch, newPage } from "./lib/browser.mjs";
import { checkPage } from "./lib/checks.mjs";
import { takePictures } from "./lib/pictures.mjs";
import { startSite } from "./lib/site.mjs";
import { startSpeech } from "./lib/speech.mjs";
import { World } from "./lib/world.mjs";

const [base, ...rest] = process.argv.slice(2);
const folder = rest[0] === "screenshots" ? rest[1] : null;
const named = folder ? rest.slice(2) : rest;

const files = (await readdir(new URL("specs/", import.meta.url))).filter((name) => name.endsWith(".mjs")).sort();
const chosen = files.filter((name) => !named.length || named.includes(name.replace(".mjs", "")));
const browser = await launch();
const site = await startSite();
const speech = await startSpeech(Number(process.env.CARREL_SPEECH_PORT));
const world = new World(base, browser, site);
const failures = [];
let count = 0;

/** Runs one case, and notes how it ended. */
async function attempt(name, run) {
  const began = performance.now();
  count += 1;
  try {
    await run();
    console.log(`ok    ${name} (${Math.round(performance.now() - began)} ms)`);
  } catch (error) {
    failures.push(name);
    console.log(`FAIL  ${name}\n${String(error?.stack ?? error).replace(/^/gm, "      ")}`);
  }
}

for (const file of chosen) {
  const spec = await import(new URL(`specs/${file}`, import.meta.url));
  const label = file.replace(".mjs", "");
  let data;
  try {
    data = await spec.setUp?.(world);
  } catch (error) {
    failures.push(`${label}: setUp`);
    console.log(`FAIL  ${label}: setUp\n${error.stack}`);
    continue;
  }
  const pages = typeof spec.pages === "function" ? await spec.pages(world, data) : spec.pages ?? [];
  for (const page of pages) {
    if (folder) await attempt(`${label}: picture of ${page.name}`, () => takePictures(world, page, folder));
    else await attempt(`${label}: page ${page.name}`, () => checkPage(world, page));
  }
  if (folder) continue;
  for (const [name, run] of Object.entries(spec.tests ?? {})) {
    await attempt(`${label}: ${name}`, async () => {
      const opened = [];
      const t = {
        world, base, site, data,
        /** Opens a page in a context of its own: `session` signs it in, `size` is [width, height], `script` false turns script off. */
        open: async (options = {}) => { const page = await newPage(world, options); opened.push(page); return page; },
      };
      try {
        await run(t);
        for (const page of opened) page.assertQuiet();
      } finally {
        for (const page of opened) await page.context().close();
      }
    });
  }
}

await browser.close();
site.close();
speech.close();
console.log(`${count} cases, ${failures.length} failed`);
for (const name of failures) console.log(`failed: ${name}`);
process.exit(failures.length ? 1 : 0);
