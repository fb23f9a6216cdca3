// Buttons that copy the code blocks of the reader.
import { announce } from "./toast.js";

/** Puts a button over each block that has none. It stands outside of the elements with offsets, so it changes no place of the text. */
export function addCopyButtons(blocks, { copy, copied, failed }) {
  if (!navigator.clipboard) return;
  for (const block of blocks) {
    if (block.previousElementSibling?.matches(".code-copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn btn-s";
    button.textContent = copy;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.innerText);
        announce(copied, true);
      } catch {
        announce(failed, true);
      }
    });
    const place = document.createElement("div");
    place.className = "code-copy";
    place.append(button);
    block.before(place);
  }
}
