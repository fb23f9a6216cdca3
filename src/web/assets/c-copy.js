// <c-copy>: a text with a button that copies it. Without script the button is hidden.

class Copy extends HTMLElement {
  connectedCallback() {
    const button = this.querySelector("button");
    const text = this.querySelector("code, input, textarea, pre");
    if (!button || !text || !navigator.clipboard) return;
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText("value" in text ? text.value : text.textContent);
      button.textContent = button.dataset.copied;
      const region = document.getElementById("live-region");
      if (region) region.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  }
}

customElements.define("c-copy", Copy);
