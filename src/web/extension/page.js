// Reads the page of a tab, as the reader sees it.

/** Runs in the page. It must not use anything outside of itself. */
function serialize() {
  const copy = document.documentElement.cloneNode(true);
  for (const element of copy.querySelectorAll("script, noscript, template, iframe, object, embed")) element.remove();
  for (const field of copy.querySelectorAll("input, textarea, select")) field.remove();
  return `<!doctype html>${copy.outerHTML}`;
}

/** Returns the address of a tab, and its HTML where the browser allows it. What was typed into fields is not part of it. */
export async function readPage(tab, withText) {
  const page = { url: tab.url, html: null };
  if (!withText) return page;
  try {
    const [result] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: serialize });
    page.html = result?.result ?? null;
  } catch {
    // Pages of the browser itself, its store and PDF viewers are closed to extensions.
  }
  return page;
}
