// The rules of the browser extension: addresses, tags, bodies and what failures say.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { afterEach, test } from "node:test";

import { MAX_HTML_BYTES, bodyOf, failureOf, isSavable, originOf, save, tagsOf } from "../../../src/web/extension/server.js";

const folder = new URL("../../../src/web/extension/", import.meta.url);
const kept = { server: "https://library.example", key: "pk_x", withText: true };
const realFetch = globalThis.fetch;

afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Answers requests with these statuses, one after another, and returns what was sent. */
function serve(...statuses) {
  const sent = [];
  globalThis.fetch = async (url, options) => {
    const status = statuses[sent.length];
    sent.push({ url, ...options });
    const body = status < 300 ? { success: true, data: { created: true } } : { success: false, error: { code: "X" } };
    return new Response(JSON.stringify(body), { status });
  };
  return sent;
}

test("address of a server becomes its origin", () => {
  assert.equal(originOf(" https://library.example/settings/keys "), "https://library.example");
  assert.equal(originOf("library.example"), "https://library.example");
  assert.equal(originOf("localhost:8080"), "https://localhost:8080");
  assert.equal(originOf("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
  for (const wrong of ["", "ftp://library.example", "https://a:b@library.example", "javascript:alert(1)"]) {
    assert.equal(originOf(wrong), null, wrong);
  }
});

test("tags are separated by commas", () => {
  assert.deepEqual(tagsOf(" tides, , sea "), ["tides", "sea"]);
  assert.deepEqual(tagsOf("  "), []);
});

test("only web pages can be saved", () => {
  assert.ok(isSavable("https://a.example/"));
  for (const url of [undefined, "chrome://settings", "file:///a", "javascript:1"]) assert.ok(!isSavable(url));
});

test("html is left out if it is missing or too large", () => {
  assert.deepEqual(bodyOf({ url: "https://a.example/", html: null }, []), { url: "https://a.example/" });
  assert.equal("html" in bodyOf({ url: "https://a.example/", html: "x".repeat(MAX_HTML_BYTES) }, []), false);
  assert.deepEqual(bodyOf({ url: "u", html: "<p>" }, ["a"]), { url: "u", html: "<p>", tags: ["a"] });
});

test("page that the server finds too large is sent by its address", async () => {
  const sent = serve(413, 201);

  const reply = await save(kept, { url: "https://a.example/", html: "<p>words</p>" }, []);

  assert.equal(reply.isWhole, false);
  assert.deepEqual(sent.map((request) => "html" in JSON.parse(request.body)), [true, false]);
  assert.ok(sent.every((request) => request.url === "https://library.example/rest/v1/bookmarks"));
  assert.ok(sent.every((request) => request.headers.Authorization === "Bearer pk_x" && request.credentials === "omit"));
});

test("failures say what to do", async () => {
  assert.deepEqual(failureOf(401), ["keyRefused"]);
  assert.deepEqual(failureOf(402, { error: { code: "PLAN_REQUIRED" } }), ["planMissing"]);
  assert.deepEqual(failureOf(402, { error: { code: "PLAN_LIMIT_REACHED" } }), ["full"]);
  assert.deepEqual(failureOf(403), ["scopeMissing"]);
  assert.deepEqual(failureOf(500, { error: { message: "no" } }), ["failed", ["500", "no"]]);
  globalThis.fetch = async () => {
    throw new TypeError("offline");
  };
  await assert.rejects(save(kept, { url: "https://a.example/" }, []), (failure) => failure.text[0] === "unreachable");
});

test("every text exists in both languages and is used", async () => {
  const texts = async (language) => JSON.parse(await readFile(new URL(`_locales/${language}/messages.json`, folder), "utf8"));
  const [english, german] = [await texts("en"), await texts("de")];
  const files = (await readdir(folder)).filter((name) => /\.(js|html|json)$/.test(name));
  const code = (await Promise.all(files.map((name) => readFile(new URL(name, folder), "utf8")))).join("\n");

  assert.deepEqual(Object.keys(german), Object.keys(english));
  for (const name of Object.keys(english)) assert.match(code, new RegExp(`["_]${name}["_]`), name);
});

test("extension has no remote code and asks for no host beforehand", async () => {
  const manifest = JSON.parse(await readFile(new URL("manifest.json", folder), "utf8"));
  const pages = await Promise.all(["popup.html", "options.html"].map((name) => readFile(new URL(name, folder), "utf8")));

  assert.equal(manifest.manifest_version, 3);
  assert.equal(manifest.host_permissions, undefined);
  assert.match(manifest.content_security_policy.extension_pages, /script-src 'self'/);
  for (const page of pages) assert.doesNotMatch(page, /(src|href)="https?:|style=|<script>/);
});
