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

onKeys("everywhere", (action) => {
  if (action !== "palette") return false;
  import("./c-palette.js").then((palette) => palette.toggle());
  return true;
});
