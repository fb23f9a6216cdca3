// The Carrel server of this browser: its address and key, and the requests to its API. Nothing is sent to any other host.

/** Bytes of HTML that are sent at most. A server may accept less; then the address is sent alone. */
export const MAX_HTML_BYTES = 20_000_000;

/** Returns the origin of an address that somebody typed, or null. A path is dropped: the API is at the root. */
export function originOf(typed) {
  const text = typed.trim();
  const withScheme = /^[a-z][a-z0-9+.-]*:/i.test(text) && !/^[^/]*:\d/.test(text) ? text : `https://${text}`;
  try {
    const url = new URL(withScheme);
    const isWeb = url.protocol === "https:" || url.protocol === "http:";
    return isWeb && url.hostname !== "" && url.username === "" ? url.origin : null;
  } catch {
    return null;
  }
}

/** Returns the tags of a field: separated by commas, without empty ones. */
export function tagsOf(typed) {
  return typed.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
}

/** Returns the body of the request that saves a page. Its HTML is left out where it is missing or larger than the server accepts. */
export function bodyOf(page, tags) {
  const body = { url: page.url };
  if (tags.length > 0) body.tags = tags;
  const bytes = page.html ? new TextEncoder().encode(JSON.stringify(page.html)).length : 0;
  if (bytes > 0 && bytes <= MAX_HTML_BYTES) body.html = page.html;
  return body;
}

/** Returns whether an address can be saved. */
export function isSavable(url) {
  return /^https?:\/\//i.test(url ?? "");
}

/** Returns the name of the text about a failed request, and its values. */
export function failureOf(status, envelope) {
  const code = envelope?.error?.code ?? "";
  if (status === 401) return ["keyRefused"];
  if (code === "PLAN_REQUIRED") return ["planMissing"];
  if (code === "PLAN_LIMIT_REACHED" || status === 507) return ["full"];
  if (status === 403) return ["scopeMissing"];
  if (status === 429) return ["tooMany"];
  return ["failed", [String(status), String(envelope?.error?.message ?? "").slice(0, 200)]];
}

/** Sends a request to the API. Returns the data, or throws an Error whose `text` names what to say. */
export async function request(settings, method, path, body) {
  let response;
  try {
    response = await fetch(`${settings.server}${path}`, {
      method,
      headers: { Authorization: `Bearer ${settings.key}`, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      cache: "no-store",
    });
  } catch {
    throw Object.assign(new Error("unreachable"), { text: ["unreachable"] });
  }
  const envelope = await response.json().catch(() => null);
  if (!response.ok || !envelope?.success) {
    throw Object.assign(new Error("refused"), { status: response.status, text: failureOf(response.status, envelope) });
  }
  return envelope.data;
}

/** Returns the address, the key and the choice that were kept, or null before they are. */
export async function settings() {
  const kept = await chrome.storage.local.get(["server", "key", "withText"]);
  return kept.server && kept.key ? { server: kept.server, key: kept.key, withText: kept.withText !== false } : null;
}

/** Saves a page with tags. Returns `{ bookmark, created, isWhole }`. */
export async function save(kept, page, tags) {
  const body = bodyOf(page, tags);
  const post = () => request(kept, "POST", "/rest/v1/bookmarks", body);
  const data = await post().catch((failure) => {
    if (failure.status !== 413 || !("html" in body)) throw failure;
    delete body.html;
    return post();
  });
  return { ...data, isWhole: "html" in body };
}
