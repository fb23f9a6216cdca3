// Keeps assets, and the texts that were opened, so that they can be read without a connection. Nothing else is answered from here: lists,
// settings and keys are never kept. Signing out clears all of it (Clear-Site-Data), and so does the page that asks for a password: the next
// user of the browser must not read what the last one opened, whose session ended by itself.
const ASSETS = ["ASSETS"];
const OFFLINE = "/offline";
const SHELL = "shell";
// Assets of earlier versions, which texts that were kept then still name: those of about five versions.
const MAX_OLD_ASSETS = 300;
const TEXTS = "read";
const MAX_TEXTS = 100;
const PICTURES = "pictures";
const MAX_PICTURES = 300;

const isText = (url) => /^\/read\/[0-9a-f-]{36}$/.test(url.pathname);
const isPicture = (url) => url.pathname.startsWith("/img/");
const isOldAsset = ({ url }) => ![...ASSETS, OFFLINE].includes(new URL(url).pathname);

/** Removes the oldest of these entries until at most `max` are left. */
async function trim(cache, entries, max) {
  for (const old of entries.slice(0, Math.max(0, entries.length - max))) await cache.delete(old);
}

async function fetchAssets() {
  const cache = await caches.open(SHELL);
  // The contents of an address never change.
  const kept = new Set((await cache.keys()).map(({ url }) => new URL(url).pathname));
  await cache.addAll([...ASSETS.filter((asset) => !kept.has(asset)), OFFLINE]);
}

async function removeOld() {
  for (const name of await caches.keys()) if (![SHELL, TEXTS, PICTURES].includes(name)) await caches.delete(name);
  const cache = await caches.open(SHELL);
  await trim(cache, (await cache.keys()).filter(isOldAsset), MAX_OLD_ASSETS);
}

self.addEventListener("install", (event) => { event.waitUntil(fetchAssets().then(() => self.skipWaiting())); });
self.addEventListener("activate", (event) => { event.waitUntil(removeOld().then(() => self.clients.claim())); });

async function keep(name, max, key, response) {
  // Only whole pages, and not the sign-in page that another address was answered with.
  if (!response.ok || response.redirected || response.headers.get("Content-Disposition")) return;
  const cache = await caches.open(name);
  // What is kept again becomes the newest.
  await cache.delete(key);
  await cache.put(key, response);
  await trim(cache, await cache.keys(), max);
}

/** The address under which a text is kept. A part and another form of it are kept beside it. */
function keyOf(url) {
  const key = new URL(url.pathname, url.origin);
  for (const name of ["as", "page", "part"]) if (url.searchParams.has(name)) key.searchParams.set(name, url.searchParams.get(name));
  return key.href;
}

async function keepText(url, response) {
  const isPlace = url.searchParams.has("at") || url.searchParams.has("find");
  // The page of a place has the part with it, which may not be the first.
  if (isPlace && await (await caches.open(TEXTS)).match(keyOf(url))) return;
  await keep(TEXTS, MAX_TEXTS, keyOf(url), response);
}

/** The copy of a text, or else of any part of it. */
async function keptText(url) {
  const cache = await caches.open(TEXTS);
  return await cache.match(keyOf(url)) ?? cache.match(url.origin + url.pathname, { ignoreSearch: true });
}

/** Removes the copies of a text that was deleted. */
async function forgetText(url) {
  const cache = await caches.open(TEXTS);
  await cache.delete(url.origin + url.pathname, { ignoreSearch: true });
}

const forgetAll = () => Promise.all([TEXTS, PICTURES].map((name) => caches.delete(name)));

async function page(event, url) {
  try {
    const response = await fetch(event.request);
    // A user who is signed in is sent on from there.
    if (url.pathname === "/sign-in" && response.ok) event.waitUntil(forgetAll());
    if (isText(url) && (response.status === 404 || response.status === 410)) event.waitUntil(forgetText(url));
    else if (isText(url)) event.waitUntil(keepText(url, response.clone()));
    return response;
  } catch {
    const kept = isText(url) && await keptText(url);
    return kept || await caches.match(OFFLINE) || Response.error();
  }
}

async function picture(event) {
  const kept = await caches.match(event.request.url);
  if (kept) return kept;
  const response = await fetch(event.request);
  event.waitUntil(keep(PICTURES, MAX_PICTURES, event.request.url, response.clone()));
  return response;
}

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith("/assets/")) {
    event.respondWith(caches.match(event.request.url).then((kept) => kept ?? fetch(event.request)));
  } else if (event.request.mode === "navigate") {
    event.respondWith(page(event, url));
  } else if (isPicture(url)) {
    event.respondWith(picture(event));
  }
});
