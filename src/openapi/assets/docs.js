// Filters the operations, opens the one that the fragment of the URL names, and copies examples. The page is complete without it.
"use strict";

const operations = [...document.querySelectorAll("details[data-words]")];
const find = document.getElementById("find");
const found = document.getElementById("found");

function filter() {
  const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const operation of operations) {
    const fits = wanted.every((word) => operation.dataset.words.includes(word));
    operation.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  for (const group of document.querySelectorAll("section.group")) {
    group.hidden = !group.querySelector("details:not([hidden])");
  }
  found.textContent = wanted.length ? `${shown} of ${operations.length} operations` : "";
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.querySelector("summary").focus();
  }
}

find.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    find.focus();
  } else if (event.key === "Escape" && event.target === find) {
    find.value = "";
    filter();
  }
});
for (const operation of operations) {
  operation.addEventListener("toggle", () => {
    if (operation.open) history.replaceState(null, "", `#${operation.id}`);
  });
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.(".copy");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});
window.addEventListener("hashchange", openNamed);
openNamed();
