// The numbers of the navigation, which what is done on a page may change.
import { replace, request } from "./swap.js";

const IDS = ["count-feeds", "count-uploads", "bell", "bell-top"];
// Changes that follow one another are asked about once.
const PAUSE_MILLIS = 300;
let timer = 0;

async function refresh() {
  try {
    const answer = await request("/counts");
    if (answer?.page && answer.response.ok) replace(answer.page, IDS);
  } catch { /* The numbers stay as they are until the next page. */ }
}

/** Shows the numbers as they are after the changes that were just made. */
export function refreshCounts() {
  clearTimeout(timer);
  timer = setTimeout(refresh, PAUSE_MILLIS);
}
