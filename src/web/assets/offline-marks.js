// Marks that are made without a connection: kept in their order, shown as waiting, and sent when there is a connection again.
import { noteChange, replace, request } from "./swap.js";
import { announce } from "./toast.js";

const DATABASE = "carrel-offline";
const STORE = "marks";
const RETRY_MILLIS = 30_000;
let timer = 0;
let sending = null;

const words = (name) => document.getElementById("live-region")?.dataset[name] ?? "";

function open() {
  return new Promise((done, failed) => {
    const asked = indexedDB.open(DATABASE, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: "id", autoIncrement: true });
    asked.onsuccess = () => done(asked.result);
    asked.onerror = () => failed(asked.error);
  });
}

/** Does one thing with the store. Returns its result once it is on disk. */
async function withStore(mode, work) {
  const database = await open();
  try {
    return await new Promise((done, failed) => {
      const transaction = database.transaction(STORE, mode);
      const asked = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => done(asked.result);
      transaction.onabort = () => failed(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** The marks that wait, without those of another user, whose session ended by itself: they must not be sent as this one, and are removed. */
async function waitingMarks() {
  const marks = await withStore("readonly", (store) => store.getAll());
  const isOwn = (mark) => mark.user === words("user");
  for (const { id } of marks.filter((mark) => !isOwn(mark))) await withStore("readwrite", (store) => store.delete(id));
  return marks.filter(isOwn);
}

/** Keeps the form of a mark until it can be sent. */
export async function keepMark(url, body) {
  const mark = { user: words("user"), path: new URL(url, location.href).pathname, fields: [...body] };
  await withStore("readwrite", (store) => store.add(mark));
  announce(words("kept"), true);
  await showWaiting();
}

/** Sends a mark. Returns "sent", "later" if it must wait, or "lost" if the server refuses it for good. */
async function send({ path, fields }) {
  let response;
  try {
    const headers = { Accept: "text/html", "Carrel-Part": "nothing" };
    response = await fetch(path, { method: "POST", credentials: "same-origin", redirect: "manual", headers, body: new URLSearchParams(fields) });
  } catch {
    return "later";
  }
  // The answer to a form that was accepted leads elsewhere.
  if (response.type === "opaqueredirect" || response.ok) return "sent";
  return response.status === 401 || response.status === 429 || response.status >= 500 ? "later" : "lost";
}

async function sendAll() {
  await showWaiting();
  const outcomes = [];
  for (const mark of await waitingMarks()) {
    const outcome = await send(mark);
    if (outcome === "later") break;
    await withStore("readwrite", (store) => store.delete(mark.id));
    outcomes.push(outcome);
  }
  const parts = waitingParts();
  await showWaiting();
  if (!outcomes.length) return;
  noteChange();
  const answer = parts.length ? await request(location.href, { parts }).catch(() => null) : null;
  if (answer?.page && answer.response.ok) replace(answer.page, parts);
  announce(words(outcomes.includes("lost") ? "lost" : "sent"), true);
}

/** Sends what waits, unless this page does so already. */
function sendOnce() {
  sending ??= sendAll().finally(() => { sending = null; });
  return sending;
}

/**
 * Sends what waits. Of several pages of the app one sends at a time. Browsers have no locks over plain http: two pages may then send the
 * same mark, which sets it once.
 */
export const sendMarks = () => navigator.locks ? navigator.locks.request("carrel-marks", sendOnce) : sendOnce();

/** The parts of the page that show what waits. */
function waitingParts() {
  const forms = [...document.querySelectorAll("[data-pending]")].map((it) => it.closest("form[data-swap]")).filter(Boolean);
  return [...new Set(forms.flatMap((form) => form.dataset.swap.split(/\s+/)))];
}

/** Shows how many marks wait, and which. */
async function showWaiting() {
  const marks = await waitingMarks();
  // Pages without any need not load this module.
  if (marks.length) localStorage.setItem("carrel-waiting", String(marks.length)); else localStorage.removeItem("carrel-waiting");
  clearTimeout(timer);
  if (marks.length) timer = setTimeout(sendMarks, RETRY_MILLIS);
  for (const shown of document.querySelectorAll("[data-pending]")) {
    if (shown.localName === "button") { shown.disabled = false; delete shown.dataset.pending; } else shown.remove();
  }
  if (!marks.length) return;
  const place = document.querySelector(".read-bar, main .head") ?? document.querySelector("main");
  place.append(stateOf(words("waiting").replace("%n", String(marks.length))));
  for (const { path, fields } of marks) showMark(path, new URLSearchParams(fields));
}

function stateOf(text) {
  const state = document.createElement("span");
  state.className = "state is-warning";
  state.dataset.pending = "";
  state.textContent = text;
  return state;
}

/** Shows a mark at the rows that it names, or at the button that made it. */
function showMark(path, fields) {
  const ids = fields.getAll("id");
  for (const id of ids) document.getElementById(`b-${id}`)?.querySelector(".meta, .meta-line, .title")?.append(stateOf(words("waits")));
  if (ids.length) return;
  for (const form of document.querySelectorAll("form[data-offline]")) {
    if (form.getAttribute("action") !== path) continue;
    const button = form.querySelector(`button[name=action][value="${CSS.escape(fields.get("action"))}"]`);
    if (button) { button.disabled = true; button.dataset.pending = ""; }
  }
}

// A part that was replaced shows again what waits in it.
document.addEventListener("carrel:swap", () => { if (localStorage.getItem("carrel-waiting")) showWaiting(); });
