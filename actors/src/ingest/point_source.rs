//! Makes the points of the index from the passages of a document.

use entity::{chunk, document};
use search::index::{Labels, Language, Point, Source};
use search::lexical;
use uuid::Uuid;
use values::id::DocumentId;

use super::index_state::is_words_only;

/// What the points of a document are made from.
pub(super) struct PointSource {
    /// The document.
    pub id: DocumentId,
    /// The version of the text of the passages.
    pub version: i64,
    title: String,
    language: Option<String>,
    labels: Labels,
    has_vectors: bool,
    passages: Vec<chunk::Model>,
}

impl PointSource {
    /// Returns the source of the points of these passages of a document. `labels` are those of the document.
    pub fn of(document: &document::Model, labels: Labels, passages: Vec<chunk::Model>) -> Self {
        Self {
            id: document.id,
            version: i64::from(document.version),
            title: document.title.clone(),
            language: document.language.clone(),
            labels,
            has_vectors: !is_words_only(document),
            passages,
        }
    }

    /// Analyses the words of the passages. Blocks. Each passage takes the next of `vectors`, unless the document gets none.
    pub fn into_points(self, vectors: &mut impl Iterator<Item = Vec<f32>>) -> Vec<Point> {
        let Self { id, version, title, language, labels, has_vectors, passages } = self;
        let to_point = |row: chunk::Model| {
            let language = language_of(language.as_deref(), &row.text);
            Point {
                id: row.id.0,
                document: id.0,
                version,
                labels: labels.clone(),
                language,
                sparse: lexical::analyze_passage(&title, &row.text, language),
                dense: if has_vectors { vectors.next() } else { None },
            }
        };
        passages.into_iter().map(to_point).collect()
    }
}

/// Returns the language in which the words of a passage are analysed.
fn language_of(document_language: Option<&str>, text: &str) -> Language {
    document_language.and_then(Language::from_code).unwrap_or_else(|| lexical::detect_language(text))
}

/// Returns the labels of a document whose bookmark is in these collections. Searches are filtered by them.
pub(super) fn labels_of(document: &document::Model, collections: Vec<Uuid>) -> Labels {
    let is_entry = document.entry_id.is_some() && document.bookmark_id.is_none();
    // The half of the library that the document belongs to.
    let source = if is_entry { Source::Feeds } else { Source::Bookmarks };
    Labels { source, feed: document.feed_id.map(|feed| feed.0), collections }
}
