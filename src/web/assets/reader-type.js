// The type panel of the reader: what is moved shows at once, and is kept for the account.
import { request } from "./swap.js";
import { announce } from "./toast.js";

/** Makes a panel change the text of a reader. */
export function prepareType(panel, reader) {
  const root = reader.querySelector(".reader");
  const sliders = [...panel.querySelectorAll("[data-sets]")];
  const save = () => request(panel.action, { method: "POST", parts: ["nothing"], body: new URLSearchParams(new FormData(panel)) })
    .catch(() => announce(reader.dataset.failed, true));
  panel.querySelector(".type-save").hidden = true;
  // Arrows move sliders and choices here, not between the entries of a menu.
  panel.addEventListener("keydown", (event) => { if (event.key.startsWith("Arrow") || event.key.length === 1) event.stopPropagation(); });
  panel.addEventListener("input", ({ target }) => {
    if (target.dataset.sets) root.style.setProperty(target.dataset.sets, `${Number(target.value) / Number(target.dataset.per)}${target.dataset.unit ?? ""}`);
    if (target.name === "preset") {
      root.dataset.read = target.value;
      // The next change sends all fields: sliders of the former preset would replace the measures of this one.
      for (const slider of sliders) { slider.value = target.dataset[slider.name]; root.style.removeProperty(slider.dataset.sets); }
    }
    if (target.name === "paper") {
      if (target.value === "auto") delete document.body.dataset.paper; else document.body.dataset.paper = target.value;
    }
    if (target.name === "justified") document.body.classList.toggle("is-justified", target.checked);
    reader.placeNotes();
  });
  panel.addEventListener("change", save);
}
