// Keys of the page of feeds. Each presses what is in the page, so it does what the button does.
import { onKeys } from "./keys.js";
import { noteChange } from "./swap.js";

const BUTTONS = {
  read: "#entry-read button", star: "#entry-star button", "save-entry": "#entry-save button", "read-above": "#mark-above button",
  original: "#entry-original", back: "#entry-back",
};

/** Opens the entry after the focused or the open one, or before it. */
function walk(step) {
  const links = [...document.querySelectorAll(".entry > a")];
  const focused = links.indexOf(document.activeElement?.closest?.(".entry > a"));
  const current = focused === -1 ? links.findIndex((link) => link.getAttribute("aria-current") === "true") : focused;
  const next = links[current === -1 ? 0 : current + step];
  if (!next) return false;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  next.click();
  return true;
}

function act(action) {
  if (action === "next" || action === "next-entry") return walk(1);
  if (action === "previous" || action === "previous-entry") return walk(-1);
  const element = BUTTONS[action] && document.querySelector(BUTTONS[action]);
  element?.click();
  return Boolean(element);
}

onKeys("list", act);
onKeys("feeds", act);

/**
 * Shows the open entry in the list. The other rows stay as they are, also those that a list of unread entries would not have any more:
 * the way back to an entry that was just read is short.
 */
function updateRow() {
  const template = document.getElementById("entry-row");
  if (!template) return;
  for (const row of document.querySelectorAll(".entry.is-focused")) {
    row.classList.remove("is-focused");
    row.querySelector("a").removeAttribute("aria-current");
  }
  const fresh = document.adoptNode(template.content.firstElementChild);
  const row = document.querySelector(`li[data-entry="${CSS.escape(fresh.dataset.entry)}"]`);
  const hadFocus = row?.contains(document.activeElement);
  row?.replaceWith(fresh);
  if (hadFocus) fresh.querySelector("a").focus({ preventScroll: true });
  const count = document.querySelector("#part-entries .num");
  if (count) count.textContent = template.dataset.count;
  // The next change brings another one.
  template.remove();
}

// An entry is read from its start, although the pane that it comes into was scrolled.
let open = document.getElementById("entry")?.dataset.entry;
document.addEventListener("carrel:swap", () => {
  updateRow();
  const shown = document.getElementById("entry")?.dataset.entry;
  if (shown !== open) {
    document.getElementById("part-reading")?.scrollTo({ top: 0, behavior: "instant" });
    // An entry that is opened is read.
    noteChange();
  }
  open = shown;
});
