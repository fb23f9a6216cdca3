// <c-player>: controls of a recording, and the transcript that follows it. Without it the browser's own controls are shown, and a time
// of the transcript is a link that starts there.
import { onKeys } from "./keys.js";
import { clock, nextSpeed, rowAt, SPEEDS } from "./transcript-rows.js";

const FOLLOW_PAUSE_MILLIS = 6_000;
const SAVE_MILLIS = 10_000;

class CPlayer extends HTMLElement {
  connectedCallback() {
    this.media = document.getElementById("media");
    this.range = this.querySelector("input[type=range]");
    this.follows = true;
    this.scrolledAt = 0;
    // Opening a place of the recording, as a citation does, does not change where one stopped.
    this.hasMoved = false;
    this.querySelector(".player-main").hidden = false;
    if (this.media.localName === "audio") { this.media.controls = false; this.media.hidden = true; }
    this.readRows();
    this.pending = Number(this.dataset.startAt) || 0;
    for (const type of ["timeupdate", "seeked", "loadedmetadata", "durationchange"]) this.media.addEventListener(type, () => this.show());
    for (const type of ["play", "pause", "ended"]) this.media.addEventListener(type, () => { this.showPlaying(); if (type !== "play") this.save(); });
    this.media.addEventListener("play", () => { this.hasMoved = true; this.showFault(); });
    this.media.addEventListener("ratechange", () => this.showSpeed());
    this.media.addEventListener("progress", () => this.showBuffered());
    this.media.addEventListener("loadedmetadata", () => this.arrive());
    this.media.addEventListener("error", () => this.showFault());
    this.range.addEventListener("input", () => this.seek(Number(this.range.value)));
    this.addEventListener("click", (event) => this.act(event.target.closest("[data-do]")?.dataset.do));
    document.addEventListener("click", (event) => this.followLink(event));
    document.addEventListener("dblclick", (event) => this.seekToWord(event));
    onKeys("media", (action) => this.act(action));
    document.addEventListener("carrel:swap", () => { this.readRows(); this.show(); });
    for (const type of ["wheel", "touchmove"]) addEventListener(type, () => { this.scrolledAt = Date.now(); }, { passive: true });
    setInterval(() => { if (!this.media.paused) this.save(); }, SAVE_MILLIS);
    addEventListener("pagehide", () => this.save());
    if (this.media.readyState > 0) this.arrive();
    this.placeTimes();
    this.show();
    document.querySelector(".said-row.is-current, #at")?.scrollIntoView({ block: "center" });
  }

  readRows() {
    this.rows = [...document.querySelectorAll(".said-row")];
    this.starts = this.rows.map((row) => Number(row.dataset.from));
    this.placeTimes();
  }

  /** Puts the times of the highlights on their notes. */
  placeTimes() {
    for (const item of document.querySelectorAll("[data-note-time]")) {
      const when = document.querySelector(`#h-${item.dataset.noteTime} .when`);
      if (when && !when.querySelector("[data-seek]")) when.prepend(item.firstElementChild.cloneNode(true));
    }
  }

  get length() { return Number.isFinite(this.media.duration) ? this.media.duration : Number(this.dataset.duration); }
  get at() { return this.media.readyState > 0 ? this.media.currentTime : this.pending; }

  arrive() {
    if (this.pending) { this.media.currentTime = this.pending; this.pending = 0; }
    this.show();
  }

  seek(seconds) {
    const at = Math.max(0, Math.min(seconds, this.length || seconds));
    this.hasMoved = true;
    if (this.media.readyState > 0) this.media.currentTime = at;
    else { this.pending = at; this.media.load(); }
    this.scrolledAt = 0;
    this.show();
  }

  toggle() {
    if (!this.media.paused) { this.media.pause(); return; }
    // After an error, playing needs the file again.
    if (this.media.error) { this.pending = this.at; this.media.load(); }
    // A pause or another file also rejects this, and is no fault.
    this.media.play().catch(() => this.showFault());
  }

  /** Goes to the row that is so many rows after the current one. */
  step(by) {
    const row = this.rows[Math.max(0, rowAt(this.starts, this.at + 0.05) + by)];
    if (row) this.seek(Number(row.dataset.from));
  }

  changeSpeed(direction) { this.media.playbackRate = nextSpeed(this.media.playbackRate, direction); }

  /** Does what a button or a key is for. Returns whether there is such an action. */
  act(name) {
    const does = {
      backward: () => this.seek(this.at - 15),
      forward: () => this.seek(this.at + 30),
      play: () => this.toggle(),
      speed: () => { const next = nextSpeed(this.media.playbackRate, 1); this.media.playbackRate = next === this.media.playbackRate ? SPEEDS[0] : next; },
      follow: () => { this.follows = !this.follows; this.querySelector("[data-do=follow]").setAttribute("aria-pressed", String(this.follows)); this.show(); },
      now: () => { this.scrolledAt = 0; this.show(); },
      "previous-line": () => this.step(-1),
      "next-line": () => this.step(1),
      slower: () => this.changeSpeed(-1),
      faster: () => this.changeSpeed(1),
    }[name];
    does?.();
    return Boolean(does);
  }

  followLink(event) {
    const link = event.target.closest(".said-row .place, [data-seek]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const row = link.closest(".said-row");
    const seconds = row ? Number(row.dataset.from) : Number(link.dataset.seek);
    // Another part of the transcript is another page.
    if (!row && (seconds < this.starts[0] || seconds > Number(this.rows.at(-1)?.dataset.until))) return;
    event.preventDefault();
    this.seek(seconds);
  }

  /** Seeks to a word by its share of the row. */
  seekToWord(event) {
    const row = event.target.closest?.(".said-row p")?.closest(".said-row");
    const selection = getSelection();
    if (!row || !selection.anchorNode) return;
    const before = new Range();
    before.setStart(row.querySelector("p"), 0);
    before.setEnd(selection.anchorNode, selection.anchorOffset);
    const share = before.toString().length / Math.max(1, row.querySelector("p").textContent.length);
    const [from, until] = [Number(row.dataset.from), Number(row.dataset.until)];
    this.seek(from + share * (until - from));
  }

  show() {
    const [at, length] = [this.at, this.length];
    this.querySelector("[data-time=at]").textContent = clock(at);
    this.querySelector("[data-time=left]").textContent = length ? `−${clock(length - at)}` : "";
    if (length) {
      this.range.max = String(Math.floor(length));
      this.querySelector(".done").setAttribute("width", String(Math.round((at / length) * 1000)));
    }
    this.range.value = String(Math.floor(at));
    this.range.setAttribute("aria-valuetext", this.dataset.position.replace("%a", clock(at)).replace("%d", clock(length)));
    this.mark(rowAt(this.starts, at + 0.05));
  }

  mark(index) {
    const row = this.rows[index];
    if (row && !row.classList.contains("is-current")) {
      for (const other of document.querySelectorAll(".said-row.is-current")) { other.classList.remove("is-current"); other.removeAttribute("aria-current"); }
      row.classList.add("is-current");
      row.setAttribute("aria-current", "true");
    }
    const isAway = Date.now() - this.scrolledAt < FOLLOW_PAUSE_MILLIS;
    const box = row?.getBoundingClientRect();
    const isInMiddle = !box || (box.top > innerHeight / 3 && box.bottom < (innerHeight * 2) / 3);
    const mayMove = this.follows && !isAway && !this.media.paused && getSelection().isCollapsed;
    if (row && !isInMiddle && mayMove) row.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth" });
    this.querySelector("[data-do=now]").hidden = !(row && !this.media.paused && (isAway || !this.follows) && (box.bottom < 0 || box.top > innerHeight));
  }

  showPlaying() {
    const isPaused = this.media.paused;
    this.querySelector("[data-do=play]").setAttribute("aria-label", isPaused ? this.dataset.play : this.dataset.pause);
    this.querySelector("[data-when=paused]").hidden = !isPaused;
    this.querySelector("[data-when=playing]").hidden = isPaused;
    this.show();
  }

  showSpeed() {
    const button = this.querySelector("[data-do=speed]");
    button.textContent = `${this.media.playbackRate}×`;
    button.setAttribute("aria-label", this.dataset.speed.replace("%s", String(this.media.playbackRate)));
  }

  showBuffered() {
    const { buffered } = this.media;
    const end = buffered.length ? buffered.end(buffered.length - 1) : 0;
    if (this.length) this.querySelector(".buffered").setAttribute("width", String(Math.round((end / this.length) * 1000)));
  }

  /** Shows that the recording cannot be played, as long as that holds. */
  showFault() {
    const place = this.querySelector("[data-fault]");
    place.textContent = this.media.error ? this.dataset.missing : "";
    place.hidden = !this.media.error;
  }

  /** Saves the position: the first word of the current row, and the time, which is the only position of a recording without a transcript. */
  save() {
    if (!this.hasMoved) return;
    const words = this.rows[rowAt(this.starts, this.at)]?.querySelector("[data-start]");
    if (!words && this.rows.some((row) => row.querySelector("[data-start]"))) return;
    const isAtEnd = this.length > 0 && this.at > this.length - 5;
    const place = { offset: Number(words?.dataset.start ?? 0), version: Number(this.dataset.version), seconds: Math.floor(this.at) };
    const body = JSON.stringify({ ...place, ...(isAtEnd ? { atEnd: true } : {}) });
    navigator.sendBeacon(`/app/api/documents/${this.dataset.document}/position`, new Blob([body], { type: "application/json" }));
  }
}

customElements.define("c-player", CPlayer);
