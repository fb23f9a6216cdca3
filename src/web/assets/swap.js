// Changes pages in place: fetches the address of a link or a form, and replaces the elements that it names by those of the answer.
// Without this module the same links and forms load whole pages.
import { holdFocus } from "./focus.js";
import { announce, showToast } from "./toast.js";

// How long a busy server is waited for: what it asks for, within bounds.
const DEFAULT_WAIT_SECONDS = 5;
const MAX_WAIT_SECONDS = 60;

// The one policy of Trusted Types. HTML passes after `request` has checked where it comes from, and of scripts only the worker.
const rules = {
  createHTML: (html) => html,
  createScriptURL: (url) => { if (url !== "/sw.js") throw new TypeError("not an own script"); return url; },
};
const policy = window.trustedTypes?.createPolicy("carrel", rules) ?? rules;

/** Returns the address of the worker as a trusted one. */
export const trusted = (url) => policy.createScriptURL(url);

/** Parses HTML of this server. Answers of other origins or types are refused before. */
export const parse = (html) => new DOMParser().parseFromString(policy.createHTML(html), "text/html");

const words = (name) => document.getElementById("live-region")?.dataset[name] ?? "";

/** Fetches an own address. Returns the parsed answer and its response, or null when the browser goes elsewhere. */
export async function request(url, { parts = [], method = "GET", body, headers = {}, signal } = {}) {
  const own = new URL(url, location.href);
  if (own.origin !== location.origin) throw new Error("not an own address");
  const response = await fetch(own, {
    method, body, signal, credentials: "same-origin",
    headers: { Accept: "text/html", "Carrel-Part": parts.join(" "), ...headers },
  });
  if (response.status === 401) {
    location.assign(response.headers.get("Carrel-Location") ?? "/sign-in");
    return null;
  }
  if (response.status === 304) return { response, page: null };
  const isHtml = (response.headers.get("Content-Type") ?? "").startsWith("text/html");
  if (!isHtml || new URL(response.url).origin !== location.origin) throw new Error("not a page");
  return { response, page: parse(await response.text()) };
}

/** Says that something was changed on the server, which other parts of the page may show. */
export const noteChange = () => document.dispatchEvent(new CustomEvent("carrel:changed"));

/** Puts the elements of an answer in the places of those with their ids. Focus, scroll and selection stay. */
export function replace(page, ids) {
  const restoreFocus = holdFocus(ids);
  const scrolls = [...document.querySelectorAll("[id]")].filter((it) => it.scrollTop || it.scrollLeft).map((it) => [it.id, it.scrollTop, it.scrollLeft]);
  let replaced = 0;
  for (const id of ids) {
    const fresh = page.getElementById(id);
    const old = document.getElementById(id);
    if (!fresh || !old) continue;
    old.replaceWith(document.adoptNode(fresh));
    replaced += 1;
  }
  for (const [id, top, left] of scrolls) document.getElementById(id)?.scrollTo({ top, left, behavior: "instant" });
  if (page.title && replaced) document.title = page.title;
  const toast = page.getElementById("toast");
  if (toast) showToast(document.adoptNode(toast));
  // After the toast: it may have replaced one whose button had the focus.
  restoreFocus();
  document.dispatchEvent(new CustomEvent("carrel:swap", { detail: { ids } }));
  return replaced;
}

// What the last change replaced: taking it back replaces the same. None after a load, when the browser itself sends the form that takes a
// change back: it may lead to any page.
let changed = [];
const partsOf = (element) => element.hasAttribute("data-undo") ? changed : element.dataset.swap.split(/\s+/).filter(Boolean);

const isBusy = (response) => response.status === 429 || response.status === 503;

/**
 * Sends a request. Only reading is tried again when the server is busy: a form that was refused may have done a part of its work, and
 * one that was redirected has done all of it. `isRedirected` says of a form that the answer is the page that it led to.
 */
async function send(url, options) {
  const answer = await request(url, options);
  if (!answer) return null;
  const { response } = answer;
  const isRedirected = options.method === "POST" && response.redirected;
  if (!isBusy(response) || (options.method === "POST" && !isRedirected)) return { ...answer, isRedirected };
  announce(words("wait"));
  const seconds = Math.min(Number(response.headers.get("Retry-After")) || DEFAULT_WAIT_SECONDS, MAX_WAIT_SECONDS);
  await new Promise((done) => { setTimeout(done, seconds * 1000); });
  const again = await request(response.url, { parts: options.parts });
  return again && { ...again, isRedirected };
}

/** Shows an answer in the page, or goes to the page that it belongs to. */
function show({ response, page, isRedirected }, parts, isForm, push) {
  const shown = response.headers.get("Carrel-Location") ?? response.url;
  const isElsewhere = new URL(shown, location.href).pathname !== location.pathname;
  // What a form did is done: a page that could not be shown is loaded, and the parts of another page would not fit into this one.
  if (isRedirected && (isElsewhere || !response.ok)) { location.assign(shown); return; }
  const hasToast = page.getElementById("toast") !== null;
  if (replace(page, parts) === 0 && !hasToast) {
    // The address of a form has no page of its own.
    if (isForm && !isRedirected) announce(words("failed"), true); else location.assign(response.url);
    return;
  }
  const news = parts.map((id) => document.getElementById(id)?.querySelector("[data-say]")).find(Boolean);
  if (news) announce(news.textContent);
  const isPage = response.ok && (isRedirected || !isForm);
  if (push && isPage && shown !== location.pathname + location.search) {
    history.pushState(null, "", shown);
    noteAddress();
  }
}

async function run(element, url, options, push) {
  const parts = partsOf(element);
  const isForm = options.method === "POST";
  element.setAttribute("aria-busy", "true");
  try {
    const answer = await send(url, { parts, ...options });
    if (!answer) return;
    if (isForm && (answer.isRedirected || answer.response.ok)) {
      changed = parts;
      // Before its element is replaced: the new one must not find what belongs to the change.
      element.dispatchEvent(new CustomEvent("carrel:done", { bubbles: true }));
      noteChange();
    }
    show(answer, parts, isForm, push);
  } catch (error) {
    // `fetch` fails with a TypeError where there is no connection. A mark waits for one, and says so itself.
    const detail = { form: element, url, body: options.body };
    const isLate = error instanceof TypeError && isForm;
    if (isLate && !document.dispatchEvent(new CustomEvent("carrel:unsent", { cancelable: true, detail }))) return;
    announce(words(navigator.onLine ? "failed" : "offline"), true);
  } finally {
    element.removeAttribute("aria-busy");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-swap]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (link.getAttribute("aria-busy")) return;
  run(link, link.href, {}, true);
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest?.("form[data-swap]");
  if (!form || event.defaultPrevented || !partsOf(form).length) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy")) return;
  const data = new FormData(form, event.submitter);
  const action = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? location.href;
  if (form.method === "get") {
    const url = new URL(action, location.href);
    url.search = new URLSearchParams([...data].filter(([, value]) => value !== ""));
    run(form, url.href, {}, true);
  } else {
    const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    run(form, action, { method: "POST", body }, !form.hasAttribute("data-stay"));
  }
});

// Back and forward show what the address says. A step within the page, to a fragment, changes nothing else.
const address = () => { const url = new URL(location.href); url.searchParams.delete("done"); return url.pathname + url.search; };
let shownAddress = address();
/** Takes the address as that of what is shown, after a script has changed it. */
export function noteAddress() { shownAddress = address(); }
addEventListener("popstate", () => { if (address() !== shownAddress) location.reload(); });
