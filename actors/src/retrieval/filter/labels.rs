//! The labels of documents in the index, by which searches are filtered.

use entity::document;
use search::index::{Labels, Source};
use values::id::{BookmarkId, EntryId, FeedId};
use values::kind::ContentType;

/// Returns the labels of a document.
pub fn labels_of(document: &document::Model) -> Labels {
    labels(document.bookmark_id, document.entry_id, document.feed_id, document.content_type)
}

/// Returns the labels of a document with these columns.
pub fn labels(
    bookmark: Option<BookmarkId>,
    entry: Option<EntryId>,
    feed: Option<FeedId>,
    content_type: ContentType,
) -> Labels {
    // A saved entry counts as a bookmark.
    let source = if entry.is_some() && bookmark.is_none() { Source::Feeds } else { Source::Bookmarks };
    Labels { source, feed: feed.map(|feed| feed.0), content_type }
}
