// The palette: a dialog over any page, with titles, places and actions. It shows what /go shows, as one types.
import { addStyles } from "./styles.js";
import { request } from "./swap.js";

const PAUSE_MILLISECONDS = 120;
let dialog = null;

async function open() {
  if (dialog) return;
  const opener = document.activeElement;
  let answer;
  try {
    [answer] = await Promise.all([request("/go", { parts: ["palette"] }), addStyles(["./shell.css", "./palette.css"])]);
  } catch { location.assign("/go"); return; }
  const part = answer?.page?.getElementById("palette");
  // Pressed twice, it waited twice: the first answer is shown.
  if (!part || dialog) return;
  dialog = document.createElement("dialog");
  dialog.className = "dialog";
  dialog.setAttribute("aria-label", part.dataset.label);
  dialog.append(document.adoptNode(part));
  document.body.append(dialog);
  dialog.addEventListener("close", () => { dialog.remove(); dialog = null; opener?.focus?.(); });
  let pressed = null;
  dialog.addEventListener("pointerdown", (event) => { pressed = event.target; });
  // A selection of words that ends on the backdrop is a click on it too.
  dialog.addEventListener("click", (event) => { if (event.target === dialog && pressed === dialog) dialog.close(); });
  dialog.showModal();
  enhance(dialog);
}

function enhance(root) {
  const input = root.querySelector("input");
  const list = () => root.querySelector("#palette-list");
  const options = () => [...root.querySelectorAll("[role=option]")];
  // Without script it is a list of links; here the field chooses among them.
  const name = () => {
    list().setAttribute("role", "listbox");
    list().setAttribute("aria-label", input.getAttribute("aria-label"));
    for (const item of list().children) item.setAttribute("role", "presentation");
    for (const link of list().querySelectorAll("a")) { link.setAttribute("role", "option"); link.tabIndex = -1; }
  };
  let timer = 0;
  let asked = null;
  // The words whose list is shown.
  let listed = input.value;

  const select = (index) => {
    const all = options();
    if (!all.length) { input.removeAttribute("aria-activedescendant"); return; }
    const at = (index + all.length) % all.length;
    all.forEach((it, other) => it.setAttribute("aria-selected", String(other === at)));
    input.setAttribute("aria-activedescendant", all[at].id);
    all[at].scrollIntoView({ block: "nearest" });
  };
  const selected = () => options().findIndex((it) => it.getAttribute("aria-selected") === "true");
  const choose = (option, other) => {
    const url = (other && option?.dataset.other) || option?.href;
    if (url) location.assign(url);
  };

  const update = async () => {
    asked?.abort();
    asked = new AbortController();
    const words = input.value;
    try {
      const url = `/go?${new URLSearchParams({ q: words })}`;
      const answer = await request(url, { parts: ["palette-list"], signal: asked.signal });
      const fresh = answer?.page?.getElementById("palette-list");
      if (fresh) { list().replaceWith(document.adoptNode(fresh)); name(); select(0); listed = words; }
    } catch { /* replaced by the next one, or offline: what is shown stays */ }
  };

  /** Goes to the selected entry; after words that have no list yet, to the one of their list. */
  const enter = async (other) => {
    if (listed !== input.value) {
      clearTimeout(timer);
      await update();
      if (listed !== input.value) return;
    }
    choose(options()[Math.max(selected(), 0)], other);
  };

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, PAUSE_MILLISECONDS); });
  root.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") select(selected() + 1);
    else if (event.key === "ArrowUp") select(selected() - 1);
    else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  });
  root.addEventListener("submit", (event) => { event.preventDefault(); enter(false); });
  for (const [attribute, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-autocomplete", "list"], ["aria-controls", "palette-list"]]) {
    input.setAttribute(attribute, value);
  }
  name();
  select(0);
  input.focus();
}

/** Opens the palette, or closes it. */
export const toggle = () => { if (dialog) dialog.close(); else open(); };
