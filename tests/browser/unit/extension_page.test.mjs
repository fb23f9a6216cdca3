// What the browser extension sends of a page: nothing that the user typed. The page is a stand-in with elements that are found by a word
// in the selector.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { serialize } from "../../../src/web/extension/page.js";

afterEach(() => {
  delete globalThis.document;
});

/** An element that the selectors with this word find. */
function element(word, text) {
  return {
    text,
    isFoundBy: (selector) => selector.includes(word),
    remove() {
      this.text = "";
    },
    replaceChildren() {
      this.text = "";
    },
  };
}

/** Makes these elements the page. `editable` is whether its root is editable. */
function open(elements, { designMode = "off", editable = false } = {}) {
  const copy = {
    querySelectorAll: (selector) => elements.filter((one) => one.isFoundBy(selector)),
    get outerHTML() {
      return elements.map((one) => one.text).join("");
    },
  };
  const root = { matches: (selector) => editable && selector.includes("[contenteditable]"), cloneNode: () => copy };
  globalThis.document = { designMode, documentElement: root, body: { matches: () => false } };
}

test("what the user typed is not part of the page", () => {
  const typed = ["input", "textarea", "select", "[contenteditable]", '[role="textbox" i]', '[role="searchbox" i]'];
  open([element("article", "<p>words</p>"), element("script", "code"), ...typed.map((word) => element(word, `draft in ${word}`))]);

  assert.equal(serialize(), "<!doctype html><p>words</p>");
});

test("a page that is editable as a whole is not sent", () => {
  const words = [element("article", "words")];

  open(words, { designMode: "on" });
  assert.equal(serialize(), null);
  open(words, { editable: true });
  assert.equal(serialize(), null);
});
