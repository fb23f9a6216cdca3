// Keeps assets, and the texts that were opened, so that they can be read without a connection. Nothing else is answered from here: lists,
// settings and keys are never kept. Signing out clears all of it (Clear-Site-Data), and so does the page that asks for a password: the next
// user of the browser must not read what the last one opened, whose session ended by itself.
const ASSETS = ["ASSETS"];
const SHELL = `shell:${"VERSION"}`;
const READ = "read";
const MAX_READ = 100;

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(SHELL);
    await cache.addAll([...ASSETS, "/offline"]);
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith("shell:") && name !== SHELL) await caches.delete(name);
    await self.clients.claim();
  })());
});

const isText = (url) => /^\/read\/[0-9a-f-]{36}$/.test(url.pathname);
const isPicture = (url) => url.pathname.startsWith("/img/");

async function keep(request, response) {
  // Only whole pages, and not the sign-in page that another address was answered with.
  if (!response.ok || response.redirected || response.headers.get("Content-Disposition")) return;
  const cache = await caches.open(READ);
  const url = new URL(request.url);
  if (isText(url)) url.search = "";
  await cache.delete(url.href);
  await cache.put(url.href, response);
  const kept = await cache.keys();
  for (const old of kept.slice(0, Math.max(0, kept.length - MAX_READ))) await cache.delete(old);
}

/** Removes the copy of a text that was deleted. */
async function forget(url) {
  const cache = await caches.open(READ);
  await cache.delete(url.origin + url.pathname);
}

async function page(event, url) {
  try {
    const response = await fetch(event.request);
    // A user who is signed in is sent on from there.
    if (url.pathname === "/sign-in" && response.ok) event.waitUntil(caches.delete(READ));
    if (isText(url) && (response.status === 404 || response.status === 410)) event.waitUntil(forget(url));
    if (isText(url) && !event.request.headers.has("Carrel-Part")) event.waitUntil(keep(event.request, response.clone()));
    return response;
  } catch {
    url.search = "";
    const kept = isText(url) && await caches.match(url.href);
    return kept || await caches.match("/offline") || Response.error();
  }
}

async function picture(event) {
  const kept = await caches.match(event.request.url);
  if (kept) return kept;
  const response = await fetch(event.request);
  event.waitUntil(keep(event.request, response.clone()));
  return response;
}

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (ASSETS.includes(url.pathname)) {
    event.respondWith(caches.match(event.request.url).then((kept) => kept ?? fetch(event.request)));
  } else if (event.request.mode === "navigate") {
    event.respondWith(page(event, url));
  } else if (isPicture(url)) {
    event.respondWith(picture(event));
  }
});
