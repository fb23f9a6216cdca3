//! A cache of the texts of document pages, as JSON strings. An assistant that asks again, and the next one that reads the same document,
//! get them without the passages being read, joined and escaped.
//!
//! A text never changes within its version, so nothing is removed when a document changes: the version that its row has now is compared at
//! each read, and the row decides whether the caller may read it.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use values::id::{BookmarkId, DocumentId, UserId};

/// Bytes of all texts and URLs that are kept: several hundred pages.
const MAX_BYTES: u64 = 8 << 20;
/// Bytes that a page takes besides its text and its URL.
const OVERHEAD_BYTES: usize = 256;
/// Time after which a page that is not read again makes room.
const MAX_IDLE: Duration = Duration::from_secs(300);

/// Which document a page is read of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageSelector {
    /// The document with this id.
    Document(DocumentId),
    /// The document that is the text of this bookmark. The note on the bookmark is another document.
    Bookmark(BookmarkId),
    /// The document that is the text of the bookmark with this normalised URL.
    NormalizedUrl(String),
}

impl PageSelector {
    /// Returns the length of its URL in bytes; 0 without one.
    fn url_bytes(&self) -> usize {
        match self {
            Self::NormalizedUrl(url) => url.len(),
            Self::Document(_) | Self::Bookmark(_) => 0,
        }
    }
}

/// The part of the text that a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRange {
    /// Where it begins, in Unicode scalar values.
    pub offset: i64,
    /// How long it may be, in Unicode scalar values.
    pub max_chars: u32,
}

/// A page, as a caller asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// The caller's account: a URL names another document for each.
    pub user: UserId,
    /// The document.
    pub selector: PageSelector,
    /// The part of its text.
    pub range: PageRange,
}

/// The version of a text, as the row of its document has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextVersion {
    /// The document. A bookmark, or a URL, may get another one.
    pub document: DocumentId,
    /// Increases with each text of the document.
    pub version: i32,
    /// Length of the text in Unicode scalar values.
    pub total_chars: i32,
}

/// The text of a page. It is serialized as a string.
#[derive(Clone, Debug)]
pub struct PageText {
    json: Arc<RawValue>,
    /// Offset of the next page; `None` on the last page.
    pub next_offset: Option<usize>,
}

impl PageText {
    /// Makes it of the text, which is empty past the end of the document.
    ///
    /// # Errors
    /// The error of the serializer, which is known for no text.
    pub fn new(text: &str, next_offset: Option<usize>) -> serde_json::Result<Self> {
        Ok(Self { json: to_raw_value(text)?.into(), next_offset })
    }

    /// Returns whether there is no text: the page is past the end of the document, or the document has none.
    fn is_empty(&self) -> bool {
        self.json.get() == r#""""#
    }
}

impl Serialize for PageText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// A cache of the texts of document pages. Clones share it.
#[derive(Clone, Debug)]
pub struct DocumentPageCache(Cache<PageKey, (TextVersion, PageText)>);

impl Default for DocumentPageCache {
    fn default() -> Self {
        let weight = |key: &PageKey, (_, text): &(TextVersion, PageText)| {
            let bytes = text.json.get().len() + key.selector.url_bytes() + OVERHEAD_BYTES;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().weigher(weight).max_capacity(MAX_BYTES).time_to_idle(MAX_IDLE).build())
    }
}

impl DocumentPageCache {
    /// Returns the text of a page, with its version at the time when it was read.
    pub fn get(&self, key: &PageKey) -> Option<(TextVersion, PageText)> {
        self.0.get(key)
    }

    /// Keeps the text of a page of this version. A page without text is left out: reading it again costs no more than its row.
    pub fn insert(&self, key: PageKey, version: TextVersion, text: PageText) {
        if !text.is_empty() {
            self.0.insert(key, (version, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn page_of(selector: PageSelector) -> (PageKey, TextVersion) {
        let range = PageRange { offset: 0, max_chars: 100 };
        let version = TextVersion { document: DocumentId::new(NOW), version: 1, total_chars: 5 };
        (PageKey { user: UserId::new(NOW), selector, range }, version)
    }

    #[test]
    fn weight_of_a_page_includes_its_text_and_its_url() {
        let (url, text) = ("https://example.org/".to_owned() + &"\u{e9}".repeat(5_000), "heron".repeat(100));
        let bytes = u64::try_from(url.len() + text.len()).unwrap();
        let cache = DocumentPageCache::default();
        let (key, version) = page_of(PageSelector::NormalizedUrl(url));

        cache.insert(key, version, PageText::new(&text, None).unwrap());

        cache.0.run_pending_tasks();
        assert!(cache.0.weighted_size() > bytes);
    }

    #[test]
    fn page_without_text_is_not_kept() {
        let cache = DocumentPageCache::default();
        let (key, version) = page_of(PageSelector::Document(DocumentId::new(NOW)));

        cache.insert(key.clone(), version, PageText::new("", None).unwrap());
        assert!(cache.get(&key).is_none());

        cache.insert(key.clone(), version, PageText::new("heron", None).unwrap());
        assert!(cache.get(&key).is_some());
    }

    #[test]
    fn text_is_serialized_as_a_string() {
        let text = "a \"quoted\" line\n\u{7}\u{1f41f}";

        let written = serde_json::to_string(&PageText::new(text, None).unwrap()).unwrap();

        assert_eq!(written, serde_json::to_string(text).unwrap());
    }
}
