// The list of tags: its bar appears with the first tick, and says how many there are.
import { countText } from "./selection.js";

class CarrelTags extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.bar = this.querySelector(".bulk");
    this.form.addEventListener("change", () => this.#show());
    const clear = this.querySelector("[data-clear]");
    clear?.removeAttribute("hidden");
    clear?.addEventListener("click", () => {
      for (const box of this.#boxes()) box.checked = false;
      this.#show();
    });
    this.#show();
  }

  #boxes() { return [...this.querySelectorAll("tbody input[name=name]")]; }

  #show() {
    const ticked = this.#boxes().filter((box) => box.checked);
    this.bar.hidden = ticked.length === 0;
    const words = this.bar.querySelector("[data-count]");
    const text = countText(this.dataset, ticked.length);
    if (words.textContent !== text) words.textContent = text;
    const { into } = this.form.elements;
    // The first ticked tag is what the others usually become.
    if (into && !into.dataset.typed) into.value = ticked[0]?.value ?? "";
    into?.addEventListener("input", () => { into.dataset.typed = "1"; }, { once: true });
  }
}

customElements.define("c-tags", CarrelTags);
