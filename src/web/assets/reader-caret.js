// Caret mode of the reader: a selection that arrows move by words, for keyboards and screen readers.
import { textOf, wordsOf } from "./anchor-offsets.js";
import { announce } from "./toast.js";

const LINE_WORDS = 10;

export class Caret {
  /** Puts the caret at the first visible word; null if there is none. */
  static enter(reader) {
    const language = reader.dataset.lang || undefined;
    const start = reader.firstVisible() ?? 0;
    const before = wordsOf(reader.runs, 0, start, language);
    const words = [...before, ...wordsOf(reader.runs, start, Number(reader.dataset.total) + 1, language)];
    return words.length ? new Caret(reader, words, Math.min(before.length, words.length - 1)) : null;
  }

  constructor(reader, words, at) {
    Object.assign(this, { reader, words, anchor: at, focus: at });
    reader.text.setAttribute("role", "application");
    reader.text.focus({ preventScroll: true });
    announce(reader.dataset.caret);
    this.show(false);
  }

  leave() {
    this.reader.text.removeAttribute("role");
    getSelection().removeAllRanges();
    announce(this.reader.dataset.caretOff);
  }

  /** Moves by an arrow. Returns whether the key was one. */
  key(event) {
    const forward = getComputedStyle(this.reader.text).direction === "rtl" ? -1 : 1;
    const step = { ArrowRight: forward, ArrowLeft: -forward, ArrowDown: LINE_WORDS, ArrowUp: -LINE_WORDS }[event.key];
    if (!step) return false;
    event.preventDefault();
    this.focus = Math.max(0, Math.min(this.words.length - 1, this.focus + step));
    if (!event.shiftKey) this.anchor = this.focus;
    this.show(true);
    return true;
  }

  show(isSaid) {
    const [from, to] = [Math.min(this.anchor, this.focus), Math.max(this.anchor, this.focus)];
    const range = this.reader.range(this.words[from][0], this.words[to][1]);
    if (!range) return;
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    this.reader.range(...this.words[this.focus])?.startContainer.parentElement.scrollIntoView({ block: "nearest" });
    if (isSaid) announce(textOf(this.reader.runs, ...this.words[this.focus]));
  }
}
