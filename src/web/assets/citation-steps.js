// Steps through the citations of an answer.

/** Returns the index of the citation beside the open one: the first or the last if none is open (-1), and -1 beyond the ends. */
export function neighbour(count, open, step) {
  if (count === 0) return -1;
  if (open < 0) return step > 0 ? 0 : count - 1;
  const next = open + step;
  return next >= 0 && next < count ? next : -1;
}
