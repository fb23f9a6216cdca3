// Reads the page of a tab, as the reader sees it.

/**
 * Returns the HTML of the page without what the user typed: fields and editable elements. Returns null if all of the page is editable.
 * Runs in the page. It must not use anything outside of itself.
 */
export function serialize() {
  const editable = ':is([contenteditable], [role="textbox" i], [role="searchbox" i]):not([contenteditable="false" i])';
  const root = document.documentElement;
  if (document.designMode === "on" || root.matches(editable) || document.body?.matches(editable)) return null;
  const copy = root.cloneNode(true);
  for (const element of copy.querySelectorAll("script, noscript, template, iframe, object, embed")) element.remove();
  for (const field of copy.querySelectorAll("input, textarea, select")) field.remove();
  // A draft of a comment or a message, in an editor that is no field.
  for (const draft of copy.querySelectorAll(editable)) draft.replaceChildren();
  return `<!doctype html>${copy.outerHTML}`;
}

/** Returns the address of a tab, and its HTML where the browser allows it. What the user typed is not part of it. */
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
