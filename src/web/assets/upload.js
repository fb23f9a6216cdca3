// Uploads of files: what is refused before anything is sent, and the requests of one.
import { mediaType } from "./media-type.js";

/** Returns why a file is not sent, of which `largest` bytes may be: `"type"`, `"empty"` or `"size"`; undefined if it can be. */
export function refusal(file, largest) {
  if (!mediaType(file.name, file.type)) return "type";
  if (!file.size) return "empty";
  return file.size > largest ? "size" : undefined;
}

/**
 * Announces a file at an address, sends it and completes it. Returns what the last request answers. `onProgress` gets the part that is
 * sent, from 0 to 1. The error of a request that the server refused has its `status`.
 */
export async function upload(url, file, { signal, onProgress, onSent }) {
  const ticket = await post(url, { filename: file.name, contentType: mediaType(file.name, file.type), bytes: file.size }, signal);
  await put(ticket, file, signal, onProgress);
  onSent?.();
  return post(`${url}/${ticket.uploadId}/complete`, {}, signal);
}

async function post(url, body, signal) {
  const response = await fetch(url, {
    method: "POST", credentials: "same-origin", signal,
    headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error("refused"), { status: response.status });
  return answer.data;
}

// fetch has no progress of what is sent.
function put({ putUrl, putHeaders }, file, signal, onProgress) {
  return new Promise((done, failed) => {
    const sent = new XMLHttpRequest();
    sent.upload.addEventListener("progress", (event) => { if (event.lengthComputable) onProgress(event.loaded / event.total); });
    sent.addEventListener("load", () => (sent.status < 300 ? done() : failed(new Error("refused"))));
    for (const type of ["error", "abort", "timeout"]) sent.addEventListener(type, () => failed(new Error(type)));
    signal?.addEventListener("abort", () => sent.abort());
    sent.open("PUT", putUrl);
    for (const [name, value] of Object.entries(putHeaders)) sent.setRequestHeader(name, value);
    sent.send(file);
  });
}
