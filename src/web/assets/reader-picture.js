// A picture of the reader, as large as the window.
import { addStyles } from "./styles.js";

/** Shows a picture in a dialog with a button of this name. */
export async function showPicture(picture, closeLabel) {
  await addStyles(["./shell.css"]);
  const dialog = document.createElement("dialog");
  dialog.className = "dialog picture-dialog";
  dialog.setAttribute("aria-label", picture.alt || closeLabel);
  const large = document.createElement("img");
  large.src = picture.src;
  large.alt = picture.alt;
  const close = document.createElement("button");
  close.className = "btn";
  close.textContent = closeLabel;
  close.addEventListener("click", () => dialog.close());
  dialog.append(large, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
