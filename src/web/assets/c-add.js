// Saving: says at once which of the pasted addresses are saved already or refused, and uploads files with their progress.
import { noteChange, replace, request } from "./swap.js";

const PAUSE_MS = 250;

class CarrelAdd extends HTMLElement {
  connectedCallback() {
    if (this.dataset.mode === "files") this.#files(); else this.#pages();
  }

  #pages() {
    const area = this.querySelector("textarea[name=urls]");
    const form = this.querySelector("form");
    let timer = 0;
    let asked = 0;
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const number = ++asked;
        const url = new URL("/add", location.href);
        url.searchParams.set("urls", area.value.slice(0, 16000));
        try {
          const answer = await request(url.href, { parts: ["add-found"] });
          // An answer to what was typed before says nothing about what stands there now.
          if (answer?.page && number === asked && this.isConnected) replace(answer.page, ["add-found"]);
        } catch { /* Saving is never blocked by a preview. */ }
      }, PAUSE_MS);
    });
    // What was typed before this module ran.
    if (area.value !== area.defaultValue) area.dispatchEvent(new Event("input"));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
    });
  }

  #files() {
    const input = this.querySelector("input[type=file]");
    const drop = this.querySelector(".drop");
    const sendChosen = () => { this.#send([...input.files]); input.value = ""; };
    input.addEventListener("change", sendChosen);
    // Files that were chosen before this module ran.
    if (input.files.length) sendChosen();
    for (const type of ["dragenter", "dragover"]) {
      drop.addEventListener(type, (event) => { event.preventDefault(); drop.classList.add("is-over"); });
    }
    for (const type of ["dragleave", "drop"]) drop.addEventListener(type, () => drop.classList.remove("is-over"));
    drop.addEventListener("drop", (event) => { event.preventDefault(); this.#send([...event.dataTransfer.files]); });
  }

  // One after the other: together they would only share the line.
  async #send(files) {
    const rows = files.map((file) => ({ file, row: this.#row(file) }));
    for (const { file, row } of rows) await this.#upload(file, row);
  }

  #row(file) {
    const item = document.createElement("li");
    const bar = document.createElement("progress");
    Object.assign(bar, { value: 0, max: Math.max(file.size, 1) });
    bar.setAttribute("aria-label", file.name);
    const text = document.createElement("div");
    const name = document.createElement("b");
    name.className = "serif";
    name.dir = "auto";
    name.textContent = file.name;
    text.append(name, bar);
    const state = document.createElement("span");
    state.className = "state";
    state.textContent = this.dataset.waiting;
    item.append(document.createElement("span"), text, state);
    this.querySelector("[data-list]").append(item);
    return { item, bar, state, text };
  }

  async #upload(file, row) {
    row.state.textContent = this.dataset.sending;
    try {
      const announced = await this.#json(this.dataset.uploads, { filename: file.name, contentType: file.type || "application/pdf", bytes: file.size });
      await this.#put(announced, file, row.bar);
      const done = await this.#json(`${this.dataset.uploads}/${announced.uploadId}/complete`, {});
      noteChange();
      row.state.className = "state is-success";
      row.state.textContent = this.dataset.done;
      row.bar.remove();
      const link = document.createElement("a");
      link.className = "link";
      link.href = `/read/${done.documentId}`;
      link.textContent = this.dataset.open;
      row.text.append(link);
    } catch (error) {
      row.bar.remove();
      row.state.className = "state is-error";
      row.state.textContent = error.words ?? this.dataset.failed;
    }
  }

  async #json(url, body) {
    const response = await fetch(url, {
      method: "POST", credentials: "same-origin", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
    const answer = await response.json();
    if (answer.success) return answer.data;
    const words = { 400: this.dataset.type, 402: this.dataset.full, 403: this.dataset.full, 413: this.dataset.full, 507: this.dataset.full }[response.status];
    throw Object.assign(new Error("refused"), { words });
  }

  #put({ putUrl, putHeaders }, file, bar) {
    return new Promise((done, failed) => {
      const sent = new XMLHttpRequest();
      sent.open("PUT", putUrl);
      for (const [name, value] of Object.entries(putHeaders)) sent.setRequestHeader(name, value);
      sent.upload.addEventListener("progress", (event) => { bar.value = event.loaded; });
      sent.addEventListener("load", () => (sent.status < 300 ? done() : failed(new Error("refused"))));
      for (const type of ["error", "abort", "timeout"]) sent.addEventListener(type, () => failed(new Error(type)));
      sent.send(file);
    });
  }
}

customElements.define("c-add", CarrelAdd);
