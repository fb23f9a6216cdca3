// The browser, and pages that note what must not happen: errors on the console, and requests to other hosts.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.CARREL_NODE_MODULES}/`);
const { chromium } = require("playwright-core");

/** Returns a package of npm. */
export const load = (name) => require(name);
/** Returns the path of a file of a package. */
export const resolve = (name) => require.resolve(name);

/** Starts Debian's Chromium. */
export function launch() {
  const executablePath = process.env.CARREL_CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** Opens a page in a context of its own. */
export async function newPage(world, { session, size = [1280, 900], scheme = "light", script = true, touch = false, language = "en-GB", pseudo = false } = {}) {
  const context = await world.browser.newContext({
    baseURL: world.base, viewport: { width: size[0], height: size[1] }, colorScheme: scheme, javaScriptEnabled: script, hasTouch: touch,
    locale: language, extraHTTPHeaders: pseudo ? { "Accept-Language": "xx" } : {}, timezoneId: "Europe/Berlin", reducedMotion: "reduce", serviceWorkers: "block",
  });
  if (session) await context.addCookies([session.cookie]);
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const noise = [];
  const expected = new Set();
  page.on("console", (message) => {
    if (message.type() !== "error") return;
    // The browser itself says that an answer was not 2xx; tests expect some.
    const status = /status of (\d{3})/.exec(message.text())?.[1];
    if (!(status && expected.has(Number(status)))) noise.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (["http:", "https:", "ws:", "wss:"].includes(url.protocol) && url.origin !== new URL(world.base).origin) noise.push(`other host: ${request.url()}`);
  });
  page.noise = noise;
  /** Lets answers with these statuses pass. */
  page.expectStatus = (...statuses) => statuses.forEach((status) => expected.add(status));
  /** Clicks on what loads another page, and waits for that page. */
  page.follow = async (locator) => { await Promise.all([page.waitForEvent("load"), locator.click()]); };
  page.assertQuiet = () => { if (noise.length) throw new Error(noise.join("\n")); };
  return page;
}
