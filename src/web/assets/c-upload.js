// Files that are dropped or chosen: each is announced, sent to its address with progress, and completed. Without this module the form
// sends them.
import { noteChange, replace, request } from "./swap.js";
import { announce } from "./toast.js";
import { refusal, upload } from "./upload.js";

const PARALLEL = 2;

class CUpload extends HTMLElement {
  #waiting = [];
  #running = 0;

  connectedCallback() {
    const zone = this.querySelector("form");
    const input = this.querySelector("input[type=file]");
    input.addEventListener("change", () => { this.#add(input.files); input.value = ""; });
    for (const type of ["dragenter", "dragover"]) {
      zone.addEventListener(type, (event) => { event.preventDefault(); zone.classList.add("is-over"); });
    }
    zone.addEventListener("dragleave", () => zone.classList.remove("is-over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("is-over");
      this.#add(event.dataTransfer.files);
    });
    addEventListener("beforeunload", (event) => { if (this.#running) event.preventDefault(); });
  }

  #add(files) {
    const list = this.querySelector("[data-sending-list]");
    for (const file of files) {
      const row = this.querySelector("template").content.firstElementChild.cloneNode(true);
      row.querySelector(".title").textContent = file.name;
      row.querySelector("progress").setAttribute("aria-label", file.name);
      list.append(row);
      const fault = refusal(file, Number(this.dataset.largest));
      const { wrongType, empty, tooLarge } = this.dataset;
      if (fault) this.#end(row, { type: wrongType, empty, size: tooLarge }[fault], "is-error");
      else this.#queue({ file, row, stop: new AbortController() });
    }
    this.#next();
  }

  #queue(sending) {
    sending.row.querySelector("button")?.addEventListener("click", () => this.#stop(sending));
    this.#waiting.push(sending);
  }

  #stop(sending) {
    sending.stop.abort();
    // One that is sent ends by itself.
    if (!this.#waiting.includes(sending)) return;
    this.#waiting = this.#waiting.filter((other) => other !== sending);
    this.#end(sending.row, this.dataset.stopped, "");
  }

  #next() {
    while (this.#running < PARALLEL && this.#waiting.length) {
      this.#running += 1;
      this.#send(this.#waiting.shift()).finally(() => { this.#running -= 1; this.#next(); });
    }
  }

  async #send({ file, row, stop }) {
    const state = row.querySelector(".state");
    state.textContent = this.dataset.sending;
    try {
      const progress = row.querySelector("progress");
      await upload(this.dataset.announce, file, {
        signal: stop.signal,
        onProgress: (part) => { progress.value = part; },
        onSent: () => { state.textContent = this.dataset.finishing; },
      });
      this.#end(row, this.dataset.sent, "is-success");
      announce(`${file.name}: ${this.dataset.sent}`);
      row.remove();
      noteChange();
      await this.#refresh();
    } catch (error) {
      const { stopped, full, failed } = this.dataset;
      if (stop.signal.aborted) this.#end(row, stopped, "");
      else this.#end(row, { 402: full, 403: full, 413: full, 507: full }[error.status] ?? failed, "is-error");
    }
  }

  #end(row, words, kind) {
    const state = row.querySelector(".state");
    state.textContent = words;
    if (kind) state.classList.add(kind);
    row.querySelector("progress")?.remove();
    row.querySelector("button")?.remove();
  }

  async #refresh() {
    const answer = await request(this.dataset.part, { parts: ["work", "storage"] });
    if (answer?.page) replace(answer.page, ["work", "storage"]);
  }
}

customElements.define("c-upload", CUpload);
