// Elements with data-live=SECONDS ask for themselves again while something is in progress. They stop when they no longer say so.
import { noteChange, replace, request } from "./swap.js";

const MAX_SECONDS = 30;
const MAX_MINUTES = 15;
const started = Date.now();
const states = new Map();

function schedule(element) {
  const { id } = element;
  const seconds = Number(element.dataset.live);
  if (!id || !seconds) return;
  const state = states.get(id) ?? { tag: '"-"', pause: seconds, timer: 0 };
  states.set(id, state);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => poll(id, state), state.pause * 1000);
}

async function poll(id, state) {
  if (document.hidden || Date.now() - started > MAX_MINUTES * 60_000) return;
  const element = document.getElementById(id);
  if (!element?.dataset.live) { states.delete(id); return; }
  try {
    const answer = await request(element.dataset.liveUrl ?? location.href, { parts: [id], headers: { "If-None-Match": state.tag } });
    if (!answer) return;
    const { response, page } = answer;
    if (page && response.ok) {
      state.tag = response.headers.get("ETag") ?? state.tag;
      state.pause = Number(element.dataset.live);
      // The words in the element must not be replaced under the fingers.
      if (!element.contains(document.activeElement) || document.activeElement.id) replace(page, [id]);
      noteChange();
    } else {
      state.pause = Math.min(state.pause * 2, MAX_SECONDS);
    }
  } catch {
    state.pause = Math.min(state.pause * 2, MAX_SECONDS);
  }
  const next = document.getElementById(id);
  if (next?.dataset.live) schedule(next); else states.delete(id);
}

const scan = () => { for (const element of document.querySelectorAll("[data-live]")) schedule(element); };
scan();
document.addEventListener("carrel:swap", () => { for (const element of document.querySelectorAll("[data-live]")) if (!states.has(element.id)) schedule(element); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) scan(); });
