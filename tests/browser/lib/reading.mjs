// Texts for the reader, and how their words are selected.

let saves = 0;

/** Saves a page with this HTML, and waits for its text. Returns the bookmark with the path of its reader. */
export async function savePage(session, html, fields = {}) {
  saves += 1;
  const { bookmark } = await session.save({ url: `https://slackwater.example/${saves}`, html, ...fields });
  await session.until(`/library/bookmarks/${bookmark.bookmarkId}`, (answer) => answer.bookmark.status !== "processing");
  return { ...bookmark, path: `/read/${bookmark.documentId}` };
}

/** Selects words of the page by a range. Returns whether they are there. */
export const selectWords = (page, words) => page.evaluate((wanted) => {
  const walk = document.createTreeWalker(document.querySelector("#text .prose"), NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const at = node.data.indexOf(wanted);
    if (at < 0) continue;
    node.parentElement.scrollIntoView({ block: "center" });
    getSelection().setBaseAndExtent(node, at, node, at + wanted.length);
    return true;
  }
  return false;
}, words);
