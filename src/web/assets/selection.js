// The selection of a list, kept by its filter while the tab is open, so that it survives paging. Pure but for the storage it is given.

const PREFIX = "carrel-selection:";
const MAX_IDS = 1000;

/** Reads the selected ids of a list. */
export function load(storage, key) {
  try {
    const ids = JSON.parse(storage.getItem(PREFIX + key) ?? "[]");
    return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === "string").slice(0, MAX_IDS) : []);
  } catch { return new Set(); }
}

/** Keeps the selected ids of a list, at most a thousand. */
export function save(storage, key, ids) {
  try {
    if (ids.size === 0) storage.removeItem(PREFIX + key);
    else storage.setItem(PREFIX + key, JSON.stringify([...ids].slice(0, MAX_IDS)));
  } catch { /* Storage may be full or refused: the page itself still has its ticks. */ }
}

/** Returns the ids from one place of a list to another, both included, in either direction. */
export function between(ids, from, to) {
  const [a, b] = [ids.indexOf(from), ids.indexOf(to)];
  if (a < 0 || b < 0) return to === undefined ? [] : [to];
  return ids.slice(Math.min(a, b), Math.max(a, b) + 1);
}

/** Returns the words for a number of selected rows. `%count%` stands for the number. */
export function countText(texts, count, all) {
  if (count === 0) return texts.none;
  return (count === 1 ? texts.one : texts.many).replace("%count%", all ?? String(count));
}

/** Returns the index after a move by `step` rows from `index`; the first row if there was none. */
export function moved(index, step, length) {
  if (length === 0) return -1;
  if (index < 0) return step > 0 ? 0 : length - 1;
  return Math.min(Math.max(index + step, 0), length - 1);
}
