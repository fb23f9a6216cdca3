//! Passages as the index holds them.

use uuid::Uuid;
use values::kind::ContentType;

use super::language::Language;

/// The user whose passages a query or a change is confined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenant(pub(super) Uuid);

impl Tenant {
    /// Returns the passages of this user only.
    #[must_use]
    pub fn of(user: Uuid) -> Self {
        Self(user)
    }
}

/// The part of a library to which a passage belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Bookmarks, uploads and notes: what the user has saved.
    Bookmarks,
    /// Feed entries that are not bookmarked.
    Feeds,
}

/// Weights of words, by the ids of the words. Those of a passage are BM25 term weights, those of a query are factors from 0 to 1.
/// The index multiplies them by the inverse document frequency among the passages of the tenant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseVector {
    /// Ids of the words in ascending order, each once.
    pub indices: Vec<u32>,
    /// The weight of each word.
    pub values: Vec<f32>,
}

impl SparseVector {
    /// Returns whether it holds no word, so that nothing matches it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// Attributes by which passages are filtered. They change independently of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// The source: bookmarks or feeds.
    pub source: Source,
    /// The feed of the document.
    pub feed: Option<Uuid>,
    /// The type of the document.
    pub content_type: ContentType,
}

/// An embedding with the model that computed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Name of the model.
    pub model: String,
    /// As many floats as the vectors of the model have.
    pub vector: Vec<f32>,
}

/// The embedding of a passage that is in the index already.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageEmbedding {
    /// Id of the passage.
    pub passage: Uuid,
    /// Its embedding.
    pub embedding: Embedding,
}

/// A passage of one version of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// Id of the document that the passage is part of.
    pub document: Uuid,
    /// Version of the document's text.
    pub version: i64,
    /// Attributes of its document, for filters.
    pub labels: Labels,
    /// The language in which `sparse` was analysed.
    pub language: Language,
    /// Its words with their BM25 term weights.
    pub sparse: SparseVector,
    /// Its embeddings, each of another model of the index. None while there is no model; those of a model that comes later are added by
    /// [`PassageIndex::set_vectors`](super::PassageIndex::set_vectors).
    pub dense: Vec<Embedding>,
}
