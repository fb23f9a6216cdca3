// What is done with a selection of the reader: the bar at it, highlights, notes, links to the words. And which highlight a click is on.
import { shortestAt, toOffsets } from "./anchor-offsets.js";
import { replace, request } from "./swap.js";
import { announce } from "./toast.js";

const FIRST_COLOR = "yellow";
// Parameters of the address that choose another list of notes.
const NAMES_OF_READER = ["as", "page"];

export class Marking {
  constructor(reader) {
    this.reader = reader;
    this.bar = reader.querySelector(".selbar");
    this.color = localStorage.getItem("carrel-color") ?? FIRST_COLOR;
    this.chosen = null;
    // The words stay selected when a link of the bar is pressed.
    this.bar.addEventListener("mousedown", (event) => event.preventDefault());
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

  /** Highlights what is selected, in the last colour if none is named. */
  async mark(color = this.color, withNote = false) {
    const { reader, chosen } = this;
    if (!chosen || "readonly" in reader.dataset) return;
    this.color = color;
    localStorage.setItem("carrel-color", color);
    const body = { startOffset: chosen.start, endOffset: chosen.end, version: Number(reader.dataset.version), color };
    const answer = await this.post(`${reader.api}/highlights`, body);
    if (!answer) return;
    getSelection().removeAllRanges();
    this.bar.hidden = true;
    await this.refresh();
    announce(answer.wasSaved ? reader.dataset.markedSaved : reader.dataset.marked, answer.wasSaved);
    const note = document.getElementById(`h-${answer.highlight.highlightId}`);
    if (withNote && note) this.editNote(note);
  }

  async post(url, body) {
    const { changed, failed } = this.reader.dataset;
    try {
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
      if (response.ok) return (await response.json()).data;
      announce(response.status === 409 ? changed : failed, true);
    } catch {
      announce(failed, true);
    }
    return null;
  }

  /** Fetches the list of notes again, from the reader and the page that are shown. */
  async refresh() {
    const shown = new URLSearchParams([...new URLSearchParams(location.search)].filter(([name]) => NAMES_OF_READER.includes(name)));
    const answer = await request(`${location.pathname}?${shown}`, { parts: ["notes", "spine", "actions"] });
    if (answer?.page) replace(answer.page, ["notes", "spine", "actions"]);
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
