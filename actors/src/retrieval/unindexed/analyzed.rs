//! A document that the index lacks a change of, as the index would hold it.

use entity::document;
use search::index::{Labels, Point};
use search::lexical;
use uuid::Uuid;
use values::id::ChunkId;

use crate::retrieval::filter::labels_of;
use crate::retrieval::metadata::{MetadataSource, language_of};

/// Bytes of a point besides its words.
const POINT_BYTES: usize = 160;
/// Bytes of a word with its weight.
const WORD_BYTES: usize = 8;

/// A document with its present passages.
#[derive(Debug)]
pub struct AnalyzedDocument {
    /// The id of the document.
    pub id: Uuid,
    /// What it is filtered by.
    pub labels: Labels,
    /// Its passages, as far as they were read, and its metadata passage.
    pub points: Vec<Point>,
    /// Whether all passages of its text are among the points. Others of it in the index are of a former text then.
    pub has_all_passages: bool,
    /// Whether it has a text that neither the index nor the points have as a whole, and that waits to be indexed.
    pub lacks_text: bool,
}

impl AnalyzedDocument {
    /// Returns a document with its metadata passage alone. Blocks.
    pub fn of_metadata(source: MetadataSource) -> Self {
        let point = source.into_point();
        Self {
            id: point.document,
            labels: point.labels.clone(),
            points: vec![point],
            has_all_passages: false,
            lacks_text: false,
        }
    }

    /// Returns the bytes that it takes in memory.
    pub fn size_bytes(&self) -> usize {
        self.points.iter().map(|point| POINT_BYTES + WORD_BYTES * point.sparse.indices.len()).sum()
    }
}

/// What a document is analysed from.
#[derive(Debug)]
pub struct AnalysisSource {
    /// The row of the document.
    pub document: document::Model,
    /// The first passages of its text, each with its id.
    pub passages: Vec<(ChunkId, String)>,
    /// Whether these are all passages of its text.
    pub has_all_passages: bool,
    /// Whether it has a text that waits to be indexed, and whose passages these are not all.
    pub lacks_text: bool,
    /// The source of its metadata passage, if it has one.
    pub metadata: Option<MetadataSource>,
}

impl AnalysisSource {
    /// Analyses the words of the passages. Blocks.
    pub fn analyze(self) -> AnalyzedDocument {
        let Self { document, passages, has_all_passages, lacks_text, metadata } = self;
        let labels = labels_of(&document);
        let to_point = |(id, text): (ChunkId, String)| {
            let language = language_of(document.language.as_deref(), &text);
            Point {
                id: id.0,
                document: document.id.0,
                version: i64::from(document.version),
                labels: labels.clone(),
                language,
                sparse: lexical::analyze_passage(&document.title, &text, language),
                dense: Vec::new(),
            }
        };
        let points = passages.into_iter().map(to_point).chain(metadata.map(MetadataSource::into_point));
        let points: Vec<Point> = points.collect();
        AnalyzedDocument { id: document.id.0, labels, points, has_all_passages, lacks_text }
    }
}
