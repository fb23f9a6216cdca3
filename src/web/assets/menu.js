// Menus are popovers, which open without script. This places them at their buttons and moves between their entries by keys.

const GAP = 4;

/** Places a popover at its button, within the window. */
export function place(menu, button) {
  const box = button.getBoundingClientRect();
  const isRtl = getComputedStyle(button).direction === "rtl";
  const left = isRtl ? box.left : box.right - menu.offsetWidth;
  const below = box.bottom + GAP + menu.offsetHeight <= innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(8, below ? box.bottom + GAP : box.top - GAP - menu.offsetHeight)}px`;
}

// Without the buttons of a closed question.
const entries = (menu) => [...menu.querySelectorAll("a[href], button:not([disabled]), summary")].filter((entry) => entry.checkVisibility());

function show(menu) {
  const button = document.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`);
  if (button) place(menu, button);
  entries(menu)[0]?.focus();
}

document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".menu[popover]") && event.newState === "open") show(event.target);
}, true);

// One that was opened before this module ran.
for (const menu of document.querySelectorAll(".menu:popover-open")) show(menu);

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest?.(".menu[popover]");
  if (!menu || event.ctrlKey || event.metaKey || event.altKey) return;
  const all = entries(menu);
  const at = all.indexOf(document.activeElement);
  const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
  const byLetter = event.key.length === 1 && !event.target.matches("input, textarea, select")
    ? [...all.slice(at + 1), ...all.slice(0, at + 1)].find((it) => it.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase()))
    : null;
  const next = to === undefined ? byLetter : all[to];
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
});
