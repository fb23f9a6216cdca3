// Files that are dropped or chosen: each is announced, sent to its address with progress, and completed. Without this module the form
// sends them.
import { mediaType } from "./media-type.js";
import { noteChange, replace, request } from "./swap.js";
import { announce } from "./toast.js";

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
      const type = mediaType(file.name, file.type);
      if (!type) this.#end(row, this.dataset.wrongType, "is-error");
      else if (file.size > Number(this.dataset.largest)) this.#end(row, this.dataset.tooLarge, "is-error");
      else this.#queue({ file, row, type, stop: new AbortController() });
    }
    this.#next();
  }

  #queue(upload) {
    upload.row.querySelector("button")?.addEventListener("click", () => this.#stop(upload));
    this.#waiting.push(upload);
  }

  #stop(upload) {
    upload.stop.abort();
    // One that is sent ends by itself.
    if (!this.#waiting.includes(upload)) return;
    this.#waiting = this.#waiting.filter((other) => other !== upload);
    this.#end(upload.row, this.dataset.stopped, "");
  }

  #next() {
    while (this.#running < PARALLEL && this.#waiting.length) {
      this.#running += 1;
      this.#send(this.#waiting.shift()).finally(() => { this.#running -= 1; this.#next(); });
    }
  }

  async #send({ file, row, type, stop }) {
    const state = row.querySelector(".state");
    state.textContent = this.dataset.sending;
    try {
      const ticket = await this.#post(this.dataset.announce, { filename: file.name, contentType: type, bytes: file.size }, stop.signal);
      await this.#put(ticket, file, row, stop.signal);
      state.textContent = this.dataset.finishing;
      await this.#post(`${this.dataset.announce}/${ticket.uploadId}/complete`, {}, stop.signal);
      this.#end(row, this.dataset.sent, "is-success");
      announce(`${file.name}: ${this.dataset.sent}`);
      row.remove();
      noteChange();
      await this.#refresh();
    } catch (error) {
      const isStopped = stop.signal.aborted;
      this.#end(row, isStopped ? this.dataset.stopped : error.words ?? this.dataset.failed, isStopped ? "" : "is-error");
    }
  }

  async #post(url, body, signal) {
    const response = await fetch(url, {
      method: "POST", credentials: "same-origin", signal,
      headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body),
    });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw Object.assign(new Error("refused"), { words: answer.error?.message });
    return answer.data;
  }

  // fetch has no progress of what is sent.
  #put(ticket, file, row, signal) {
    return new Promise((done, failed) => {
      const sent = new XMLHttpRequest();
      const progress = row.querySelector("progress");
      sent.upload.addEventListener("progress", (event) => { if (event.lengthComputable) progress.value = event.loaded / event.total; });
      sent.addEventListener("load", () => (sent.status < 300 ? done() : failed(new Error("refused"))));
      for (const type of ["error", "abort", "timeout"]) sent.addEventListener(type, () => failed(new Error(type)));
      signal.addEventListener("abort", () => sent.abort());
      sent.open("PUT", ticket.putUrl);
      for (const [name, value] of Object.entries(ticket.putHeaders)) sent.setRequestHeader(name, value);
      sent.send(file);
    });
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
