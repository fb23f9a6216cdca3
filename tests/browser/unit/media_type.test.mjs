import assert from "node:assert/strict";
import { test } from "node:test";

import { mediaType } from "../../../src/web/assets/media-type.js";

test("types that can be uploaded are kept", () => {
  assert.equal(mediaType("a.pdf", "application/pdf"), "application/pdf");
  assert.equal(mediaType("talk", "audio/x-m4a"), "audio/x-m4a");
});

test("name tells the type where the system does not", () => {
  assert.equal(mediaType("Talk.OPUS", ""), "audio/ogg");
  assert.equal(mediaType("film.mkv", ""), "video/x-matroska");
  assert.equal(mediaType("film.mkv", "application/octet-stream"), "video/x-matroska");
});

test("other files have no type", () => {
  for (const [name, type] of [["a.txt", "text/plain"], ["a", ""], ["a.html", "text/html"], ["a.exe", ""]]) {
    assert.equal(mediaType(name, type), "");
  }
});
