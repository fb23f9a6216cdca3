// A picture of the reader, as large as the window.

/** Shows a picture in a dialog with a button of this name. */
export function showPicture(picture, closeLabel) {
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
