// The settings: the address of the server and the key. Both are checked with a request before they are kept.

import { originOf, request, settings } from "./server.js";
import { fill, t } from "./texts.js";

const [form, server, key, withText, state, insecure, forget] =
  ["form", "server", "key", "with-text", "state", "insecure", "forget"].map((id) => document.getElementById(id));

fill();
show();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
forget.addEventListener("click", async () => {
  const kept = await settings();
  await chrome.storage.local.clear();
  if (kept) await chrome.permissions.remove({ origins: [`${kept.server}/*`] }).catch(() => false);
  form.reset();
  await show();
  say("forgotten");
});

function say(name, values, isFailure = false) {
  state.textContent = t(name, values);
  state.classList.toggle("is-failure", isFailure);
}

async function show() {
  const kept = await settings();
  forget.hidden = kept === null;
  insecure.hidden = !kept?.server.startsWith("http:");
  if (kept) [server.value, key.value, withText.checked] = [kept.server, kept.key, kept.withText];
}

async function check() {
  const origin = originOf(server.value);
  if (origin === null) return say("wrongAddress", [], true);
  // First, while the press of the button still counts as one.
  const isAllowed = await chrome.permissions.request({ origins: [`${origin}/*`] });
  if (!isAllowed) return say("noPermission", [], true);
  say("checking");
  const kept = { server: origin, key: key.value.trim(), withText: withText.checked };
  try {
    const user = await request(kept, "GET", "/rest/v1/user");
    await chrome.storage.local.set(kept);
    await show();
    say("ready", [user.name ?? user.email ?? user.user?.email ?? ""]);
  } catch (failure) {
    const [name, values] = failure.text ?? ["unreachable"];
    // A key that may save and not read the account is right, too.
    if (name === "scopeMissing") {
      await chrome.storage.local.set(kept);
      await show();
      return say("ready", [t("name")]);
    }
    say(name, values, true);
  }
}
