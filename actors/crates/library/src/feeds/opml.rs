//! The feeds of a user as an OPML 2.0 document.

use std::collections::BTreeMap;

use entity::{feed, feed_source};
use errors::Error;
use quick_xml::escape::escape;
use sea_orm::{ConnectionTrait, QueryOrder};
use values::id::UserId;

use super::follow::display_title;
use super::source;

/// Feeds whose sources are read with one statement.
const BATCH_ROWS: usize = 100;

/// Writes all feeds of a user: those without a folder first, then folder by folder, in the order in which they were followed.
pub async fn write_opml(db: &impl ConnectionTrait, user: UserId) -> Result<String, Error> {
    let rows = feed::Entity::owned_by(user).order_by_asc(feed::Column::Id).all(db).await?;
    let mut folders: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for batch in rows.chunks(BATCH_ROWS) {
        let sources = source::find_many(db, batch.iter().map(|row| row.source_id)).await?;
        for row in batch {
            // The feed was removed since the first query, and its source with it.
            let Some(source) = sources.get(&row.source_id) else { continue };
            folders.entry(row.folder.as_deref()).or_default().push(feed_outline(row, source));
        }
    }
    Ok(document(&folders))
}

fn document(folders: &BTreeMap<Option<&str>, Vec<String>>) -> String {
    let mut opml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n<head><title>Carrel</title></head>\n<body>\n",
    );
    for (folder, outlines) in folders {
        if let Some(folder) = folder {
            opml.push_str(&format!("<outline text=\"{0}\" title=\"{0}\">\n", escape(*folder)));
        }
        outlines.iter().for_each(|outline| opml.push_str(outline));
        if folder.is_some() {
            opml.push_str("</outline>\n");
        }
    }
    opml.push_str("</body>\n</opml>\n");
    opml
}

fn feed_outline(feed: &feed::Model, source: &feed_source::Model) -> String {
    let site = source.site_url.as_deref();
    let site = site.map(|site| format!(" htmlUrl=\"{}\"", escape(site))).unwrap_or_default();
    let title = display_title(feed, source);
    let (title, url) = (escape(title.as_str()), escape(feed.url.as_str()));
    format!("<outline type=\"rss\" text=\"{title}\" title=\"{title}\" xmlUrl=\"{url}\"{site}/>\n")
}
