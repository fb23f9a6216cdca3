//! What an index of passages can do.

use std::collections::HashMap;
use std::time::Duration;

use uuid::Uuid;

use super::index_error::IndexError;
use super::language::Language;
use super::passage::{Labels, PassageEmbedding, Point, Tenant};
use super::query::{HybridHits, IndexQuery};
use super::vector_model::VectorModel;

/// A page of the passages of an index, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassagePage {
    /// Ids of the passages in ascending order.
    pub ids: Vec<Uuid>,
    /// Id of the first passage of the next page; `None` on the last page.
    pub next: Option<Uuid>,
}

/// A page of the passages of an index with all that it holds of them, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointPage {
    /// The passages, each with its owner. Their embeddings are in the order of the models of the index.
    pub points: Vec<(Tenant, Point)>,
    /// Number of points of the page that are not passages in the format of this version, which are left out.
    pub unreadable: usize,
    /// Id of the first passage of the next page; `None` on the last page.
    pub next: Option<Uuid>,
}

/// An index of passages. Writes are idempotent, and durable once [`PassageIndex::commit`] has returned.
///
/// Every request fails with [`IndexError::Engine`] or [`IndexError::Panicked`] when the engine fails, and with [`IndexError::Blocked`] or
/// [`IndexError::LoadFailed`] after a failed write until the index is reloaded; every write also with [`IndexError::Abandoned`] after
/// [`PassageIndex::abandon`]. A read of an index that [`PassageIndex::unload_unused`] has unloaded loads it first. That fails with
/// [`IndexError::LoadFailed`], [`IndexError::Full`], [`IndexError::Abandoned`] or, while its files are not in their place,
/// [`IndexError::Blocked`]. Sections `# Errors` list what a function returns besides.
pub trait PassageIndex: Send + Sync {
    /// Adds passages, or replaces those with the same ids. Never replaces a passage of another tenant.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] when an embedding has the wrong length, [`IndexError::UnknownModel`] when the index does not have its model; then
    /// nothing is written.
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError>;

    /// Adds embeddings to passages, or replaces those of the same models. Everything else of the passages stays. Returns the passages that
    /// the index does not hold, or that are another tenant's: they get none.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] when an embedding has the wrong length, [`IndexError::UnknownModel`] when the index does not have its model; then
    /// nothing is written.
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn set_vectors(
        &self,
        tenant: &Tenant,
        embeddings: Vec<PassageEmbedding>,
    ) -> Result<Vec<Uuid>, IndexError>;

    /// Adds a model, whose embeddings passages may have from then on. With it nothing happens.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write; [`IndexError::Open`] when a collection on a server has
    /// embeddings of another length with its name.
    fn add_model(&self, model: &VectorModel) -> Result<(), IndexError>;

    /// Deletes the embeddings of a model from the passages of all users. From then on the index does not have the model. Without it nothing
    /// happens.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn delete_model(&self, model: &str) -> Result<(), IndexError>;

    /// Deletes the passages of a document, except those of the version to keep.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError>;

    /// Deletes all passages of the tenant.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError>;

    /// Replaces the labels of a document's passages. Their vectors and languages stay. When it fails, some of the passages may have the
    /// new labels already.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn update_labels(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError>;

    /// Returns the best passages by words and by meaning, one list for each.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] when the embedding has the wrong length; [`IndexError::UnknownModel`] when the index does not have its model.
    fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError>;

    /// Returns the document of each of these passages. Those that are not the tenant's, or not in the index any more, are left out.
    fn find_documents(&self, tenant: &Tenant, passages: &[Uuid]) -> Result<HashMap<Uuid, Uuid>, IndexError>;

    /// Returns the languages of the tenant's passages. May include languages of passages that were deleted since.
    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError>;

    /// Notes that another process may have written passages of the tenant, so that the next call of [`Self::languages`] knows their
    /// languages. An index that one process alone writes knows them anyway.
    fn forget_languages(&self, _tenant: &Tenant) {}

    /// Counts the passages of all users, exactly. Visits all of them.
    fn count(&self) -> Result<usize, IndexError>;

    /// Counts the passages of all users without visiting them. A passage that two segments of the index hold is counted twice: for a
    /// moment while the index is optimized, and possibly after the process was killed, until the next [`PassageIndex::maintain`].
    /// Does not load an unloaded index: returns the estimate made when it was unloaded.
    ///
    /// # Errors
    /// [`IndexError::Full`] when the index is unloaded, and its disk has too little space to load it.
    fn estimate_count(&self) -> Result<usize, IndexError>;

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write; [`IndexError::Abandoned`] after
    /// [`PassageIndex::abandon`].
    fn commit(&self) -> Result<(), IndexError>;

    /// Optimizes the index: moves grown segments from memory to the disk, and frees the space of deleted passages. Also counts words of
    /// which searches need the frequencies. May take seconds, during which searches are answered. Returns whether there was anything to
    /// optimize. An unloaded index stays as it is.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write; [`IndexError::Abandoned`] after
    /// [`PassageIndex::abandon`].
    fn maintain(&self) -> Result<bool, IndexError>;

    /// Frees the memory of the index if no request has read or written it for this time, and nothing uses it now. The next read or write
    /// loads it again. [`PassageIndex::estimate_count`] and [`PassageIndex::maintain`] do not count as use. An index whose disk is nearly
    /// full stays loaded, or is loaded again, because loading needs space. Returns whether the memory was freed.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space to load it again; [`IndexError::Abandoned`] when it is abandoned before it
    /// is loaded again.
    fn unload_unused(&self, unused_for: Duration) -> Result<bool, IndexError>;

    /// Returns those of these passages, of any user, that the index does not hold. Only for the comparison with the database.
    fn find_missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError>;

    /// Lists at most `limit` passages of all users, starting with this one. Only for the comparison with the database.
    fn list_passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError>;

    /// Reads at most `limit` passages of all users with their words and their embeddings of all models of the index, starting
    /// with this one. Only for copying an index.
    fn read_points(&self, from: Option<Uuid>, limit: usize) -> Result<PointPage, IndexError>;

    /// Counts the passages of the tenant, exactly. Visits all of them.
    fn count_of(&self, tenant: &Tenant) -> Result<usize, IndexError>;

    /// Deletes passages of any user that the database does not have. Only for the comparison with the database.
    ///
    /// # Errors
    /// [`IndexError::Full`] when its disk has too little space for a safe write.
    fn delete_passages(&self, passages: &[Uuid]) -> Result<(), IndexError>;

    /// Returns whether the files from which the index was opened are still in their place. `false` once it is abandoned.
    fn is_in_place(&self) -> bool;

    /// Waits for writes in progress, and prevents all later writes to the folder, including those at drop. Searches are still
    /// answered, unless the index is unloaded.
    fn abandon(&self);

    /// Allows writes again after [`PassageIndex::abandon`] if the index's own files are back in their place. Returns whether they are.
    fn resume(&self) -> bool;

    /// Returns the longest time that a search waits for the server of the index; `None` for an index on this machine, whose searches
    /// compute instead of waiting.
    fn remote_deadline(&self) -> Option<Duration>;
}
