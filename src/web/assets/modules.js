// Modules for elements that only some pages have: fetched when a page, a change of it or a dialog brings the first one.

const modules = new Map([
  ["c-add", () => import("./c-add.js")],
  ["c-copy", () => import("./c-copy.js")],
  ["[data-live]", () => import("./live.js")],
  [".menu[popover]", () => import("./menu.js")],
]);

/** Fetches the modules for the elements of a root. Resolves when they have run. */
export function fetchModules(root) {
  const wanted = [...modules].filter(([selector]) => root.querySelector(selector));
  return Promise.all(wanted.map(async ([selector, fetchModule]) => {
    try {
      await fetchModule();
      modules.delete(selector);
    } catch { /* The page works without it, and the next change asks again. */ }
  }));
}

fetchModules(document);
document.addEventListener("carrel:swap", () => fetchModules(document));
