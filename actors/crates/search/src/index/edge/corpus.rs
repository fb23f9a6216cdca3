//! Keeps the counts of the words of tenants ([`CorpusCounts`](super::word_counts::CorpusCounts)) equal to the passages of the shard.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use qdrant_edge::{
    Filter as EngineFilter, PointId, PointOperations, RetrieveRequest, ScrollRequest, UpdateOperation,
    WithPayloadInterface, WithVector,
};
use uuid::Uuid;

use super::word_counts::PassageWords;
use super::{EdgeIndex, filter, point, schema};
use crate::index::index_error::IndexError;
use crate::index::passage::{Point, Tenant};

/// Passages whose words are read at a time. Writes wait meanwhile: some milliseconds.
const WORDS_PAGE: usize = 1_000;
/// Maximum number of pages that are read of a document that is deleted; with more, the words of its tenant are counted again.
const MAX_DELETED_PAGES: usize = 10;
/// Pause between two pages of a count.
const PAGE_PAUSE: Duration = Duration::from_millis(1);

impl EdgeIndex {
    /// Changes passages of a tenant whose words were noted as changed already. The caller holds `writing`.
    pub(super) fn write_passages(
        &self,
        tenant: &Tenant,
        action: &'static str,
        operation: PointOperations,
    ) -> Result<(), IndexError> {
        let written = self.write(action, UpdateOperation::PointOperation(operation));
        if written.is_err() {
            // Any part of it may have taken effect.
            self.word_counts.forget(tenant);
        }
        written
    }

    /// Notes the words of passages that are about to be added to those of a tenant, or to replace them. The caller holds `writing`.
    pub(super) fn note_words_of(&self, tenant: &Tenant, points: &[Point]) {
        if !self.word_counts.is_counted(tenant) {
            return;
        }
        // A passage that is named twice gets the words of its last place.
        let mut added: HashMap<Uuid, PassageWords> = HashMap::with_capacity(points.len());
        for point in points {
            let words = PassageWords { passage: point.id, words: point.sparse.indices.clone() };
            added.insert(point.id, words);
        }
        let ids: Vec<Uuid> = added.keys().copied().collect();
        let Ok(held) = self.read_words_of(&ids) else { return self.word_counts.forget(tenant) };
        let mut removed = Vec::new();
        for (owner, words) in held {
            if owner == *tenant {
                removed.push(words);
            } else {
                // It stays the passage of the other tenant.
                added.remove(&words.passage);
            }
        }
        let added: Vec<PassageWords> = added.into_values().collect();
        self.word_counts.note_change(tenant, &removed, &added);
    }

    /// Notes that the passages of a tenant that a filter matches are about to be deleted. The caller holds `writing`.
    pub(super) fn note_deletion_of(&self, tenant: &Tenant, matching: &EngineFilter) {
        if !self.word_counts.is_counted(tenant) {
            return;
        }
        let (mut removed, mut from) = (Vec::new(), None);
        for _ in 0..MAX_DELETED_PAGES {
            let Ok((page, next)) = self.read_words(matching.clone(), from) else { break };
            removed.extend(page);
            if next.is_none() {
                // Not before all are read: what is noted must be deleted.
                return self.word_counts.note_change(tenant, &removed, &[]);
            }
            from = next;
        }
        self.word_counts.forget(tenant);
    }

    /// Notes that these passages of any tenants are about to be deleted. The caller holds `writing`.
    pub(super) fn note_deletion_by_ids(&self, passages: &[Uuid]) {
        if !self.word_counts.is_any_counted() {
            return;
        }
        let Ok(held) = self.read_words_of(passages) else { return self.word_counts.forget_all() };
        for (owner, words) in held {
            self.word_counts.note_change(&owner, &[words], &[]);
        }
    }

    /// Counts the words of tenants that have searched since the last call. Writes wait while a page of passages is read.
    pub(super) fn count_words(&self) {
        while let Some(tenant) = self.word_counts.begin_wanted() {
            let mut from = None;
            loop {
                let writing = self.lock_writing();
                // Once it is reloaded, it has other passages.
                let page = if self.shard.is_blocked() || self.shard.is_unloaded() {
                    Err(IndexError::Blocked)
                } else {
                    self.read_words(filter::owned_by(&tenant), from)
                };
                // The search that meets the same failure reports it.
                let Ok((page, next)) = page else { return self.word_counts.forget_all() };
                if !self.word_counts.add_page(&tenant, &page, next) {
                    break;
                }
                from = next;
                drop(writing);
                // Otherwise this thread would mostly take the lock again before one that waits for it.
                thread::sleep(PAGE_PAUSE);
            }
        }
    }

    /// Reads the words of a page of the passages that a filter matches, from this one on, with the id of the first one of the next page.
    fn read_words(
        &self,
        matching: EngineFilter,
        from: Option<Uuid>,
    ) -> Result<(Vec<PassageWords>, Option<Uuid>), IndexError> {
        let request = ScrollRequest {
            offset: from.map(PointId::Uuid),
            limit: Some(WORDS_PAGE),
            filter: Some(matching),
            with_payload: Some(WithPayloadInterface::Fields(vec![schema::field_path(schema::USER)])),
            with_vector: WithVector::Selector(vec![schema::WORDS_VECTOR.to_owned()]),
            ..ScrollRequest::new()
        };
        let (records, next) = self.shard.read("read", |shard| shard.scroll(request))?;
        let words = records.into_iter().filter_map(point::words_of).map(|(_, words)| words).collect();
        Ok((words, next.and_then(point::passage_id)))
    }

    /// Reads the owners and the words of passages. Those that the shard does not hold are left out.
    fn read_words_of(&self, passages: &[Uuid]) -> Result<Vec<(Tenant, PassageWords)>, IndexError> {
        let request = RetrieveRequest {
            with_payload: Some(WithPayloadInterface::Fields(vec![schema::field_path(schema::USER)])),
            with_vector: Some(WithVector::Selector(vec![schema::WORDS_VECTOR.to_owned()])),
            ..RetrieveRequest::new(passages.iter().copied().map(PointId::Uuid).collect())
        };
        let records = self.shard.read("read", |shard| shard.retrieve(request))?;
        Ok(records.into_iter().filter_map(point::words_of).collect())
    }
}
