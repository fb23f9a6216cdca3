// Messages: one toast at a time, which leaves after ten seconds unless it is looked at, and the live region for screen readers.

const SECONDS = 10;
let timer = 0;

const stop = () => clearTimeout(timer);
// A toast that holds the focus stays, also when the pointer leaves it.
const end = (toast) => { if (toast.matches(":focus-within")) start(toast); else toast.remove(); };
const start = (toast) => { stop(); timer = setTimeout(() => end(toast), SECONDS * 1000); };

/** Shows a toast that the server rendered, in place of another one. */
export function showToast(toast) {
  document.getElementById("toast")?.remove();
  toast.id = "toast";
  document.body.append(toast);
  watch(toast);
}

function watch(toast) {
  start(toast);
  for (const type of ["pointerenter", "focusin"]) toast.addEventListener(type, stop);
  for (const type of ["pointerleave", "focusout"]) toast.addEventListener(type, () => start(toast));
}

/** Says something to screen readers, and as a toast if it must be seen. */
export function announce(text, seen = false) {
  const region = document.getElementById("live-region");
  if (region) { region.textContent = ""; requestAnimationFrame(() => { region.textContent = text; }); }
  if (!seen || !text) return;
  const toast = document.createElement("div");
  toast.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  showToast(toast);
}

/** Takes the last action back, if its toast is still there. */
export function undo() {
  const form = document.querySelector("#toast form[data-undo]");
  form?.requestSubmit();
  return Boolean(form);
}

const first = document.getElementById("toast");
if (first) {
  watch(first);
  // A reload must not ask for the message again.
  const url = new URL(location.href);
  if (url.searchParams.has("done")) { url.searchParams.delete("done"); history.replaceState(history.state, "", url); }
}
