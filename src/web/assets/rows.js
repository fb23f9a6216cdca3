// Keys of lists without a module of their own: to the next and the previous row, to open it, and to tick it. A list names in data-rows what
// takes the focus in each of its rows.
import { onKeys } from "./keys.js";
import { moved } from "./selection.js";

const rowOf = (element) => element.closest(".passage, .row, .hit, tr");

function move(all, index, step) {
  const next = all[moved(index, step, all.length)];
  next?.focus({ preventScroll: true });
  if (next) rowOf(next).scrollIntoView({ block: "nearest" });
  return Boolean(next);
}

onKeys("list", (action) => {
  const list = document.querySelector("[data-rows]");
  const all = list ? [...list.querySelectorAll(list.dataset.rows)] : [];
  const index = all.findIndex((element) => rowOf(element).contains(document.activeElement));
  if (action === "next") return move(all, index, 1);
  if (action === "previous") return move(all, index, -1);
  if (index < 0) return false;
  const pressed = { open: all[index].closest("a"), select: rowOf(all[index]).querySelector("input[type=checkbox]") }[action];
  pressed?.click();
  return Boolean(pressed);
});
