//! The labels of documents in the index, by which searches are filtered.

use entity::document;
use search::index::{Labels, Source};

/// Returns the labels of a document.
pub fn labels_of(document: &document::Model) -> Labels {
    let is_entry = document.entry_id.is_some() && document.bookmark_id.is_none();
    // A saved entry counts as a bookmark.
    let source = if is_entry { Source::Feeds } else { Source::Bookmarks };
    Labels { source, feed: document.feed_id.map(|feed| feed.0), content_type: document.content_type }
}
