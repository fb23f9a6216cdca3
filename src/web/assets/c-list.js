// A list of bookmarks: keys, and a selection that survives paging. Without it rows have ticks, and the bar below them acts on those.
import { onKeys } from "./keys.js";
import { between, countText, load, moved, save } from "./selection.js";

// These go on to another page, with the form as it is.
const ONWARD = new Set(["tag", "collection", "project", "ask"]);
// The actions of keys, with the buttons that they press.
const ACTIONS = { archive: "archive", favorite: "favorite", tags: "tag", collection: "collection", delete: "delete", refetch: "refetch" };

class CarrelList extends HTMLElement {
  #ids = new Set();
  #last;
  // Whether the form that is sent ends the selection.
  #isEnding = false;

  connectedCallback() {
    this.form = this.querySelector("form");
    this.bar = this.querySelector(".bulk");
    this.#ids = load(sessionStorage, this.dataset.key);
    for (const box of this.#boxes()) box.checked = this.#ids.has(box.value);
    this.form.addEventListener("change", (event) => this.#changed(event));
    this.form.addEventListener("click", (event) => this.#clicked(event));
    this.form.addEventListener("submit", (event) => this.#submitted(event));
    this.form.addEventListener("formdata", (event) => this.#completed(event.formData));
    // The list of the answer reads what is kept: a change that was refused, or waits for a connection, keeps the selection.
    this.form.addEventListener("carrel:done", () => { if (this.#isEnding) save(sessionStorage, this.dataset.key, new Set()); });
    this.form.addEventListener("focusin", (event) => this.#focus(event.target.closest("[data-id]"), false));
    this.ended = new AbortController();
    this.forgetKeys = onKeys("list", (action) => this.#act(action));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#ids.size > 0 && !document.querySelector("dialog[open]")) this.#clear();
    }, { signal: this.ended.signal });
    this.querySelector("[data-clear]")?.removeAttribute("hidden");
    // The reader goes through the documents of the list that was shown last.
    sessionStorage.setItem("carrel-order", JSON.stringify([...this.querySelectorAll("[data-id] :is(.title, h2) a")].map((link) => link.pathname)));
    this.#show();
  }

  disconnectedCallback() { this.ended?.abort(); this.forgetKeys?.(); }

  #boxes() { return [...this.querySelectorAll("input.pick")]; }
  #rows() { return [...this.querySelectorAll("[data-id]")]; }
  #all() { return this.form.elements.all?.checked ?? false; }
  #current() { return this.querySelector(".is-focused"); }

  #show() {
    const all = this.#all();
    const count = all ? Number(this.dataset.total) : this.#ids.size;
    for (const box of this.#boxes()) {
      box.checked = all || this.#ids.has(box.value);
      box.closest("[data-id]")?.classList.toggle("is-selected", box.checked);
    }
    const words = this.bar.querySelector("[data-count]");
    const text = countText(this.dataset, count, all ? this.bar.dataset.total : undefined);
    if (words.textContent !== text) words.textContent = text;
    this.bar.hidden = count === 0;
    save(sessionStorage, this.dataset.key, this.#ids);
  }

  #pick(ids, on) {
    for (const id of ids) if (on) this.#ids.add(id); else this.#ids.delete(id);
    if (!on && this.form.elements.all) this.form.elements.all.checked = false;
    this.#show();
  }

  #changed({ target }) {
    if (target.name === "all") { this.#show(); return; }
    if (!target.matches(".pick")) return;
    this.#last = target.value;
    this.#pick([target.value], target.checked);
  }

  #clicked(event) {
    if (event.target.closest("[data-clear]")) { this.#clear(); return; }
    const box = event.target.closest("input.pick");
    if (!box || !event.shiftKey || !this.#last) return;
    this.#pick(between(this.#rows().map((row) => row.dataset.id), this.#last, box.value), box.checked);
  }

  #clear() {
    if (this.form.elements.all) this.form.elements.all.checked = false;
    this.#ids.clear();
    this.#show();
  }

  #submitted(event) {
    const { submitter } = event;
    // The list is swapped for everything that stays here; the others are pages of their own.
    if (ONWARD.has(submitter?.value)) event.stopPropagation();
    else this.#isEnding = submitter?.name === "action";
  }

  // The form has the ticks of this page alone: the ids of the other pages are added.
  #completed(data) {
    if (data.get("all")) { data.delete("id"); } else {
      const shown = new Set(data.getAll("id"));
      for (const id of this.#ids) if (!shown.has(id)) data.append("id", id);
    }
  }

  #focus(row, scroll = true) {
    if (!row) return;
    for (const other of this.querySelectorAll(".is-focused")) other.classList.remove("is-focused");
    row.classList.add("is-focused");
    if (scroll) {
      const link = row.querySelector(".title a, h2 a");
      link?.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
  }

  #act(action) {
    const rows = this.#rows();
    const row = this.#current();
    const step = { next: 1, previous: -1, "extend-next": 1, "extend-previous": -1 }[action];
    if (step) {
      const next = rows[moved(rows.indexOf(row), step, rows.length)];
      this.#focus(next);
      if (next && action.startsWith("extend")) this.#pick([row?.dataset.id, next.dataset.id].filter(Boolean), true);
      return Boolean(next);
    }
    if (action === "select-all") { this.#pick(rows.map((it) => it.dataset.id), true); return true; }
    if (action === "select-none") { this.#clear(); return true; }
    if (ACTIONS[action]) return this.#run(ACTIONS[action], row);
    if (!row) return false;
    if (action === "open") { row.querySelector(".title a, h2 a")?.click(); return true; }
    if (action === "original") { open(row.dataset.url, "_blank", "noopener,noreferrer"); return true; }
    if (action !== "select") return false;
    this.#last = row.dataset.id;
    this.#pick([row.dataset.id], !this.#ids.has(row.dataset.id));
    return true;
  }

  // An action on the selection, or else on the current row.
  #run(action, row) {
    if (this.#ids.size === 0 && !this.#all()) {
      if (!row) return false;
      this.#pick([row.dataset.id], true);
    }
    const button = this.bar.querySelector(`button[name=action][value=${action}]`);
    if (button) this.form.requestSubmit(button);
    return Boolean(button);
  }
}

customElements.define("c-list", CarrelList);
