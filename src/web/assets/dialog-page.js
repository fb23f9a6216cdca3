// The page of a dialog, shown over another page. Its form works as on its own page.
import { fetchModules } from "./modules.js";
import { addStyles } from "./styles.js";
import { request } from "./swap.js";

let isOpening = false;

/**
 * Shows the main content of an own page in a dialog. The focus goes back to the opener when it closes. Does nothing while another dialog
 * is fetched: a second press would open the same one again, with the same ids.
 */
export async function showDialog(url, opener) {
  if (isOpening) return;
  isOpening = true;
  try { await fetchAndShow(url, opener); } finally { isOpening = false; }
}

async function fetchAndShow(url, opener) {
  const answer = await request(url, { parts: ["dialog"] });
  if (!answer) return;
  const part = answer.page.getElementById("dialog");
  if (!part || !answer.response.ok) { location.assign(url); return; }
  const own = part.dataset.styles?.split(" ") ?? [];
  await Promise.all([addStyles(["./shell.css", ...own]), fetchModules(part)]);
  const dialog = document.createElement("dialog");
  dialog.className = `dialog ${part.dataset.dialogClass ?? ""}`.trim();
  dialog.setAttribute("aria-labelledby", "dialog-title");
  dialog.append(document.adoptNode(part));
  document.body.append(dialog);
  let pressed = null;
  dialog.addEventListener("pointerdown", (event) => { pressed = event.target; });
  dialog.addEventListener("click", (event) => {
    // A selection of words that ends on the backdrop is a click on it too.
    const isBackdrop = event.target === dialog && pressed === dialog;
    if (isBackdrop || event.target.closest("[data-close]")) { event.preventDefault(); dialog.close(); }
  });
  dialog.addEventListener("close", () => { dialog.remove(); opener?.focus?.(); });
  dialog.showModal();
  dialog.querySelector("[autofocus], input:not([type=hidden]), textarea, select")?.focus();
}
