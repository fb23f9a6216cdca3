//! Makes the points of the index from the passages of a document.

use entity::{chunk, document};
use search::index::{Embedding, Labels, Point};
use search::lexical;
use values::id::DocumentId;

use super::index_state::is_words_only;
use crate::retrieval::{MetadataSource, language_of};

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
    metadata: Option<MetadataSource>,
}

impl PointSource {
    /// Returns the source of the points of these passages of a document. `labels` are those of the document. The metadata passage belongs to
    /// the last passages of a version; those before it have none.
    pub fn of(
        document: &document::Model,
        labels: Labels,
        passages: Vec<chunk::Model>,
        metadata: Option<MetadataSource>,
    ) -> Self {
        Self {
            id: document.id,
            version: i64::from(document.version),
            title: document.title.clone(),
            language: document.language.clone(),
            labels,
            has_vectors: !is_words_only(document),
            passages,
            metadata,
        }
    }

    /// Analyses the words of the passages. Blocks. Each passage takes the next of `vectors`, unless the document gets none.
    pub fn into_points(self, vectors: &mut impl Iterator<Item = Vec<Embedding>>) -> Vec<Point> {
        let Self { id, version, title, language, labels, has_vectors, passages, metadata } = self;
        let to_point = |row: chunk::Model| {
            let language = language_of(language.as_deref(), &row.text);
            Point {
                id: row.id.0,
                document: id.0,
                version,
                labels: labels.clone(),
                language,
                sparse: lexical::analyze_passage(&title, &row.text, language),
                dense: if has_vectors { vectors.next().unwrap_or_default() } else { Vec::new() },
            }
        };
        passages.into_iter().map(to_point).chain(metadata.map(MetadataSource::into_point)).collect()
    }
}
