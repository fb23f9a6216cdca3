// The popup: saves the page at once, says what happened, and takes tags.

import { readPage } from "./page.js";
import { isSavable, save, settings, tagsOf } from "./server.js";
import { fill, t } from "./texts.js";

const [state, form, names, again, open, toSettings] =
  ["state", "tags", "names", "again", "open", "settings"].map((id) => document.getElementById(id));
let saved = null;

fill();
toSettings.addEventListener("click", () => chrome.runtime.openOptionsPage());
again.addEventListener("click", () => run());
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const tags = tagsOf(names.value);
  if (tags.length === 0 || saved === null) return;
  await attempt(async (kept) => {
    await save(kept, { url: saved, html: null }, tags);
    names.value = "";
    say("tagsAdded");
  });
});
run();

function say(name, values, isFailure = false) {
  state.textContent = t(name, values);
  state.classList.toggle("is-failure", isFailure);
}

async function attempt(action) {
  const kept = await settings();
  if (!kept) {
    say("notSetUp", [], true);
    return;
  }
  again.hidden = true;
  try {
    await action(kept);
  } catch (failure) {
    const [name, values = []] = failure.text ?? ["unreachable"];
    say(name, values, true);
    again.hidden = saved !== null;
  }
}

async function run() {
  await attempt(async (kept) => {
    say("saving");
    const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
    if (!isSavable(tab?.url)) return say("notSavable", [], true);
    const page = await readPage(tab, kept.withText);
    const reply = await save(kept, page, []);
    saved = page.url;
    if (!reply.created) say("existed");
    else if (reply.isWhole || !kept.withText) say("saved");
    else say(page.html ? "tooLarge" : "savedAsLink");
    open.href = `${kept.server}/read/${encodeURIComponent(reply.bookmark.documentId)}`;
    open.hidden = form.hidden = false;
    names.focus();
  });
}
