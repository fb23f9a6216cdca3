// Puts the texts of the language of the browser into a page: each element names its text in `data-t`.

/** Returns a text with its values. */
export function t(name, values) {
  return chrome.i18n.getMessage(name, values);
}

/** Fills the page. */
export function fill() {
  document.documentElement.lang = chrome.i18n.getUILanguage();
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-label]")) element.ariaLabel = t(element.dataset.tLabel);
}
