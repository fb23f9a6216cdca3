// The page without a connection: lists the texts that the worker has kept (install/sw.js), the newest first.
import { parse } from "./swap.js";

const TEXTS = "read";
const TEXT_PATH = /^\/read\/[0-9a-f-]{36}$/;

/** Reads the title of a kept page. The text after it, which may be long, is not parsed. */
async function titleOf(response) {
  const html = await response.text();
  return parse(html.slice(0, html.indexOf("</title>"))).title.replace(/ – Carrel$/, "");
}

function rowOf(href, title) {
  const link = Object.assign(document.createElement("a"), { className: "link", href, dir: "auto", textContent: title || href });
  const row = document.createElement("li");
  row.append(link);
  return row;
}

async function listTexts() {
  const cache = await caches.open(TEXTS);
  const section = document.getElementById("kept");
  const listed = new Set();
  for (const request of (await cache.keys()).reverse()) {
    const { pathname } = new URL(request.url);
    // Several parts of a text may be kept.
    if (!TEXT_PATH.test(pathname) || listed.has(pathname)) continue;
    listed.add(pathname);
    const response = await cache.match(request);
    if (!response) continue;
    section.querySelector("ul").append(rowOf(pathname, await titleOf(response)));
    section.hidden = false;
  }
}

// Browsers have no caches over plain http. The page says without the list too what can be done.
if (globalThis.caches) listTexts().catch(() => {});
