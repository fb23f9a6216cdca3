// Elements with data-live=SECONDS ask for themselves again while something is in progress. They stop when they no longer say so.
import { noteChange, replace, request } from "./swap.js";

const MAX_SECONDS = 30;
// How long one element is asked for, since its work was first seen.
const MAX_MINUTES = 15;
const states = new Map();
// The id of the element that is being replaced by its own answer.
let shown = "";

const liveElements = () => document.querySelectorAll("[data-live]");

function schedule(element) {
  const { id } = element;
  const seconds = Number(element.dataset.live);
  if (!id || !seconds) return;
  const state = states.get(id) ?? { tag: '"-"', pause: seconds, timer: 0, since: Date.now() };
  states.set(id, state);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => poll(id, state), state.pause * 1000);
}

function restart(element) {
  clearTimeout(states.get(element.id)?.timer);
  states.delete(element.id);
  schedule(element);
}

/** Whether a replacement would take something from the user: the focus, an open form, or words that are not sent. */
function isInUse(element) {
  const focused = document.activeElement;
  if (element.contains(focused) && !focused.id) return true;
  const fields = [...element.querySelectorAll("textarea, input[type=search], input[type=text], input:not([type])")];
  return element.querySelector("details[open]") !== null || fields.some((field) => field.value !== field.defaultValue);
}

function show(element, page, response, state) {
  if (isInUse(element)) return;
  shown = element.id;
  replace(page, [shown]);
  shown = "";
  // Not before: the server would answer that nothing is new, and what was left out would never be shown.
  state.tag = response.headers.get("ETag") ?? state.tag;
  noteChange();
}

async function ask(id, state) {
  const { liveUrl } = document.getElementById(id).dataset;
  try {
    const answer = await request(liveUrl ?? location.href, { parts: [id], headers: { "If-None-Match": state.tag } });
    const element = document.getElementById(id);
    // An action has replaced the element meanwhile: the answer is older than what is shown.
    if (!answer || !element || states.get(id) !== state) return;
    if (answer.page && answer.response.ok) {
      state.pause = Number(element.dataset.live);
      show(element, answer.page, answer.response, state);
      return;
    }
  } catch { /* Asked again, after a longer pause. */ }
  state.pause = Math.min(state.pause * 2, MAX_SECONDS);
}

async function poll(id, state) {
  if (document.hidden || Date.now() - state.since > MAX_MINUTES * 60_000) return;
  if (document.getElementById(id)?.dataset.live) await ask(id, state);
  if (states.get(id) !== state) return;
  const next = document.getElementById(id);
  if (next?.dataset.live) schedule(next); else states.delete(id);
}

for (const element of liveElements()) schedule(element);

document.addEventListener("carrel:swap", ({ detail }) => {
  for (const element of liveElements()) {
    if (element.id === shown) continue;
    if (detail.ids.includes(element.id)) restart(element); else if (!states.has(element.id)) schedule(element);
  }
});

// A page that is looked at again shows what has happened meanwhile.
document.addEventListener("visibilitychange", () => { if (!document.hidden) liveElements().forEach(restart); });
