// <c-pdf>: pages of a PDF that load as they come into view, the current page, zoom, and copying over lines. Without it one page is shown,
// with links to the others.
import { isField, onKeys } from "./keys.js";
import { joinRuns, nextZoom } from "./pdf-runs.js";
import { noteAddress, request } from "./swap.js";

const RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 60;

class CPdf extends HTMLElement {
  connectedCallback() {
    this.pages = this.querySelector("#text");
    this.zoom = 0;
    this.current = Number(document.getElementById("pn")?.value ?? 1);
    this.loading = new Set();
    this.watchPages();
    this.watchZoom();
    document.addEventListener("carrel:swap", (event) => { if (event.detail.ids.includes("notes")) this.redraw(); });
    document.addEventListener("keydown", (event) => this.key(event));
    onKeys("pdf", (action) => this.act(action));
    this.addEventListener("copy", (event) => this.copy(event));
    document.querySelector(".pageno")?.addEventListener("submit", (event) => this.submit(event));
    for (const link of this.querySelectorAll("[data-thumb]")) {
      link.addEventListener("click", (event) => { if (!event.metaKey && !event.ctrlKey) { event.preventDefault(); this.go(Number(link.dataset.thumb)); } });
    }
    this.querySelector("#at")?.scrollIntoView({ block: "center" });
    if (!this.querySelector("#at") && this.current > 1) this.go(this.current, "instant");
  }

  // --- Pages ------------------------------------------------------------------------------------------------------------------

  watchPages() {
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.load(entry.target);
    }, { rootMargin: "150% 0%" });
    this.places = new IntersectionObserver(() => this.showCurrent(), { threshold: [0, 0.25, 0.5, 0.75, 1] });
    for (const figure of this.pages.querySelectorAll(".pdf-page")) this.watch(figure);
  }

  watch(figure) {
    if (figure.classList.contains("is-waiting")) this.observer.observe(figure);
    this.places.observe(figure);
  }

  async load(figure, again = false) {
    const number = figure.dataset.page;
    if (this.loading.has(number) || (!again && !figure.classList.contains("is-waiting"))) return;
    this.loading.add(number);
    this.observer.unobserve(figure);
    const query = this.dataset.find ? `?find=${encodeURIComponent(this.dataset.find)}` : "";
    try {
      const answer = await request(`/read/${this.dataset.document}/pages/${number}${query}`, { parts: [`p${number}`] });
      const fresh = answer?.page?.getElementById(`p${number}`);
      if (answer && !answer.response.ok && !again) this.retry(figure, answer.response);
      if (!fresh || !answer.response.ok) return;
      this.places.unobserve(figure);
      if (again) this.exchange(figure, fresh); else { figure.replaceWith(document.adoptNode(fresh)); this.watch(fresh); }
      document.querySelector("c-reader")?.read();
    } catch {
      // It stays as it is, with its link.
      if (!again) this.retry(figure);
    } finally {
      this.loading.delete(number);
    }
  }

  /** Tries again to load a page. Later, because the observer reports a page that is in view at once. */
  retry(figure, response) {
    if (response && response.status !== 429 && response.status < 500) return;
    const seconds = Number(response?.headers.get("Retry-After")) || RETRY_SECONDS;
    setTimeout(() => this.observer.observe(figure), Math.min(seconds, MAX_RETRY_SECONDS) * 1000);
  }

  /** Takes the marks of a page that was loaded again; its picture and words stay, and with them a selection. */
  exchange(figure, fresh) {
    const marks = fresh.querySelector(".marks");
    if (marks) figure.querySelector(".marks")?.replaceWith(document.adoptNode(marks));
    this.places.observe(figure);
  }

  /** Draws the highlights again on the pages that are loaded and near. */
  redraw() {
    for (const figure of this.pages.querySelectorAll(".pdf-page:not(.is-waiting)")) {
      const box = figure.getBoundingClientRect();
      if (box.bottom > -innerHeight && box.top < 2 * innerHeight) this.load(figure, true);
    }
  }

  showCurrent() {
    const middle = innerHeight / 2;
    const figures = [...this.pages.querySelectorAll(".pdf-page")];
    const shown = figures.find((figure) => figure.getBoundingClientRect().bottom > middle);
    const number = Number(shown?.dataset.page);
    if (!number || number === this.current) return;
    this.current = number;
    const field = document.getElementById("pn");
    if (field && document.activeElement !== field) field.value = String(number);
    for (const [id, page] of [["page-before", number - 1], ["page-next", number + 1]]) {
      const link = document.getElementById(id);
      if (link && page >= 1 && page <= Number(this.dataset.pages)) link.href = `/read/${this.dataset.document}?page=${page}`;
    }
    for (const link of this.querySelectorAll("[data-thumb]")) {
      if (Number(link.dataset.thumb) === number) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest" });
      } else link.removeAttribute("aria-current");
    }
    const url = new URL(location.href);
    url.searchParams.set("page", String(number));
    url.searchParams.delete("at");
    url.hash = "";
    history.replaceState(history.state, "", url);
    noteAddress();
  }

  go(number, behavior = "auto") {
    const figure = document.getElementById(`p${number}`);
    if (figure) figure.scrollIntoView({ block: "start", behavior });
    else location.assign(`/read/${this.dataset.document}?page=${number}`);
  }

  submit(event) {
    const number = Number(new FormData(event.target).get("page"));
    if (!Number.isInteger(number) || number < 1 || number > Number(this.dataset.pages)) return;
    event.preventDefault();
    this.go(number);
  }

  // --- Zoom -------------------------------------------------------------------------------------------------------------------

  watchZoom() {
    const buttons = document.querySelector(".zoom");
    if (!buttons) return;
    buttons.hidden = false;
    buttons.addEventListener("click", (event) => {
      const { zoom } = event.target.closest("[data-zoom]")?.dataset ?? {};
      if (zoom === "fit") this.setZoom(0);
      else if (zoom) this.step(zoom === "in" ? 1 : -1);
    });
    this.pages.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.step(event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
  }

  step(direction) { this.setZoom(nextZoom(this.zoom || 100, direction)); }

  /** Sets the zoom in per cent of the usual width; 0 fits the window. The words in view stay in view. */
  setZoom(zoom) {
    const figure = document.getElementById(`p${this.current}`);
    const share = figure ? -figure.getBoundingClientRect().top / Math.max(1, figure.offsetHeight) : 0;
    this.zoom = zoom;
    this.pages.classList.toggle("is-zoomed", zoom > 0);
    this.pages.style.setProperty("--page-width", zoom ? `${(50 * zoom) / 100}rem` : "50rem");
    for (const image of this.pages.querySelectorAll(".pdf-page > img")) image.sizes = zoom ? `${(50 * zoom) / 100}rem` : "(max-width: 50rem) 100vw, 50rem";
    document.querySelector("[data-zoom=fit]")?.setAttribute("aria-pressed", String(zoom === 0));
    if (figure) scrollBy({ top: figure.getBoundingClientRect().top + share * figure.offsetHeight, behavior: "instant" });
  }

  // --- Keyboard and copying ---------------------------------------------------------------------------------------------------

  /** Does the action of a key. Returns whether there is one. */
  act(action) {
    if (action === "zoom-in") this.step(1);
    else if (action === "zoom-out") this.step(-1);
    else if (action === "zoom-reset") this.setZoom(0);
    else return false;
    return true;
  }

  /** Keys of the browser that do the same over all pages, and are no single keys of the app. */
  key(event) {
    if (document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") {
      const field = document.querySelector("[data-find]");
      // On narrow screens the field is in the menu, and the browser searches what is loaded.
      if (field?.getClientRects().length && document.activeElement !== field) { event.preventDefault(); field.focus(); field.select(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return;
    const pages = { PageDown: 1, PageUp: -1 }[event.key];
    if (pages) { event.preventDefault(); this.go(Math.max(1, Math.min(Number(this.dataset.pages), this.current + pages))); }
  }

  copy(event) {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    const range = selection.getRangeAt(0);
    const runs = [...this.pages.querySelectorAll(".words text")].filter((run) => range.intersectsNode(run)).map((run) => {
      const words = run.textContent;
      const from = run.contains(range.startContainer) ? range.startOffset : 0;
      const to = run.contains(range.endContainer) ? range.endOffset : words.length;
      return { start: Number(run.dataset.start) + [...words.slice(0, from)].length, words: words.slice(from, to) };
    }).filter((run) => run.words);
    if (!runs.length) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", joinRuns(runs));
  }
}

customElements.define("c-pdf", CPdf);
