// The page of a dialog, shown over another page. Its form works as on its own page.
import { fetchModules } from "./modules.js";
import { addStyles } from "./styles.js";
import { request } from "./swap.js";

/** Shows the main content of an own page in a dialog. The focus goes back to the opener when it closes. */
export async function showDialog(url, opener) {
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
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) { event.preventDefault(); dialog.close(); }
  });
  dialog.addEventListener("close", () => { dialog.remove(); opener?.focus?.(); });
  dialog.showModal();
  dialog.querySelector("[autofocus], input:not([type=hidden]), textarea, select")?.focus();
}
