// The handler of keys, by the one table that the key sheet is made from (keys-table.js). Parts of the app register what their keys do.
import table from "./keys-table.js";
import { openDialog } from "./dialog.js";
import { undo } from "./toast.js";

const SEQUENCE_MILLISECONDS = 1200;
// Pressed with other keys, they are no keys of their own.
const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta"];
const handlers = [];
let first = "";
let timer = 0;

/**
 * Registers the actions of a group of the table, such as "list". The handler gets the action, the event and the key, and returns
 * whether it did something. The last registered handler is asked first. Returns a function that takes it back.
 */
export function onKeys(group, handler) {
  const entry = { group, handler };
  handlers.unshift(entry);
  return () => { handlers.splice(handlers.indexOf(entry), 1); };
}

/** Whether an element takes the keys of letters and signs. */
export const isField = (element) => element.isContentEditable || /^(input|textarea|select)$/i.test(element.tagName)
  && !/^(checkbox|radio|button|submit|range)$/i.test(element.type ?? "");

function nameOf(event) {
  const isLetter = event.key.length === 1 && event.key.toLowerCase() !== event.key.toUpperCase();
  const key = isLetter ? event.key.toLowerCase() : event.key;
  const control = event.ctrlKey || event.metaKey ? "Ctrl " : "";
  // Shift is part of a sign, such as "?", and a modifier of a letter.
  return control + (event.shiftKey && isLetter ? "Shift " : "") + key;
}

function run(row, event, key) {
  for (const { group, handler } of handlers) {
    if (group === row.group && handler(row.action, event, key)) return true;
  }
  if (row.action === "undo") return undo();
  if (!row.go) return false;
  if (row.dialog) openDialog(row.go, document.activeElement); else location.assign(row.go);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.altKey || event.key === "Escape" || MODIFIERS.includes(event.key)) return;
  const hasControl = event.ctrlKey || event.metaKey;
  const inDialog = document.querySelector("dialog[open]");
  if (!hasControl && (document.body.dataset.keys === "off" || isField(event.target) || inDialog)) return;
  const name = nameOf(event);
  const sequence = first ? `${first} ${name}` : "";
  clearTimeout(timer);
  const matches = (wanted) => table.filter((row) => row.keys.includes(wanted));
  const registered = handlers.map((it) => it.group);
  // Of equal keys, the one of the part that the user is in.
  const byPlace = (a, b) => (registered.indexOf(b.group) >= 0) - (registered.indexOf(a.group) >= 0);
  for (const row of (sequence ? matches(sequence) : matches(name)).toSorted(byPlace)) {
    if (run(row, event, name)) { event.preventDefault(); first = ""; return; }
  }
  const begins = !sequence && !hasControl && table.some((row) => row.keys.some((keys) => keys.startsWith(`${name} `)));
  first = begins ? name : "";
  if (begins) timer = setTimeout(() => { first = ""; }, SEQUENCE_MILLISECONDS);
});
