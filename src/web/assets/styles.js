// Stylesheets that a page does not link, because only what opens over it needs them.

const loading = new Map();

const isLinked = (url) => [...document.querySelectorAll("link[rel=stylesheet]")].some((link) => link.getAttribute("href") === url);

function load(url) {
  return new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: url });
    link.addEventListener("load", done);
    // Without its style a part is plain, but can be used. The next one asks again.
    link.addEventListener("error", () => { link.remove(); loading.delete(url); done(); });
    document.head.append(link);
  });
}

/** Adds stylesheets that the page lacks. Resolves when they apply, so that nothing is seen without them. */
export function addStyles(urls) {
  for (const url of urls) if (!loading.has(url) && !isLinked(url)) loading.set(url, load(url));
  return Promise.all(urls.map((url) => loading.get(url)));
}
