// Runs of text on pages, and steps of zoom.

const ZOOMS = [50, 67, 80, 100, 125, 150, 200, 300, 400];

/** Joins the runs of a selection: a run that continues the one before it belongs to the same word. */
export function joinRuns(runs) {
  let text = "";
  let end = null;
  for (const { start, words } of runs) {
    if (end !== null && start > end) text += start - end > 1 ? "\n" : " ";
    text += words;
    end = start + [...words].length;
  }
  return text;
}

/** Returns the next zoom in a direction, in per cent. */
export const nextZoom = (zoom, direction) =>
  (direction > 0 ? ZOOMS.find((step) => step > zoom) : ZOOMS.findLast((step) => step < zoom)) ?? zoom;
