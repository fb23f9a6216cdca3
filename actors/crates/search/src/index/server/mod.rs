//! The passage index in a collection of a Qdrant server or cluster, which several nodes may share.
//!
//! It holds the same points as the embedded index, and ranks them alike: the lexical and the dense search are separate queries of one
//! request, and their hits are fused here, as always. A write is durable when it is answered. The server optimizes its collection itself.
//!
//! Every request blocks its thread within a deadline. After several failures in a row the server is not asked for some seconds, and
//! requests fail at once ([`IndexError::Unreachable`]). No failure of a server counts as damage: the index there is never replaced, only
//! filled again.

mod call_error;
mod collection;
mod connection;
mod filter;
mod languages;
mod point;
mod query;
mod store;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_update_operation::{Operation, SetPayload};
use qdrant_client::qdrant::{
    CountPoints, DeletePoints, DeleteVectorNameRequest, FacetCounts, Filter as ServerFilter, GetPoints,
    PayloadIncludeSelector, PointId, PointsIdsList, PointsSelector, PointsUpdateOperation, QueryBatchPoints,
    RetrievedPoint, ScrollPoints, UpdateBatchPoints, UpdatePointVectors, UpsertPoints, VectorsSelector,
    WithPayloadSelector, WithVectorsSelector, with_payload_selector, with_vectors_selector,
};
use qdrant_client::{Qdrant, QdrantError};
use tracing::error;
use uuid::Uuid;
use values::cause::error_chain;

pub use self::collection::CollectionSettings;
pub use self::store::{ServerReport, ServerSettings, ServerStore, compare_server_markers};

use self::connection::{PROBE_DEADLINE, READ_DEADLINE, WRITE_DEADLINE};
use self::languages::LanguageCache;
use self::query::SearchRequest;
use super::index_error::IndexError;
use super::language::Language;
use super::marker::Marker;
use super::opened_index::OpenedIndex;
use super::passage::{Labels, PassageEmbedding, Point, Tenant};
use super::passage_index::{PassageIndex, PassagePage, PointPage};
use super::query::{HybridHits, IndexQuery};
use super::schema;
use super::vector_model::{VectorModel, vector_name};

/// Passages that one request adds: about 2 MB with long vectors.
const UPSERT_BATCH: usize = 256;
/// Passages that one request reads or deletes by their ids.
const ID_BATCH: usize = 1_000;
/// Labels of which a facet finds the languages: more than the feeds of a library.
const MAX_LABELS: u64 = 100_000;

/// The passage index on a server.
pub struct ServerIndex {
    store: ServerStore,
    languages: LanguageCache,
    is_abandoned: AtomicBool,
}

impl ServerIndex {
    /// Opens the collection of a server, or creates it if the server has none. Adds a vector for each model that is new to the collection.
    /// Blocks.
    ///
    /// # Errors
    /// [`IndexError::Open`] when the server is older than version 1.19, or the collection belongs to another program;
    /// [`IndexError::Unreachable`] when the server does not answer, or refuses the key.
    pub fn open(store: &ServerStore) -> Result<Self, IndexError> {
        store.open()?;
        Ok(Self::new(store.clone()))
    }

    /// Opens the collection as [`Self::open`] does, and compares its marker with the one that the database recorded. If the server does not
    /// answer, the first request that reaches it opens the collection. Blocks.
    ///
    /// # Errors
    /// [`IndexError::Open`] as in [`Self::open`].
    pub fn open_or_postpone(
        store: &ServerStore,
        recorded: Option<&Marker>,
    ) -> Result<OpenedIndex, IndexError> {
        match Self::open_and_compare(store, recorded) {
            opened @ (Ok(_) | Err(IndexError::Open(_))) => opened,
            Err(failure) => {
                let (cause, place) = (error_chain(&failure), store.description());
                error!(cause, place, "the passage index is not reached: it is tried again every few seconds");
                let index = Arc::new(Self::new(store.clone()));
                Ok(OpenedIndex { index, audit_reason: None, found: None, is_reached: false })
            }
        }
    }

    /// Opens the collection as [`Self::open`] does, and compares its marker with the one that the database recorded. Blocks.
    ///
    /// # Errors
    /// The same as [`Self::open`].
    pub fn open_and_compare(
        store: &ServerStore,
        recorded: Option<&Marker>,
    ) -> Result<OpenedIndex, IndexError> {
        let index = Arc::new(Self::open(store)?);
        let found = store.read_marker()?;
        let audit_reason = compare_server_markers(found.as_ref(), recorded);
        Ok(OpenedIndex { index, audit_reason, found, is_reached: true })
    }

    fn new(store: ServerStore) -> Self {
        Self { store, languages: LanguageCache::default(), is_abandoned: AtomicBool::new(false) }
    }

    /// Sends a request to the collection; `action` names what failed ([`IndexError::Engine`]).
    fn call<T, F>(
        &self,
        action: &'static str,
        deadline: Duration,
        request: impl FnOnce(Qdrant) -> F,
    ) -> Result<T, IndexError>
    where
        F: Future<Output = Result<T, QdrantError>>,
    {
        self.store.ensure_prepared()?;
        self.store.connection().call(deadline, request).map_err(|error| {
            if error.is_not_found() {
                self.store.note_gone(true);
            }
            error.into_index_error(action, self.store.connection().wait())
        })
    }

    fn require_not_abandoned(&self) -> Result<(), IndexError> {
        if self.is_abandoned.load(Ordering::Relaxed) { Err(IndexError::Abandoned) } else { Ok(()) }
    }

    fn collection_name(&self) -> String {
        self.store.collection().to_owned()
    }

    fn delete(&self, points: PointsSelectorOneOf) -> Result<(), IndexError> {
        self.require_not_abandoned()?;
        let request = DeletePoints {
            collection_name: self.collection_name(),
            wait: Some(true),
            points: Some(PointsSelector { points_selector_one_of: Some(points) }),
            ..DeletePoints::default()
        };
        self.call(
            "delete from",
            WRITE_DEADLINE,
            |client| async move { client.delete_points(request).await },
        )?;
        Ok(())
    }

    /// Returns the languages of the passages that a filter matches, from the facet of their labels.
    fn find_languages(
        &self,
        filter: ServerFilter,
        deadline: Duration,
    ) -> Result<HashSet<Language>, IndexError> {
        let request = FacetCounts {
            collection_name: self.collection_name(),
            key: schema::LABELS.to_owned(),
            filter: Some(filter),
            limit: Some(MAX_LABELS),
            exact: Some(false),
            ..FacetCounts::default()
        };
        let found = self.call("read", deadline, |client| async move { client.facet(request).await })?;
        Ok(found.hits.iter().filter_map(point::facet_language).collect())
    }

    /// Reads passages by their ids, with these fields of their payloads.
    fn get_points(
        &self,
        passages: &[Uuid],
        fields: &[&str],
        deadline: Duration,
    ) -> Result<Vec<RetrievedPoint>, IndexError> {
        let mut found = Vec::with_capacity(passages.len());
        for passages in passages.chunks(ID_BATCH) {
            let request = GetPoints {
                collection_name: self.collection_name(),
                ids: point_ids(passages),
                with_payload: Some(payload_fields(fields)),
                ..GetPoints::default()
            };
            let points =
                self.call("read", deadline, |client| async move { client.get_points(request).await })?;
            found.extend(points.result);
        }
        Ok(found)
    }

    /// Counts the passages that a filter matches, or all.
    fn count_points(
        &self,
        filter: Option<ServerFilter>,
        exact: bool,
        deadline: Duration,
    ) -> Result<usize, IndexError> {
        let request = CountPoints {
            collection_name: self.collection_name(),
            filter,
            exact: Some(exact),
            ..CountPoints::default()
        };
        let counted = self.call("count", deadline, |client| async move { client.count(request).await })?;
        let count = counted.result.map_or(0, |result| result.count);
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

impl PassageIndex for ServerIndex {
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError> {
        self.store.models().check(points.iter().flat_map(|point| &point.dense))?;
        self.require_not_abandoned()?;
        self.languages.note_upsert(tenant, points.iter().map(|point| point.language));
        let mut points = points.into_iter().map(|point| point::to_server(tenant, point));
        loop {
            let batch: Vec<_> = points.by_ref().take(UPSERT_BATCH).collect();
            if batch.is_empty() {
                return Ok(());
            }
            let request = UpsertPoints {
                collection_name: self.collection_name(),
                wait: Some(true),
                points: batch,
                // The condition applies to points that exist: an id that another tenant has is skipped instead of taken over.
                update_filter: Some(filter::owned_by(tenant)),
                ..UpsertPoints::default()
            };
            self.call("add to", WRITE_DEADLINE, |client| async move { client.upsert_points(request).await })?;
        }
    }

    fn set_vectors(
        &self,
        tenant: &Tenant,
        mut embeddings: Vec<PassageEmbedding>,
    ) -> Result<Vec<Uuid>, IndexError> {
        self.store.models().check(embeddings.iter().map(|of_passage| &of_passage.embedding))?;
        self.require_not_abandoned()?;
        let passages: Vec<Uuid> = embeddings.iter().map(|of_passage| of_passage.passage).collect();
        // The server refuses vectors of a passage that it does not hold.
        let held = self.get_points(&passages, &[schema::USER, schema::DOCUMENT], READ_DEADLINE)?;
        let held: HashMap<Uuid, Uuid> =
            held.iter().filter_map(|point| point::document_of(tenant, point)).collect();
        embeddings.retain(|of_passage| held.contains_key(&of_passage.passage));
        let mut points = embeddings.into_iter().map(point::vectors_to_server);
        loop {
            let batch: Vec<_> = points.by_ref().take(UPSERT_BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let request = UpdatePointVectors {
                collection_name: self.collection_name(),
                wait: Some(true),
                points: batch,
                update_filter: Some(filter::owned_by(tenant)),
                ..UpdatePointVectors::default()
            };
            self.call("add vectors to", WRITE_DEADLINE, |client| async move {
                client.update_vectors(request).await
            })?;
        }
        Ok(passages.into_iter().filter(|passage| !held.contains_key(passage)).collect())
    }

    fn add_model(&self, model: &VectorModel) -> Result<(), IndexError> {
        self.require_not_abandoned()?;
        self.store.add_model(model)
    }

    fn delete_model(&self, model: &str) -> Result<(), IndexError> {
        self.require_not_abandoned()?;
        self.store.models().remove(model);
        let collection_name = self.collection_name();
        let vector_name = vector_name(model);
        let info = self.call("read", READ_DEADLINE, |client| {
            let name = collection_name.clone();
            async move { client.collection_info(name).await }
        })?;
        // Another server may have deleted it, or the collection is new.
        let params = info.result.and_then(|info| info.config).and_then(|config| config.params);
        if !params.is_some_and(|params| collection::has_vector(&params, &vector_name)) {
            return Ok(());
        }
        let request = DeleteVectorNameRequest {
            collection_name,
            wait: Some(true),
            vector_name,
            ..DeleteVectorNameRequest::default()
        };
        self.call("delete vectors from", WRITE_DEADLINE, |client| async move {
            client.delete_vector_name(request).await
        })?;
        Ok(())
    }

    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError> {
        self.delete(PointsSelectorOneOf::Filter(filter::of_document(tenant, document, keep)))
    }

    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError> {
        self.delete(PointsSelectorOneOf::Filter(filter::owned_by(tenant)))?;
        self.languages.note_delete(tenant);
        Ok(())
    }

    fn update_labels(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError> {
        self.require_not_abandoned()?;
        // Passages of one document may differ in language, and each keeps its language label.
        let languages = self.find_languages(filter::of_document(tenant, document, None), READ_DEADLINE)?;
        let operations: Vec<_> =
            languages.into_iter().map(|language| set_labels(tenant, document, labels, language)).collect();
        if operations.is_empty() {
            return Ok(());
        }
        let request = UpdateBatchPoints {
            collection_name: self.collection_name(),
            wait: Some(true),
            operations,
            ..UpdateBatchPoints::default()
        };
        self.call("update the labels of", WRITE_DEADLINE, |client| async move {
            client.update_points_batch(request).await
        })?;
        Ok(())
    }

    fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError> {
        self.store.models().check(query.dense.iter())?;
        let collection = self.store.collection();
        let request = SearchRequest { collection, tenant, query };
        let lexical = (!query.sparse.is_empty()).then(|| request.lexical());
        let dense = query.dense.as_ref().map(|embedding| request.dense(embedding));
        let has_dense = dense.is_some();
        // A term without words is in no passage.
        let probes = query.terms.iter().filter(|term| !term.is_empty()).map(|term| request.term(term));
        let query_points: Vec<_> = lexical.into_iter().chain(dense).chain(probes).collect();
        if query_points.is_empty() {
            return Ok(HybridHits { term_scores: vec![0.0; query.terms.len()], ..HybridHits::default() });
        }

        let deadline = self.store.settings().search_deadline;
        let request = QueryBatchPoints {
            collection_name: self.collection_name(),
            query_points,
            timeout: query::server_timeout(deadline),
            ..QueryBatchPoints::default()
        };
        let found =
            self.call("search", deadline, |client| async move { client.query_batch(request).await })?;

        let mut documents = HashMap::new();
        let results = found.result.into_iter().map(|found| query::sorted_hits(&found, &mut documents));
        let hits = HybridHits::from_results(query, has_dense, results);
        Ok(HybridHits { documents, ..hits })
    }

    fn find_documents(&self, tenant: &Tenant, passages: &[Uuid]) -> Result<HashMap<Uuid, Uuid>, IndexError> {
        let deadline = self.store.settings().search_deadline;
        let points = self.get_points(passages, &[schema::USER, schema::DOCUMENT], deadline)?;
        Ok(points.iter().filter_map(|point| point::document_of(tenant, point)).collect())
    }

    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError> {
        // A search waits for it.
        let deadline = self.store.settings().search_deadline;
        self.languages.languages(tenant, || self.find_languages(filter::owned_by(tenant), deadline))
    }

    fn forget_languages(&self, tenant: &Tenant) {
        self.languages.forget_count(tenant);
    }

    fn count(&self) -> Result<usize, IndexError> {
        self.count_points(None, true, READ_DEADLINE)
    }

    fn estimate_count(&self) -> Result<usize, IndexError> {
        self.count_points(None, false, PROBE_DEADLINE)
    }

    /// Every write is durable when it is answered.
    fn commit(&self) -> Result<(), IndexError> {
        self.require_not_abandoned()
    }

    /// The server optimizes its collection itself.
    fn maintain(&self) -> Result<bool, IndexError> {
        self.require_not_abandoned()?;
        Ok(false)
    }

    /// The index takes no memory of this process.
    fn unload_unused(&self, _unused_for: Duration) -> Result<bool, IndexError> {
        Ok(false)
    }

    fn find_missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        let found = self.get_points(passages, &[], READ_DEADLINE)?;
        let found: HashSet<Uuid> =
            found.iter().filter_map(|point| point::passage_id(point.id.as_ref())).collect();
        Ok(passages.iter().copied().filter(|id| !found.contains(id)).collect())
    }

    fn list_passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError> {
        let request = ScrollPoints {
            collection_name: self.collection_name(),
            offset: from.map(point::point_id),
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            with_payload: Some(payload_fields(&[])),
            ..ScrollPoints::default()
        };
        let page = self.call("read", READ_DEADLINE, |client| async move { client.scroll(request).await })?;
        let ids = page.result.iter().filter_map(|point| point::passage_id(point.id.as_ref())).collect();
        Ok(PassagePage { ids, next: point::passage_id(page.next_page_offset.as_ref()) })
    }

    fn read_points(&self, from: Option<Uuid>, limit: usize) -> Result<PointPage, IndexError> {
        let models = self.store.models().list();
        let dense = models.iter().map(|model| model.vector_name());
        let names = dense.chain([schema::WORDS_VECTOR.to_owned()]).collect();
        let vectors = with_vectors_selector::SelectorOptions::Include(VectorsSelector { names });
        let request = ScrollPoints {
            collection_name: self.collection_name(),
            offset: from.map(point::point_id),
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            with_payload: Some(payload_fields(&[
                schema::USER,
                schema::DOCUMENT,
                schema::VERSION,
                schema::LABELS,
            ])),
            with_vectors: Some(WithVectorsSelector { selector_options: Some(vectors) }),
            ..ScrollPoints::default()
        };
        let page = self.call("read", READ_DEADLINE, |client| async move { client.scroll(request).await })?;
        let points: Vec<_> =
            page.result.iter().filter_map(|point| point::from_server(point, &models)).collect();
        let unreadable = page.result.len() - points.len();
        Ok(PointPage { points, unreadable, next: point::passage_id(page.next_page_offset.as_ref()) })
    }

    fn count_of(&self, tenant: &Tenant) -> Result<usize, IndexError> {
        self.count_points(Some(filter::owned_by(tenant)), true, READ_DEADLINE)
    }

    fn delete_passages(&self, passages: &[Uuid]) -> Result<(), IndexError> {
        passages.chunks(ID_BATCH).try_for_each(|passages| {
            self.delete(PointsSelectorOneOf::Points(PointsIdsList { ids: point_ids(passages) }))
        })
    }

    /// Returns what the last request found, because it is asked where nothing may wait for the server.
    fn is_in_place(&self) -> bool {
        !self.is_abandoned.load(Ordering::Relaxed) && !self.store.is_gone()
    }

    fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
    }

    fn resume(&self) -> bool {
        let is_there = self.store.read_marker().is_ok();
        if is_there {
            self.is_abandoned.store(false, Ordering::Relaxed);
        }
        is_there
    }

    fn remote_deadline(&self) -> Option<Duration> {
        Some(self.store.settings().search_deadline)
    }
}

fn point_ids(passages: &[Uuid]) -> Vec<PointId> {
    passages.iter().copied().map(point::point_id).collect()
}

/// Selects fields of the payload; none if there are none.
fn payload_fields(fields: &[&str]) -> WithPayloadSelector {
    let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    let selected = if fields.is_empty() {
        with_payload_selector::SelectorOptions::Enable(false)
    } else {
        with_payload_selector::SelectorOptions::Include(PayloadIncludeSelector { fields })
    };
    WithPayloadSelector { selector_options: Some(selected) }
}

/// Returns the operation that replaces the labels of a document's passages in a language. Their other fields stay.
fn set_labels(tenant: &Tenant, document: Uuid, labels: &Labels, language: Language) -> PointsUpdateOperation {
    let passages = filter::of_document_in_language(tenant, document, language);
    let selector = PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(passages)) };
    let set = SetPayload {
        payload: point::labels_payload(labels, language),
        points_selector: Some(selector),
        ..SetPayload::default()
    };
    PointsUpdateOperation { operation: Some(Operation::SetPayload(set)) }
}
