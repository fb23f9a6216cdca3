// Footnotes of the reader: the note to which a mark in the text leads opens beside the mark.
import { place } from "./menu.js";

// "[note 12]" is a mark; a link of more words leads to another place of the text.
const MAX_MARK_CHARS = 12;

const isShort = (element) => element.textContent.trim().length <= MAX_MARK_CHARS;

/** Whether a link leads to a note: not to a heading, and not back into the text. */
function isMark(link, target) {
  const isLater = link.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING;
  return Boolean(isLater) && isShort(link) && !/^h[1-6]$/.test(target.localName);
}

/** Copies the words of a note, with the block after it if it is its number alone. */
function copyOf(target) {
  const whole = target.closest("li, dd") ?? target;
  const beside = isShort(whole) && whole.nextElementSibling;
  const words = document.createElement("div");
  words.className = "serif";
  for (const block of beside ? [whole, beside] : [whole]) {
    const copy = document.createElement("div");
    copy.append(...[...block.childNodes].map((node) => node.cloneNode(true)));
    for (const element of copy.querySelectorAll("[id], [data-start], [data-to]")) {
      for (const name of ["id", "data-start", "data-to"]) element.removeAttribute(name);
    }
    words.append(copy);
  }
  return words;
}

/** Opens the note of a link of the text. Where the link leads elsewhere in the text, goes there. */
export function openFootnote(link, reader) {
  const target = document.getElementById(`o${link.dataset.to}`);
  if (!isMark(link, target)) { location.hash = target.id; return; }
  const text = link.closest("article");
  const box = document.createElement("div");
  box.className = "footnote";
  box.popover = "auto";
  box.tabIndex = -1;
  box.autofocus = true;
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", reader.dataset.footnote);
  const words = copyOf(target);
  [words.lang, words.dir] = [text.lang, text.dir];
  const there = document.createElement("a");
  there.className = "link";
  there.href = `#${target.id}`;
  there.textContent = reader.dataset.footnoteThere;
  box.append(words, there);
  box.addEventListener("click", (event) => { if (event.target.closest('a[href^="#"]')) box.hidePopover(); });
  box.addEventListener("toggle", (event) => { if (event.newState === "closed") box.remove(); });
  reader.append(box);
  box.showPopover();
  place(box, link);
}
