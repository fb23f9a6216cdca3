// Feeds of the site of the tests.

/** An RSS feed with entries `[title, text]`, each an hour older than the one before. */
export function rss(title, entries) {
  const item = ([name, text], index) => {
    const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    const date = new Date(Date.UTC(2024, 4, 6, 11 - index)).toUTCString();
    return `<item><title>${name}</title><link>/${slug}</link><guid>${slug}</guid><pubDate>${date}</pubDate><description>${text}</description></item>`;
  };
  return `<rss version="2.0"><channel><title>${title}</title>${entries.map(item).join("")}</channel></rss>`;
}

let feeds = 0;

/** Follows a new feed of the site with these entries. Returns it. */
export async function followFeed(session, title, entries, folder) {
  feeds += 1;
  const url = session.world.site.add(`/feeds/${feeds}.xml`, "application/rss+xml", rss(title, entries));
  const { feed } = await session.api("POST", "/library/feeds", { url, ...(folder ? { folder } : {}) });
  return feed;
}
