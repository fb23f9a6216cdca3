// <c-reader>: highlights by mouse, touch and keyboard, side notes, the place that the address names, and parts of long texts.
// Without it the page has the same text with its marks, and forms for all of this.
import { index, toPoints } from "./anchor.js";
import { isField, onKeys } from "./keys.js";
import { Position } from "./reader-position.js";
import { noteAddress, request } from "./swap.js";
import { announce } from "./toast.js";

const COLORS = ["yellow", "green", "blue", "pink", "violet"];
const ARRIVAL_MILLIS = 8_000;
const NOTE_GAP = 14;
const pick = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

class Reader extends HTMLElement {
  connectedCallback() {
    this.text = pick("#text", this);
    this.api = `/app/api/documents/${this.dataset.document}`;
    this.read();
    this.arrive();
    this.watchSelection();
    // The position in a recording is that of its player.
    if (!pick("c-player", this)) this.position = new Position(this);
    this.watchParts();
    this.prepareType();
    addEventListener("resize", () => this.placeNotes());
    addEventListener("load", () => this.placeNotes());
    addEventListener("beforeprint", () => this.wrap());
    addEventListener("afterprint", () => this.read());
    this.watchKeys();
    document.addEventListener("carrel:swap", (event) => { if (event.detail.ids.includes("notes")) this.read(); });
    // Links to the sheets are in the bar, outside of this element.
    document.addEventListener("click", (event) => this.click(event));
    this.addEventListener("toggle", () => this.placeNotes(), true);
  }

  // --- Highlights -------------------------------------------------------------------------------------------------------------

  /** Reads the text and the list of notes, and draws the highlights. */
  read() {
    this.unwrap();
    for (const wide of all(".prose :is(pre, table)", this)) wide.tabIndex = 0;
    const code = all(".prose pre", this);
    if (code.length) import("./reader-code.js").then(({ addCopyButtons }) => addCopyButtons(code, this.dataset));
    this.runs = index(this.text);
    this.marks = all(".sidenote[data-from]", this).map((note) => ({
      note, id: note.dataset.id, color: note.dataset.color, start: Number(note.dataset.from), end: Number(note.dataset.to),
    }));
    if (globalThis.Highlight && CSS.highlights) this.draw(); else this.wrap();
    this.placeNotes();
  }

  draw() {
    for (const color of COLORS) CSS.highlights.delete(color);
    // Ids rise with time: a later highlight is drawn over an earlier one.
    const byAge = [...this.marks].sort((one, other) => (one.id < other.id ? -1 : 1));
    for (const mark of byAge) {
      const range = this.range(mark.start, mark.end);
      if (!range) continue;
      if (!CSS.highlights.has(mark.color)) CSS.highlights.set(mark.color, new Highlight());
      CSS.highlights.get(mark.color).add(range);
    }
  }

  range(start, end) {
    const points = toPoints(this.runs, start, end);
    if (!points) return null;
    const range = new Range();
    range.setStart(...points.start);
    range.setEnd(...points.end);
    return range;
  }

  /** Draws the highlights as elements: for print, and where the browser cannot draw ranges. */
  wrap() {
    this.unwrap();
    for (const color of COLORS) CSS.highlights?.delete(color);
    for (const mark of this.marks) {
      this.runs = index(this.text);
      for (const run of this.runs) {
        if (run.node.nodeType !== Node.TEXT_NODE || run.start >= mark.end || run.start + run.count <= mark.start) continue;
        const range = this.range(Math.max(run.start, mark.start), Math.min(run.start + run.count, mark.end));
        const piece = document.createElement("mark");
        piece.className = `hl c-${mark.color}`;
        piece.dataset.mark = mark.id;
        range?.surroundContents(piece);
      }
    }
    this.runs = index(this.text);
  }

  unwrap() {
    for (const piece of all("mark.hl", this.text)) {
      const parent = piece.parentNode;
      piece.replaceWith(...piece.childNodes);
      parent.normalize();
    }
  }

  focusNote(mark) {
    for (const other of this.marks) other.note.classList.toggle("is-focused", other === mark);
    CSS.highlights?.delete("focus");
    if (!mark) return;
    const range = this.range(mark.start, mark.end);
    if (range && CSS.highlights) CSS.highlights.set("focus", new Highlight(range));
    if (matchMedia("(max-width: 59.99rem)").matches) this.openSheet("notes");
    mark.note.classList.remove("is-bare");
    this.layOutNotes();
    mark.note.scrollIntoView({ block: "nearest" });
  }

  /** Places the notes before the next frame is drawn, once for all calls until then. */
  placeNotes() {
    this.placing ||= requestAnimationFrame(() => { this.placing = 0; this.layOutNotes(); });
  }

  /** Puts notes with words at the height of their highlights; they never cover one another. */
  layOutNotes() {
    const column = pick("#notes", this);
    // The list of a PDF is not placed.
    if (!column || "list" in column.dataset) return;
    const isWide = matchMedia("(min-width: 60rem)").matches && !column.classList.contains("is-open");
    column.classList.toggle("is-placed", isWide && this.marks.length > 0);
    if (!isWide) { for (const note of all(".sidenote", column)) note.style.top = ""; return; }
    const placed = [];
    for (const { note, start, end } of this.marks) {
      const isBare = !("note" in note.dataset) && !note.classList.contains("is-focused") && !pick("details[open]", note);
      const range = isBare ? null : this.range(start, end);
      note.classList.toggle("is-bare", !range);
      if (range) placed.push({ note, range });
    }
    placed.push(...all(".is-lost", column).map((note) => ({ note })));
    // All heights are read before the first note is moved: a read after a move lays the whole page out again.
    const top = column.getBoundingClientRect().top;
    const boxes = placed.map(({ note, range }) => ({
      note, at: range ? range.getBoundingClientRect().top - top : 0, height: note.offsetHeight,
    }));
    let free = 0;
    for (const { note, at, height } of boxes) {
      const place = Math.max(at, free);
      note.style.top = `${place}px`;
      free = place + height + NOTE_GAP;
    }
    column.style.minBlockSize = `${free}px`;
  }

  // --- Selection ---------------------------------------------------------------------------------------------------------------

  /** The range of what is selected in the text; null if there is none. */
  get selected() {
    const selection = getSelection();
    const isInText = selection.rangeCount > 0 && !selection.isCollapsed && this.text.contains(selection.anchorNode);
    return isInText ? selection.getRangeAt(0) : null;
  }

  watchSelection() {
    document.addEventListener("selectionchange", () => {
      if (this.selected || this.marking) this.withMarking((marking) => marking.choose());
    });
  }

  /** Does something with what is selected or clicked. The module for it is fetched when it is first needed. */
  async withMarking(does) {
    this.marking ??= import("./reader-marking.js").then(({ Marking }) => new Marking(this));
    let marking;
    try {
      marking = await this.marking;
    } catch {
      this.marking = null;
      announce(this.dataset.failed, true);
      return;
    }
    await does(marking);
  }

  click(event) {
    const button = event.target.closest("[data-color], [data-act]");
    if (button?.closest(".selbar")) { this.withMarking((marking) => marking.press(button)); return; }
    const sheet = event.target.closest("[data-sheet]");
    if (sheet) { event.preventDefault(); this.openSheet(sheet.dataset.sheet); return; }
    const picture = event.target.closest(".prose figure img");
    if (picture) { import("./reader-picture.js").then(({ showPicture }) => showPicture(picture, this.dataset.close)); return; }
    const inText = event.target.closest("a[data-to]");
    if (inText && document.getElementById(`o${inText.dataset.to}`) && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      import("./reader-footnote.js").then(({ openFootnote }) => openFootnote(inText, this));
      return;
    }
    const link = event.target.closest("a.picture-link");
    if (link) { event.preventDefault(); this.loadPicture(link); return; }
    if (!this.text.contains(event.target) || event.target.closest("a, button, summary") || !getSelection().isCollapsed) return;
    if (!this.marks.length || !getSelection().rangeCount) { this.focusNote(null); return; }
    // Taken now: the selection may move until the module is there.
    const { startContainer, startOffset } = getSelection().getRangeAt(0);
    this.withMarking((marking) => this.focusNote(marking.markAt(startContainer, startOffset)));
  }

  loadPicture(link) {
    const picture = document.createElement("img");
    picture.src = link.href;
    picture.alt = link.textContent;
    link.replaceWith(picture);
  }

  // --- Keyboard ---------------------------------------------------------------------------------------------------------------

  watchKeys() {
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.escape();
      // Arrows also move sliders.
      else if (this.caret && !isField(event.target) && event.target.type !== "range") this.caret.key(event);
    });
    onKeys("reader", (action, event) => this.act(action, event.key));
    // Two actions of lists are the same here, and "n" writes a note on words that are selected.
    onKeys("list", (action, event) => ["original", "delete"].includes(action) && this.act(action, event.key));
    onKeys("everywhere", (action) => action === "save" && this.act("highlight-note"));
  }

  /** Does the action of a key. Returns whether there was something to do. */
  act(action, key) {
    if (["color", "highlight", "highlight-note"].includes(action)) {
      if (!this.selected) return false;
      const color = action === "color" ? COLORS[Number(key) - 1] : undefined;
      this.withMarking((marking) => { marking.choose(); return marking.mark(color, action === "highlight-note"); });
      return true;
    }
    if (action === "caret") { this.enterCaret(); return true; }
    if (action === "previous-document") return this.goBeside(-1);
    if (action === "next-document") return this.goBeside(1);
    const button = key && pick(`[data-key="${CSS.escape(key)}"]`);
    button?.click();
    return Boolean(button);
  }

  /** Goes to the document beside this one in the list that was shown last. Returns whether there is one. */
  goBeside(step) {
    const order = JSON.parse(sessionStorage.getItem("carrel-order") ?? "[]");
    const at = order.indexOf(location.pathname);
    const beside = at < 0 ? undefined : order[at + step];
    if (beside) location.assign(beside);
    return Boolean(beside);
  }

  escape() {
    if (this.caret) this.leaveCaret();
    else if (pick(".is-open", this)) this.closeSheets();
    else { getSelection().removeAllRanges(); this.focusNote(null); }
  }

  /** Caret mode, whose module is fetched when it is first used. */
  async enterCaret() {
    const { Caret } = await import("./reader-caret.js");
    this.caret = Caret.enter(this);
  }

  leaveCaret() {
    this.caret.leave();
    this.caret = null;
  }

  // --- The place --------------------------------------------------------------------------------------------------------------

  /** Goes to the place that the address names, or to where one stopped. */
  arrive() {
    const url = new URL(location.href);
    if (url.searchParams.has("at")) {
      // Before the address loses its fragment: the browser may not have gone there yet.
      pick("#at", this.text)?.scrollIntoView({ block: "center", behavior: "instant" });
      for (const name of ["at", "part"]) url.searchParams.delete(name);
      url.hash = "";
      history.replaceState(history.state, "", url);
      noteAddress();
      setTimeout(() => { for (const piece of all("mark.at", this.text)) piece.classList.add("is-over"); }, ARRIVAL_MILLIS);
      return;
    }
    const offset = Number(this.dataset.offset);
    if (location.hash || !offset || url.searchParams.has("part")) return;
    const points = toPoints(this.runs, offset, offset + 1);
    if (!points) return;
    const range = new Range();
    range.setStart(...points.start);
    const top = range.getBoundingClientRect().top + scrollY - (pick(".read-bar")?.offsetHeight ?? 0) - 16;
    scrollTo({ top, behavior: "instant" });
  }

  /** Offset of the first word below the bar. */
  firstVisible() {
    const edge = pick(".read-bar")?.offsetHeight ?? 0;
    let low = 0;
    let high = this.runs.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle].place.getBoundingClientRect().bottom <= edge) low = middle + 1; else high = middle;
    }
    const run = this.runs[low];
    if (!run) return null;
    const box = run.place.getBoundingClientRect();
    const [first, last] = [this.runs.find((one) => one.place === run.place), this.runs.findLast((one) => one.place === run.place)];
    // Within a long block by its part above the edge.
    const share = box.top < edge && box.height > 0 ? (edge - box.top) / box.height : 0;
    return Math.floor(first.start + share * (last.start + last.count - first.start));
  }

  // --- Parts, sheets, type ----------------------------------------------------------------------------------------------------

  watchParts() {
    const link = pick("#next-part", this);
    if (!link) return;
    const observer = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting || link.getAttribute("aria-busy")) return;
      link.setAttribute("aria-busy", "true");
      try {
        const answer = await request(link.href, { parts: ["text-part"] });
        const part = answer?.page && pick("section[data-part]", answer.page);
        if (!part) return;
        const [number, count] = [Number(part.dataset.part), Number(part.dataset.parts)];
        link.parentElement.before(document.adoptNode(part));
        const next = new URL(link.href);
        next.searchParams.set("part", String(number + 1));
        if (number < count) link.href = next.href; else link.parentElement.remove();
        this.read();
      } catch {
        observer.disconnect();
      } finally {
        link.removeAttribute("aria-busy");
      }
    }, { rootMargin: "1200px" });
    observer.observe(link);
  }

  openSheet(id) {
    const sheet = document.getElementById(id);
    if (!sheet) return;
    const wasOpen = sheet.classList.contains("is-open");
    this.closeSheets();
    if (getComputedStyle(sheet).display !== "none") { (pick("a, summary", sheet) ?? sheet).focus(); return; }
    if (wasOpen) return;
    sheet.classList.add("is-open");
    this.placeNotes();
    (pick("a, summary, button", sheet) ?? sheet).focus();
  }

  closeSheets() {
    for (const sheet of all(".is-open", this)) sheet.classList.remove("is-open");
    this.placeNotes();
  }

  /** The type panel, whose module is fetched when it is first opened. */
  prepareType() {
    document.getElementById("type")?.addEventListener("toggle", async (event) => {
      const { prepareType } = await import("./reader-type.js");
      prepareType(event.target, this);
    }, { once: true });
  }
}

customElements.define("c-reader", Reader);
