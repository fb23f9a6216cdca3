// What is done with a selection of the reader: the bar at it, highlights, notes, links to the words. And which highlight a click is on.
import { shortestAt, toOffsets } from "./anchor-offsets.js";
import { announce } from "./toast.js";

const FIRST_COLOR = "yellow";

export class Marking {
  constructor(reader) {
    this.reader = reader;
    this.bar = reader.querySelector(".selbar");
    this.form = reader.querySelector("form[data-mark]");
    this.color = localStorage.getItem("carrel-color") ?? FIRST_COLOR;
    this.chosen = null;
    // The words stay selected when a link of the bar is pressed.
    this.bar.addEventListener("mousedown", (event) => event.preventDefault());
    this.form?.addEventListener("carrel:done", () => this.finish());
  }

  /** Takes what is selected, and shows the bar at it if it has words. */
  choose() {
    const range = this.reader.selected;
    this.chosen = range && toOffsets(this.reader.runs, range);
    if (this.chosen) this.showBar(range); else this.bar.hidden = true;
  }

  showBar(range) {
    const box = range.getBoundingClientRect();
    const { document: id, version } = this.reader.dataset;
    for (const link of this.bar.querySelectorAll("a[data-words]")) {
      link.href = `/read/${id}/${link.dataset.words}?at=${this.chosen.start}-${this.chosen.end}&version=${version}`;
    }
    this.bar.hidden = false;
    const half = this.bar.offsetWidth / 2;
    const middle = Math.min(Math.max(box.left + box.width / 2, half + 8), document.documentElement.clientWidth - half - 8);
    const above = box.top - this.bar.offsetHeight - 10;
    const topbar = document.querySelector(".read-bar")?.offsetHeight ?? 0;
    this.bar.style.left = `${middle - half + scrollX}px`;
    this.bar.style.top = `${(above > topbar ? above : box.bottom + 10) + scrollY}px`;
  }

  /** Does what a button of the bar says. */
  press(button) {
    const { color, act } = button.dataset;
    if (color) return this.mark(color);
    if (act === "note") return this.mark(this.color, true);
    return act === "link" ? this.copyLink() : undefined;
  }

  /**
   * Highlights what is selected, in the last colour if none is named. The form of the page does it: its answer has the lists and the
   * message with the form that takes it back.
   */
  mark(color = this.color, withNote = false) {
    const { form, chosen } = this;
    if (!chosen || !form || form.getAttribute("aria-busy")) return;
    this.color = color;
    localStorage.setItem("carrel-color", color);
    this.withNote = withNote;
    const { startOffset, endOffset } = form.elements;
    [startOffset.value, endOffset.value, form.elements.color.value] = [chosen.start, chosen.end, color];
    form.requestSubmit();
  }

  /** Leaves the words that were highlighted. Their note is written once the list shows it. */
  finish() {
    getSelection().removeAllRanges();
    this.bar.hidden = true;
    if (this.withNote) document.addEventListener("carrel:swap", () => this.editNew(), { once: true });
  }

  /** Opens the note of the highlight that was made last, which the form names that takes it back. */
  editNew() {
    const undo = document.querySelector("#toast form[data-undo]");
    const note = document.getElementById(`h-${undo?.getAttribute("action").split("/").pop()}`);
    if (note) this.editNote(note);
  }

  editNote(note) {
    if (matchMedia("(max-width: 59.99rem)").matches) this.reader.openSheet("notes");
    const details = note.querySelector("details");
    details.open = true;
    this.reader.layOutNotes();
    details.querySelector("textarea").focus();
  }

  async copyLink() {
    if (!this.chosen) return;
    const { start, end } = this.chosen;
    const { linkCopied, failed } = this.reader.dataset;
    try {
      await navigator.clipboard.writeText(`${location.origin}${location.pathname}?at=${start}-${end}#at`);
      announce(linkCopied, true);
    } catch {
      // Pages without TLS have no clipboard.
      announce(failed, true);
    }
  }

  /** The shortest highlight over the character before a caret. */
  markAt(node, offset) {
    const end = node.nodeType === Node.TEXT_NODE ? Math.min(offset + 1, node.data.length) : offset;
    const character = { startContainer: node, startOffset: Math.max(0, end - 1), endContainer: node, endOffset: end };
    const at = toOffsets(this.reader.runs, character);
    return at ? shortestAt(this.reader.marks, at.start) : null;
  }
}
