// What every page of an account loads at first. Parts that few pages have or that open later are fetched when they are needed.
import "./dialog.js";
import { onKeys } from "./keys.js";
import "./modules.js";
import "./offline.js";
import "./swap.js";
import "./toast.js";

document.addEventListener("carrel:changed", () => {
  if (document.querySelector(".rail")) import("./rail-counts.js").then(({ refreshCounts }) => refreshCounts());
});

onKeys("everywhere", (action) => {
  if (action !== "palette") return false;
  import("./c-palette.js").then((palette) => palette.toggle(), () => location.assign("/go"));
  return true;
});
