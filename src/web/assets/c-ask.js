// Questions: walks through the citations, keeps the focus with the source that is open, and copies answers with their sources.
import { announce } from "./toast.js";
import { onKeys } from "./keys.js";
import { neighbour } from "./citation-steps.js";

const HOVER_MILLISECONDS = 300;

class Ask extends HTMLElement {
  #opener = null;
  #isMoved = false;
  #hover = 0;
  #forgetKeys = () => {};

  connectedCallback() {
    this.addEventListener("click", this);
    this.addEventListener("keydown", this);
    this.addEventListener("pointerover", this);
    this.addEventListener("pointerout", this);
    this.#forgetKeys = onKeys("ask", (action) => this.#walk(action === "next-citation" ? 1 : -1));
    document.addEventListener("keydown", this.#onKey);
    document.addEventListener("carrel:swap", this.#onSwap);
    document.addEventListener("pointerdown", this.#onOutside);
  }

  disconnectedCallback() {
    this.#forgetKeys();
    document.removeEventListener("keydown", this.#onKey);
    document.removeEventListener("carrel:swap", this.#onSwap);
    document.removeEventListener("pointerdown", this.#onOutside);
  }

  handleEvent(event) {
    if (event.type === "pointerover" || event.type === "pointerout") this.#showQuote(event);
    else if (event.type === "keydown") this.#send(event);
    else this.#click(event);
  }

  #click(event) {
    const chip = event.target.closest("a.cite[href]");
    if (chip) {
      this.#opener = chip.getAttribute("href");
      this.#isMoved = true;
    }
    if (event.target.closest("[data-close-source]")) this.#isMoved = true;
    const copy = event.target.closest("[data-copy-answer]");
    const text = copy && this.querySelector(`#${copy.dataset.copyAnswer}`);
    if (text && navigator.clipboard) {
      event.preventDefault();
      const words = document.getElementById("live-region")?.dataset.copied ?? "";
      navigator.clipboard.writeText(text.value).then(() => announce(words, true), () => location.assign(copy.href));
    }
  }

  // Ctrl or Command with Enter sends the question.
  #send(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.matches("textarea[data-send]")) return;
    event.preventDefault();
    event.target.form?.requestSubmit();
  }

  #onKey = (event) => {
    const side = this.querySelector("aside#side");
    if (event.key !== "Escape" || !side || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    side.querySelector("[data-close-source]")?.click();
  };

  #walk(step) {
    const chips = [...this.querySelectorAll(".sources li > a.cite")];
    const open = chips.findIndex((chip) => chip.hasAttribute("aria-current"));
    const next = chips[neighbour(chips.length, open, step)];
    next?.click();
    return Boolean(next);
  }

  // After the swap: to the source that was opened, or back to the chip that opened it.
  #onSwap = (event) => {
    if (!event.detail.ids.includes("side") || !this.#isMoved) return;
    this.#isMoved = false;
    const side = this.querySelector("aside#side");
    if (side) {
      side.focus({ preventScroll: true });
      side.querySelector("mark.cited")?.scrollIntoView({ block: "nearest" });
      return;
    }
    const chips = [...this.querySelectorAll("a.cite[href]")];
    chips.find((chip) => chip.getAttribute("href") === this.#opener)?.focus({ preventScroll: true });
    this.#opener = null;
  };

  // A form that was opened closes when something else is pressed.
  #onOutside = (event) => {
    for (const details of this.querySelectorAll("details.ask-save[open]")) {
      if (!details.contains(event.target)) details.open = false;
    }
  };

  #showQuote(event) {
    const chip = event.target.closest("a.cite[data-quote]");
    clearTimeout(this.#hover);
    if (!chip || !chip.dataset.quote) return;
    if (event.type === "pointerout") {
      chip.removeAttribute("title");
      return;
    }
    this.#hover = setTimeout(() => { chip.title = chip.dataset.quote; }, HOVER_MILLISECONDS);
  }
}

if (!customElements.get("c-ask")) customElements.define("c-ask", Ask);
