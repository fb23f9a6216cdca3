// Saving: says at once which of the pasted addresses are saved already or refused, and uploads files with their progress.
import { noteChange, replace, request } from "./swap.js";
import { refusal, upload } from "./upload.js";

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
    const rows = files.map((file) => ({ file, row: this.#row(file), fault: refusal(file, Number(this.dataset.largest)) }));
    const { type, empty, tooLarge } = this.dataset;
    for (const { row, fault } of rows) if (fault) this.#fail(row, { type, empty, size: tooLarge }[fault]);
    for (const { file, row, fault } of rows) if (!fault) await this.#upload(file, row);
  }

  #row(file) {
    const item = document.createElement("li");
    const bar = document.createElement("progress");
    bar.value = 0;
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
      const done = await upload(this.dataset.uploads, file, { onProgress: (part) => { row.bar.value = part; } });
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
      const { type, full, failed } = this.dataset;
      this.#fail(row, { 400: type, 402: full, 403: full, 413: full, 507: full }[error.status] ?? failed);
    }
  }

  #fail({ bar, state }, words) {
    bar.remove();
    state.className = "state is-error";
    state.textContent = words;
  }
}

customElements.define("c-add", CarrelAdd);
