//! The embedded passage index: one qdrant-edge shard in a folder, shared by all users.
//!
//! Writes go through a log, so uncommitted writes mostly outlive a killed process; only [`PassageIndex::commit`] guarantees it, also
//! for a power loss. A folder can be open in one process at a time.
//!
//! An index that nothing uses is unloaded, which frees its memory, and loaded again by the next request that needs it
//! ([`PassageIndex::unload_unused`]). Its folder stays locked meanwhile. What is known of its tenants stays too, without the counts of their
//! words, which take memory: only this process writes into the folder, and it loads the index first.

mod corpus;
mod fault;
mod filter;
mod load;
mod point;
mod query;
mod schema;
mod shard;
mod shard_folder;
mod tenants;
#[cfg(test)]
mod tests;
mod word_counts;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use disk::{MIN_FREE_TO_ADD_BYTES, MIN_FREE_TO_DELETE_BYTES, available_bytes};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, FacetRequest, Filter as EngineFilter, Payload, PayloadOps,
    PointId, PointInsertOperations, PointOperations, QueryBatchRequest, RetrieveRequest, ScrollRequest,
    SetPayloadOp, UpdateOperation, UpdateVectorsOp, VectorOperations, WithPayloadInterface, WithVector,
};
use uuid::Uuid;

use self::query::SearchScope;
use self::shard::{Shard, try_guard};
use self::shard_folder::ShardFolder;
use self::tenants::TenantRegister;
use self::word_counts::CorpusCounts;
use super::index_error::IndexError;
use super::language::Language;
use super::passage::{Labels, PassageEmbedding, Point, Tenant};
use super::passage_index::{PassageIndex, PassagePage, PointPage};
use super::query::{HybridHits, IndexQuery};
use super::vector_model::{VectorModel, VectorModels, vector_name};

/// Space that must be free for an index to stay unloaded. Loading needs [`MIN_FREE_TO_ADD_BYTES`]: with less, searches would be refused
/// that a loaded index answers. The rest is for what others write between two checks of a disk that fills up.
const MIN_FREE_TO_UNLOAD_BYTES: u64 = 4 * MIN_FREE_TO_ADD_BYTES;

/// Maximum number of tenants that are looked for one by one when those of the shard are counted.
const MAX_CHECKED_OWNERS: usize = 64;

/// Returns the request for all values that a field has among the passages that a filter matches.
fn facet_request(field: &str, filter: Option<EngineFilter>) -> FacetRequest {
    // With a small limit the engine lists the values of a sample alone.
    FacetRequest { limit: usize::MAX, filter, ..FacetRequest::new(schema::field_path(field)) }
}

/// The passage index in a folder of this machine, run by qdrant-edge in this process.
pub struct EdgeIndex {
    /// It is abandoned, resumed and unloaded only under both locks below.
    shard: Shard,
    /// Held while the shard is optimized. Lock order: before `writing`.
    optimizing: Mutex<()>,
    /// Held during every write, so that writes wait for one another.
    writing: Mutex<()>,
    /// The tenants that have passages, and their languages. Every write of passages is noted in it first.
    tenants: TenantRegister,
    /// In how many passages of a tenant its words are, for the tenants that search while others have passages. Every write of passages
    /// notes its words in it.
    word_counts: CorpusCounts,
    /// [`MIN_FREE_TO_UNLOAD_BYTES`], or another number in a test.
    min_free_to_unload: u64,
}

impl EdgeIndex {
    /// Opens the index in a folder, or creates one there. Adds a vector for each model that is new to the index.
    ///
    /// # Errors
    /// [`IndexError::Open`] when another process has the index open, or its files cannot be read or written.
    pub fn open(folder: &Path, models: VectorModels) -> Result<Self, IndexError> {
        if !Self::exists_in(folder) {
            // On file systems that allocate the blocks of mapped files at the first read, such as tmpfs, loading takes up to 26 MiB.
            // They are allocated now, while there is space: a later start on a full disk would be killed (SIGBUS).
            drop(Self::open_once(folder, models.clone())?);
        }
        Self::open_once(folder, models)
    }

    fn open_once(folder: &Path, models: VectorModels) -> Result<Self, IndexError> {
        let shard = Shard::open(folder, models).map_err(IndexError::Open)?;
        Ok(Self {
            shard,
            optimizing: Mutex::new(()),
            writing: Mutex::new(()),
            tenants: TenantRegister::default(),
            word_counts: CorpusCounts::default(),
            min_free_to_unload: MIN_FREE_TO_UNLOAD_BYTES,
        })
    }

    /// Returns whether a folder holds an index.
    #[must_use]
    pub fn exists_in(folder: &Path) -> bool {
        load::exists_in(folder)
    }

    /// Returns whether the disk of a folder has enough space to write an index there.
    #[must_use]
    pub fn has_room(folder: &Path) -> bool {
        available_bytes(folder).is_ok_and(|free| free >= MIN_FREE_TO_ADD_BYTES)
    }

    /// Changes the shard, unless the index is abandoned. The caller holds `writing`.
    fn write(&self, action: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        self.prepare_write()?;
        self.shard.update(action, operation)
    }

    /// Refuses if the index is abandoned, and reloads the shard after a failed write. The caller holds `writing`.
    fn prepare_write(&self) -> Result<(), IndexError> {
        self.folder().require_not_abandoned()?;
        self.reload_if_blocked()
    }

    /// Reloads the shard after a failed write. The caller holds `writing`.
    fn reload_if_blocked(&self) -> Result<(), IndexError> {
        if !self.shard.is_blocked() {
            return Ok(());
        }
        // Does not wait: optimizing takes seconds, and its lock comes before `writing`.
        let Some(_optimizing) = try_guard(self.optimizing.try_lock()) else {
            return Err(IndexError::Blocked);
        };
        // Without space the engine would end the process. When the old shard is dropped, the engine flushes it by path, so the folder
        // must still be its own.
        self.folder().require_space_to_add()?;
        if !self.is_in_place() {
            return Err(IndexError::Blocked);
        }
        // The engine repeats from its log what failed.
        self.word_counts.forget_all();
        self.shard.reload()
    }

    fn folder(&self) -> &ShardFolder {
        self.shard.folder()
    }

    fn lock_optimizing(&self) -> MutexGuard<'_, ()> {
        self.optimizing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_writing(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the languages of the tenant's passages. Looks for one passage in each language: the facet of the labels would read those
    /// of all passages, and a library may have thousands of feeds.
    fn find_languages(&self, tenant: &Tenant) -> Result<HashSet<Language>, IndexError> {
        self.shard.read("search", |shard| {
            let mut found = HashSet::new();
            for language in Language::ALL {
                let request = ScrollRequest {
                    filter: Some(filter::in_language(tenant, language)),
                    limit: Some(1),
                    with_payload: Some(WithPayloadInterface::Bool(false)),
                    ..ScrollRequest::new()
                };
                let (records, _) = shard.scroll(request)?;
                if !records.is_empty() {
                    found.insert(language);
                }
            }
            Ok(found)
        })
    }

    /// Returns the languages of a document's passages, from the facet of their labels: a document has few passages.
    fn document_languages(&self, tenant: &Tenant, document: Uuid) -> Result<Vec<Language>, IndexError> {
        let request = facet_request(schema::LABELS, Some(filter::of_document(tenant, document, None)));
        let response = self.shard.read("read", |shard| shard.facet(request))?;
        Ok(response.hits.iter().filter_map(|hit| point::facet_language(&hit.value)).collect())
    }

    /// Returns the tenants that have passages in the shard. If there are many, may include tenants whose passages were deleted since.
    fn list_owners(&self) -> Result<Vec<Tenant>, IndexError> {
        let request = facet_request(schema::USER, None);
        let response = self.shard.read("count", |shard| shard.facet(request))?;
        let listed: Vec<Tenant> =
            response.hits.iter().filter_map(|hit| point::facet_tenant(&hit.value)).collect();
        if listed.len() > MAX_CHECKED_OWNERS {
            return Ok(listed);
        }
        // The engine may list values of passages that were deleted.
        let mut owners = Vec::new();
        for tenant in listed {
            if self.has_passages(&tenant)? {
                owners.push(tenant);
            }
        }
        Ok(owners)
    }

    /// Returns whether a tenant has any passage.
    fn has_passages(&self, tenant: &Tenant) -> Result<bool, IndexError> {
        let request = ScrollRequest {
            filter: Some(filter::owned_by(tenant)),
            limit: Some(1),
            with_payload: Some(WithPayloadInterface::Bool(false)),
            ..ScrollRequest::new()
        };
        let (records, _) = self.shard.read("count", |shard| shard.scroll(request))?;
        Ok(!records.is_empty())
    }

    /// Searches by words and by meaning among the passages of a scope, and for the best score of each term.
    fn search_within(&self, scope: SearchScope, query: &IndexQuery) -> Result<HybridHits, IndexError> {
        let lexical = (!query.sparse.is_empty()).then(|| query::lexical(scope, query));
        let dense = query.dense.as_ref().map(|embedding| query::dense(scope, query, embedding));
        let has_dense = dense.is_some();

        // A term without words is in no passage.
        let probes = query.terms.iter().filter(|term| !term.is_empty()).map(|term| query::term(scope, term));
        let queries: Vec<_> = lexical.into_iter().chain(dense).chain(probes).collect();
        let results =
            self.shard.read("search", |shard| shard.query_batch(QueryBatchRequest::new(queries)))?;
        let results = results.iter().map(|scored| query::sorted_hits(scored));
        Ok(HybridHits::from_results(query, has_dense, results))
    }
}

impl PassageIndex for EdgeIndex {
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError> {
        self.shard.models().check(points.iter().flat_map(|point| &point.dense))?;
        let _writing = self.lock_writing();
        self.folder().require_space_to_add()?;
        // Before the words are read, which fails while the shard is not loaded.
        self.prepare_write()?;
        self.tenants.note_upsert(tenant, points.iter().map(|point| point.language));
        self.note_words_of(tenant, &points);
        let stored = points.into_iter().map(|point| point::to_engine(tenant, point)).collect();
        let insert = ConditionalInsertOperation {
            points_op: PointInsertOperations::PointsList(stored),
            // The condition applies to points that exist: an id that another tenant has is skipped instead of taken over.
            condition: filter::owned_by(tenant),
            update_mode: None,
        };
        self.write_passages(tenant, "add to", PointOperations::UpsertPointsConditional(insert))
    }

    fn set_vectors(
        &self,
        tenant: &Tenant,
        mut embeddings: Vec<PassageEmbedding>,
    ) -> Result<Vec<Uuid>, IndexError> {
        self.shard.models().check(embeddings.iter().map(|of_passage| &of_passage.embedding))?;
        let _writing = self.lock_writing();
        self.folder().require_space_to_add()?;
        // Before the read, which fails while the shard is not loaded.
        self.prepare_write()?;
        let passages: Vec<Uuid> = embeddings.iter().map(|of_passage| of_passage.passage).collect();
        // Nothing else writes meanwhile, and the engine refuses vectors of a passage that it does not hold.
        let held = self.find_documents(tenant, &passages)?;
        embeddings.retain(|of_passage| held.contains_key(&of_passage.passage));
        if !embeddings.is_empty() {
            let update = UpdateVectorsOp {
                points: embeddings.into_iter().map(point::vectors_to_engine).collect(),
                update_filter: Some(filter::owned_by(tenant)),
            };
            let update = UpdateOperation::VectorOperation(VectorOperations::UpdateVectors(update));
            self.write("add vectors to", update)?;
        }
        Ok(passages.into_iter().filter(|passage| !held.contains_key(passage)).collect())
    }

    fn add_model(&self, model: &VectorModel) -> Result<(), IndexError> {
        // Not while the shard is optimized, which would make segments without the vectors that are added meanwhile.
        let _optimizing = self.lock_optimizing();
        let _writing = self.lock_writing();
        self.folder().require_space_to_add()?;
        self.folder().require_not_abandoned()?;
        let name = model.vector_name();
        if !self.shard.read("read", |shard| Ok(shard.config().vectors.contains_key(&name)))? {
            self.shard.update("add vectors to", schema::create_vector(model))?;
        }
        self.shard.models().add(model.clone());
        Ok(())
    }

    fn delete_model(&self, model: &str) -> Result<(), IndexError> {
        // Not while the shard is optimized, which would copy vectors that are deleted meanwhile.
        let _optimizing = self.lock_optimizing();
        let _writing = self.lock_writing();
        self.folder().require_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.folder().require_not_abandoned()?;
        self.shard.models().remove(model);
        let name = vector_name(model);
        if self.shard.read("read", |shard| Ok(shard.config().vectors.contains_key(&name)))? {
            self.shard.update("delete vectors from", schema::delete_vector(name))?;
        }
        Ok(())
    }

    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError> {
        let _writing = self.lock_writing();
        self.folder().require_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.prepare_write()?;
        let deleted = filter::of_document(tenant, document, keep);
        self.note_deletion_of(tenant, &deleted);
        self.write_passages(tenant, "delete from", PointOperations::DeletePointsByFilter(deleted))?;
        // The last document of an account may be deleted without the account. Nothing else writes meanwhile.
        if keep.is_none()
            && self.tenants.may_have_others(tenant)
            && self.has_passages(tenant).is_ok_and(|has_any| !has_any)
        {
            self.tenants.note_delete(tenant);
        }
        Ok(())
    }

    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError> {
        let _writing = self.lock_writing();
        self.folder().require_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.word_counts.forget(tenant);
        self.write_passages(
            tenant,
            "delete from",
            PointOperations::DeletePointsByFilter(filter::owned_by(tenant)),
        )?;
        self.tenants.note_delete(tenant);
        Ok(())
    }

    fn update_labels(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError> {
        let _writing = self.lock_writing();
        self.folder().require_space_to_add()?;
        // Before the read, which fails while the shard is not loaded.
        self.prepare_write()?;
        // Passages of one document may differ in language, and each keeps its language label. Nothing else writes meanwhile.
        for language in self.document_languages(tenant, document)? {
            let set = SetPayloadOp {
                payload: Payload(point::labels_payload(labels, language)),
                points: None,
                filter: Some(filter::of_document_in_language(tenant, document, language)),
                key: None,
            };
            let set = UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set));
            self.write("update the labels of", set)?;
        }
        Ok(())
    }

    fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError> {
        self.shard.models().check(query.dense.iter())?;
        self.tenants.count_owners(|| self.list_owners())?;
        if self.tenants.is_sole_owner(tenant) {
            let hits = self.search_within(SearchScope::SoleTenant(*tenant), query)?;
            // A passage of another tenant is noted before it is written, so none was there if none is noted now.
            if self.tenants.is_sole_owner(tenant) {
                return Ok(hits);
            }
        }
        match self.word_counts.weigh(tenant, query) {
            Some(weighed) => self.search_within(SearchScope::CountedTenant(*tenant), &weighed),
            None => self.search_within(SearchScope::Tenant(*tenant), query),
        }
    }

    fn find_documents(&self, tenant: &Tenant, passages: &[Uuid]) -> Result<HashMap<Uuid, Uuid>, IndexError> {
        let fields = [schema::USER, schema::DOCUMENT].map(schema::field_path);
        let request = RetrieveRequest {
            with_payload: Some(WithPayloadInterface::Fields(fields.to_vec())),
            ..RetrieveRequest::new(passages.iter().copied().map(PointId::Uuid).collect())
        };
        let records = self.shard.read("read", |shard| shard.retrieve(request))?;
        Ok(records.into_iter().filter_map(|record| point::document_of(tenant, record)).collect())
    }

    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError> {
        self.tenants.languages(tenant, || self.find_languages(tenant))
    }

    fn count(&self) -> Result<usize, IndexError> {
        // An exact count gathers the ids of all passages in memory.
        let request = CountRequest { filter: None, exact: true };
        self.shard.read("count", |shard| shard.count(request))
    }

    fn estimate_count(&self) -> Result<usize, IndexError> {
        self.shard.estimate_count()
    }

    fn commit(&self) -> Result<(), IndexError> {
        let _writing = self.lock_writing();
        self.folder().require_not_abandoned()?;
        if self.shard.is_unloaded() {
            // Every write loads it, and it was flushed when it was unloaded.
            return Ok(());
        }
        self.folder().require_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.reload_if_blocked()?;
        // The engine may let a flush wait for an optimization in progress.
        self.shard.flush()
    }

    fn maintain(&self) -> Result<bool, IndexError> {
        // Without the lock for writing: the engine adds and searches passages while it optimizes.
        let _optimizing = self.lock_optimizing();
        self.folder().require_not_abandoned()?;
        if self.shard.is_unloaded() {
            // What is left to pack is packed once it is loaded again.
            return Ok(false);
        }
        self.count_words();
        self.folder().require_space_to_optimize()?;
        self.shard.optimize()
    }

    fn unload_unused(&self, unused_for: Duration) -> Result<bool, IndexError> {
        // A lock that is held means that the index is in use.
        let Some(_optimizing) = try_guard(self.optimizing.try_lock()) else { return Ok(false) };
        let Some(_writing) = try_guard(self.writing.try_lock()) else { return Ok(false) };
        // The engine flushes a shard that is dropped by path, so the folder must still be its own.
        if !self.is_in_place() {
            return Ok(false);
        }
        if self.folder().free_bytes()? >= self.min_free_to_unload {
            let is_unloaded = self.shard.unload(unused_for)?;
            if is_unloaded {
                self.word_counts.forget_all();
            }
            return Ok(is_unloaded);
        }
        if self.shard.is_unloaded() {
            // Searches continue on a full disk only if the index is loaded before it is full.
            self.shard.ensure_loaded()?;
        }
        Ok(false)
    }

    fn find_missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        let request = RetrieveRequest {
            with_payload: Some(WithPayloadInterface::Bool(false)),
            ..RetrieveRequest::new(passages.iter().copied().map(PointId::Uuid).collect())
        };
        let found = self.shard.read("read", |shard| shard.retrieve(request))?;
        let found: HashSet<Uuid> =
            found.into_iter().filter_map(|record| point::passage_id(record.id)).collect();
        Ok(passages.iter().copied().filter(|id| !found.contains(id)).collect())
    }

    fn list_passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError> {
        let request = ScrollRequest {
            offset: from.map(PointId::Uuid),
            limit: Some(limit),
            with_payload: Some(WithPayloadInterface::Bool(false)),
            ..ScrollRequest::new()
        };
        let (records, next) = self.shard.read("read", |shard| shard.scroll(request))?;
        let ids = records.into_iter().filter_map(|record| point::passage_id(record.id)).collect();
        Ok(PassagePage { ids, next: next.and_then(point::passage_id) })
    }

    fn read_points(&self, from: Option<Uuid>, limit: usize) -> Result<PointPage, IndexError> {
        let models = self.shard.models().list();
        let vectors = models.iter().map(|model| model.vector_name()).chain([schema::WORDS_VECTOR.to_owned()]);
        let request = ScrollRequest {
            offset: from.map(PointId::Uuid),
            limit: Some(limit),
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: WithVector::Selector(vectors.collect()),
            ..ScrollRequest::new()
        };
        let (records, next) = self.shard.read("read", |shard| shard.scroll(request))?;
        let found = records.len();
        let points: Vec<_> =
            records.into_iter().filter_map(|record| point::from_engine(record, &models)).collect();
        let unreadable = found - points.len();
        Ok(PointPage { points, unreadable, next: next.and_then(point::passage_id) })
    }

    fn count_of(&self, tenant: &Tenant) -> Result<usize, IndexError> {
        let request = CountRequest { filter: Some(filter::owned_by(tenant)), exact: true };
        self.shard.read("count", |shard| shard.count(request))
    }

    fn delete_passages(&self, passages: &[Uuid]) -> Result<(), IndexError> {
        let _writing = self.lock_writing();
        self.folder().require_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.prepare_write()?;
        self.note_deletion_by_ids(passages);
        let delete =
            PointOperations::DeletePoints { ids: passages.iter().copied().map(PointId::Uuid).collect() };
        let deleted = self.write("delete from", UpdateOperation::PointOperation(delete));
        if deleted.is_err() {
            self.word_counts.forget_all();
        }
        self.tenants.recount_owners();
        deleted
    }

    fn is_in_place(&self) -> bool {
        self.folder().is_in_place()
    }

    fn abandon(&self) {
        // Both locks: an optimization writes into the folder too.
        let _optimizing = self.lock_optimizing();
        let _writing = self.lock_writing();
        self.shard.abandon();
    }

    fn resume(&self) -> bool {
        let _optimizing = self.lock_optimizing();
        let _writing = self.lock_writing();
        self.word_counts.forget_all();
        self.shard.resume()
    }

    fn remote_deadline(&self) -> Option<Duration> {
        None
    }
}

impl Drop for EdgeIndex {
    /// When a shard is dropped, the engine flushes it by path, even into another index that is in the folder by then. The shard of an
    /// abandoned index is leaked instead. That costs its memory until the server ends, and happens only after an accident or
    /// when the server ends.
    fn drop(&mut self) {
        if self.folder().is_abandoned() {
            self.shard.leak();
        }
    }
}
