// What every page of an account loads.
import "./c-add.js";
import "./c-copy.js";
import "./dialog.js";
import { onKeys } from "./keys.js";
import "./live.js";
import "./menu.js";
import "./offline.js";
import "./swap.js";
import "./toast.js";

document.addEventListener("carrel:changed", () => {
  if (document.querySelector(".rail")) import("./rail-counts.js").then(({ refreshCounts }) => refreshCounts());
});

onKeys("everywhere", (action) => {
  if (action !== "palette") return false;
  import("./c-palette.js").then((palette) => palette.toggle());
  return true;
});
