// Dialogs: a link with data-dialog opens the page of its address over this one. The form of the dialog works as on its own page.
import { request } from "./swap.js";

/** Opens the main content of an own page as a dialog. */
export async function openDialog(url, opener) {
  let answer;
  try { answer = await request(url, { parts: ["dialog"] }); } catch { location.assign(url); return; }
  if (!answer) return;
  const part = answer.page.getElementById("dialog");
  if (!part || !answer.response.ok) { location.assign(url); return; }
  const dialog = document.createElement("dialog");
  dialog.className = `dialog ${part.dataset.dialogClass ?? ""}`.trim();
  dialog.setAttribute("aria-labelledby", "dialog-title");
  dialog.append(document.adoptNode(part));
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) { event.preventDefault(); dialog.close(); }
  });
  dialog.addEventListener("close", () => { dialog.remove(); opener?.focus?.(); });
  dialog.showModal();
  dialog.querySelector("[autofocus], input:not([type=hidden]), textarea, select")?.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-dialog]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openDialog(link.href, link);
});
