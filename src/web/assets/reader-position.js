// Where one stopped in a text: kept while it is scrolled, and shown in the bar, at the edge and in the outline.

const SAVE_MILLIS = 10_000;
const SHOW_MILLIS = 250;
const END_MILLIS = 2_000;

export class Position {
  constructor(reader) {
    this.reader = reader;
    this.moved = false;
    this.isAtEnd = false;
    this.headings = [...reader.querySelectorAll(".outline a[data-offset]")];
    let timer = 0;
    addEventListener("scroll", () => {
      this.moved = true;
      if (!timer) timer = setTimeout(() => { timer = 0; this.show(); }, SHOW_MILLIS);
    }, { passive: true });
    setInterval(() => this.save(), SAVE_MILLIS);
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.save(); });
    addEventListener("pagehide", () => this.save());
    this.watchEnd();
    this.show();
  }

  /** Notes when the end of the text stays on the screen. Where later pages or parts are not on the page, it is not the end. */
  watchEnd() {
    const end = this.reader.querySelector("#read-end");
    if (!end) return;
    let timer = 0;
    new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry.isIntersecting) timer = setTimeout(() => this.reachEnd(), END_MILLIS);
    }).observe(end);
  }

  reachEnd() {
    if (this.reader.querySelector("#next-part")) return;
    this.isAtEnd = true;
    this.moved = true;
    this.save();
  }

  show() {
    const offset = this.reader.firstVisible();
    if (offset === null) return;
    const { total, minutes } = this.reader.dataset;
    const share = this.isAtEnd ? 1 : Math.min(1, offset / Math.max(1, Number(total)));
    document.querySelector("#spine .done")?.setAttribute("height", String(Math.round(share * 1000)));
    const left = Math.ceil(Number(minutes) * (1 - share));
    const label = document.getElementById("left");
    if (label) label.textContent = left > 0 ? label.dataset.left.replace("%n", String(left)) : label.dataset.done;
    const current = this.headings.findLast((heading) => Number(heading.dataset.offset) <= offset + 1);
    for (const heading of this.headings) {
      if (heading === current) heading.setAttribute("aria-current", "location"); else heading.removeAttribute("aria-current");
    }
  }

  save() {
    if (!this.moved) return;
    this.moved = false;
    const offset = this.reader.firstVisible();
    const version = Number(this.reader.dataset.version);
    if (offset === null || version < 1) return;
    const body = JSON.stringify({ offset, version, ...(this.isAtEnd ? { atEnd: true } : {}) });
    navigator.sendBeacon(`${this.reader.api}/position`, new Blob([body], { type: "application/json" }));
  }
}
