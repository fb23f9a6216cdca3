//! Retrieval: lexical and semantic search for passages, and all changes of the passage index.
//!
//! Search is lexical, and says so, when no embedding model is available, the AI is paused, or the index has lost passages of
//! the user. What the index does not have yet is read from the database, and found by its words (`unindexed`).
//!
//! Phrases and exclusions of a query hold for every result (`operators`): the index finds what has their words, and the texts in
//! the database decide. If no passage of the library has a word of the query, words of the library that are spelt almost like its words
//! are searched for (`spelling`); what a model finds for the words as they are written stays beside it.
//!
//! While an index on a Qdrant server is not reached, or has lost words of the user, PostgreSQL searches texts and metadata itself
//! (`text_search`). The searches of one request together end within two seconds then (`request_searches`), whatever the server and a
//! service that embeds do.
//!
//! `engine` asks the index, and tells damage of it from other failures. `filter` says which part of the library is searched, `metadata` how
//! documents are found by title, tags and highlights, and `passage` reads what is shown of the hits.

mod actor;
mod engine;
mod filter;
mod language_watch;
mod metadata;
mod operators;
pub mod passage;
mod passage_joins;
mod ranked_hits;
mod request_searches;
mod search_query;
mod spelling;
#[cfg(test)]
pub mod test_library;
#[cfg(test)]
mod tests;
mod text_search;
mod unindexed;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use actix::ArbiterHandle;
use concurrency::{FairSemaphore, Lane, PermitError, Workers};
use database::Db;
use entity::document;
use errors::Error;
use library::clock::Clock;
use library::context::CoreContext;
use runtime::{Port, SupervisorConfig, supervise};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::index::{
    Embedding, Filter, IndexError, Labels, PassageEmbedding, PassageIndex, Point, Tenant, VectorModel,
};
use search::query_syntax::ParsedQuery;
use tracing::warn;
use uuid::Uuid;
use values::id::{DocumentId, UserId};

use crate::ai::Pause;
use actor::RetrievalActor;
use engine::{RequestKey, is_number};
use language_watch::LanguageWatch;
use operators::UserSearch;
use spelling::{Correction, UserVocabularies, Vocabularies};
use unindexed::{UnindexedDocuments, UnindexedReader};

pub use engine::{Completeness, EmbedOutcome, Engine, IndexProbe, ModelNames, Vectors};
pub use filter::{LibraryFilter, Naming, ResolvedFilter, labels_of};
pub use metadata::{Annotations, MetadataSource, language_of};
pub use passage_joins::first_passage;
pub use ranked_hits::{RankedHits, SearchHit};
pub use request_searches::RequestSearches;
pub use search_query::SearchQuery;
pub use spelling::VocabularyFiles;

/// Changes of the index in progress at the same time.
const MAX_CHANGES: u32 = 32;
/// Minimum number of searches in progress at the same time, on a machine with one core.
const MIN_SEARCHES: usize = 2;
/// Maximum time that a search waits for a permit.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Number of searches in progress at the same time in an index on a server, which wait for that server instead of computing.
const MAX_REMOTE_SEARCHES: usize = 16;
/// Maximum time that such a search waits for a permit: together with the wait for the server less than two seconds.
const MAX_REMOTE_WAIT: Duration = Duration::from_millis(300);

/// Minimum time that the searches of one request may take together in an index on a server. With a longer `vectors.timeout_ms`, that and
/// [`REMOTE_REST_TIME`].
const MIN_REMOTE_TIME: Duration = Duration::from_millis(1_900);
/// Part of the time of a request that is not for the server of the index: for the vector of its query, or for PostgreSQL instead.
const REMOTE_REST_TIME: Duration = Duration::from_millis(900);
/// Part of the time of a request that is left for PostgreSQL if the index does not answer.
const TEXT_SEARCH_TIME: Duration = Duration::from_millis(500);
/// Part of the time of a request that a service that embeds leaves for the index.
const MIN_INDEX_TIME: Duration = Duration::from_millis(300);
/// Searches that read unindexed documents at the same time: one for each connection of the database for reading.
const MAX_UNINDEXED_READS: usize = 8;
/// Queries whose vectors are waited for at the same time. Half of the permits of [`Lane::Remote`], so that an endpoint that does not answer
/// does not hold up an index on a server.
const MAX_SERVICE_QUERIES: usize = 16;
/// Maximum time that a query waits for its turn to be embedded by a service. Then it is searched for by its words.
const MAX_SERVICE_WAIT: Duration = Duration::from_millis(300);
/// Searches of PostgreSQL itself at the same time. Each takes two of the nine connections that requests write through, so without a bound the
/// searches of an outage of the index would stop all saves.
const MAX_TEXT_SEARCHES: usize = 4;

/// Delay after which a search may be tried again that got no permit.
const PERMIT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Returns the number of searches in progress at the same time: one for each core. More would take turns on the cores, so that each of
/// them would end later.
fn max_searches() -> usize {
    thread::available_parallelism().map_or(MIN_SEARCHES, usize::from).max(MIN_SEARCHES)
}

/// Passages of a version of a document.
pub struct PassageBatch {
    /// The owner of the document.
    pub user: UserId,
    /// The document that the passages are of.
    pub document: DocumentId,
    /// The version of the document's text that the passages were cut from.
    pub version: i64,
    /// All of its passages, or the next of many.
    pub points: Vec<Point>,
    /// Whether these are the last passages of the version. Those of other versions are removed then.
    pub last: bool,
}

impl PassageBatch {
    /// Returns the key by which a repetition of this change is recognised.
    fn request(&self) -> RequestKey {
        let first = self.points.first().map(|point| point.id);
        RequestKey::UpsertPassages(self.document, self.version, first)
    }
}

/// Vectors of one model for passages of a version of a document that are in the index.
pub struct VectorBatch {
    /// The document that the passages are of.
    pub document: DocumentId,
    /// The version of the document's text that the passages were cut from.
    pub version: i64,
    /// The vectors of all of its passages, or of the next of many.
    pub embeddings: Vec<PassageEmbedding>,
    /// Whether these are for the last passages of the version. Those of other versions are removed then.
    pub last: bool,
}

impl VectorBatch {
    /// Returns the key by which a repetition of this change is recognised.
    fn request(&self) -> RequestKey {
        RequestKey::SetVectors(self.document, self.embeddings.first().map(|first| first.passage))
    }
}

/// Returns the key by which a repetition of the change of a metadata passage is recognised.
fn metadata_request(point: &Point) -> RequestKey {
    RequestKey::UpsertPassages(DocumentId(point.document), point.version, Some(point.id))
}

/// What the search for the corrected words of a query found.
enum CorrectedSearch {
    /// Passages with these words.
    Found(Box<(RankedHits, Correction)>),
    /// No word of the library is spelt almost the same, or no passage in the searched part has it.
    Nothing,
    /// The words of the library could not be read in time.
    TooLate,
}

/// The handle of the passage index: of its actor, within whose permits the changes run, and of the [`Engine`], which answers reads. Clones
/// are cheap.
#[derive(Clone)]
pub struct Retrieval {
    db: Db,
    port: Port<RetrievalActor>,
    searches: FairSemaphore<UserId>,
    /// Searches that read unindexed documents at the same time. Not `searches`: they wait for the database instead of computing.
    unindexed_reads: FairSemaphore<UserId>,
    /// Queries that a service embeds at the same time. Not `searches`: a search computes, and does not wait for that service.
    service_queries: FairSemaphore<UserId>,
    /// Filters that the database resolves at the same time. Not `searches`: those of an index on a server are all taken when it does not
    /// answer, and PostgreSQL searches then.
    filters: FairSemaphore<UserId>,
    /// Searches of PostgreSQL itself at the same time.
    text_searches: FairSemaphore<UserId>,
    engine: Arc<Engine>,
    vocabularies: Vocabularies,
    unindexed: UnindexedReader,
    languages: LanguageWatch,
}

impl Retrieval {
    /// Starts the actor over an open index, or without one if its disk has no space for it.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        workers: Workers,
        index: Option<Arc<dyn PassageIndex>>,
        pause: Pause,
        vocabulary_files: VocabularyFiles,
    ) -> Self {
        let is_remote = index.as_ref().is_some_and(|index| index.remote_deadline().is_some());
        let unindexed = UnindexedReader::new(db.clone(), workers.clone());
        let languages = LanguageWatch::new(db.clone());
        let vocabularies = Vocabularies::new(db.clone(), workers.clone(), clock.clone(), vocabulary_files);
        let engine = Arc::new(Engine::new(index, clock, pause, workers));
        let config =
            SupervisorConfig { name: "retrieval", permits: MAX_CHANGES, timeout: Duration::from_secs(120) };
        let port = supervise(on, config, || RetrievalActor);
        let searches = if is_remote {
            FairSemaphore::new(MAX_REMOTE_SEARCHES, MAX_REMOTE_WAIT)
        } else {
            FairSemaphore::new(max_searches(), MAX_WAIT)
        };
        let unindexed_reads = FairSemaphore::new(MAX_UNINDEXED_READS, MAX_WAIT);
        let filters = FairSemaphore::new(max_searches(), MAX_WAIT);
        let service_queries = FairSemaphore::new(MAX_SERVICE_QUERIES, MAX_SERVICE_WAIT);
        let text_searches = FairSemaphore::new(MAX_TEXT_SEARCHES, TEXT_SEARCH_TIME);
        Self {
            db,
            port,
            searches,
            unindexed_reads,
            service_queries,
            filters,
            text_searches,
            engine,
            vocabularies,
            unindexed,
            languages,
        }
    }

    /// Adds the documents that match a filter by the user's own order to one by labels. One of an empty filter waits for nothing.
    ///
    /// # Errors
    /// [`Error::Busy`] when it has waited for five seconds, or when too many wait already; [`Error::Internal`] when the database fails.
    pub async fn resolve_filter(
        &self,
        core: &CoreContext,
        user: UserId,
        filter: &LibraryFilter,
        labels: Filter,
        naming: Naming,
    ) -> Result<ResolvedFilter, Error> {
        let _permit = if filter.is_empty() { None } else { Some(self.filters.acquire(user).await?) };
        filter.resolve(core, user, labels, naming).await
    }

    /// Begins the searches of a request. If the index is on a server, they end within two seconds, or later if `vectors.timeout_ms` is longer
    /// than the default.
    pub fn begin_request(&self) -> RequestSearches {
        let deadline = self.engine.remote_deadline();
        RequestSearches::new(deadline.map(|deadline| MIN_REMOTE_TIME.max(deadline + REMOTE_REST_TIME)))
    }

    /// Returns the best passages of the library of a user, as the only search of a request ([`Self::search_within`]).
    ///
    /// # Errors
    /// The same errors as [`Self::search_within`].
    pub async fn search(&self, user: UserId, search: SearchQuery) -> Result<RankedHits, Error> {
        self.search_within(&self.begin_request(), user, search).await
    }

    /// Returns the best passages of the library of a user. If its words are misspelt, those of the corrected query
    /// ([`RankedHits::correction`]). While an index on a server is not reached or lacks words, PostgreSQL finds passages by their
    /// words.
    ///
    /// # Errors
    /// [`Error::IndexUnreachable`] when the server of the index does not answer within the time of the request, and the database cannot
    /// search; [`Error::Busy`] when the search has waited for five seconds, when too many wait already, or while the index is reloaded
    /// after a failed write; [`Error::StorageFailed`] when the index cannot be read, or there is none; [`Error::Internal`] when it fails
    /// otherwise.
    pub async fn search_within(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: SearchQuery,
    ) -> Result<RankedHits, Error> {
        let lacked_words = self.lacks_words(user).await?;
        let mut ranked = self.search_anywhere(request, user, search, lacked_words).await?;
        // Looked at again: the index may have been replaced while it was searched.
        ranked.may_lack_passages |= lacked_words || ranked.hits.is_empty() && self.lacks_words(user).await?;
        Ok(ranked)
    }

    /// Searches the index, or PostgreSQL instead.
    async fn search_anywhere(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: SearchQuery,
        lacks_words: bool,
    ) -> Result<RankedHits, Error> {
        let can_search_texts = self.db.is_postgres() && self.engine.is_remote();
        if can_search_texts
            && lacks_words
            && let Ok(found) = self.search_database(request, user, &search).await
        {
            return Ok(found);
        }
        match self.search_index(request, user, search.clone()).await {
            // An index that was deleted is about to be opened again.
            Err(failure @ (Error::IndexUnreachable(_) | Error::Busy(_))) if can_search_texts => {
                let found = self.search_database(request, user, &search).await;
                found.map_err(|error| {
                    warn!(
                        cause = error.chain(),
                        "the texts could not be searched while the index is not reached"
                    );
                    failure
                })
            }
            found => found,
        }
    }

    /// Searches PostgreSQL itself, and the documents that the index lacks a change of. It may miss what the index would find.
    async fn search_database(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: &SearchQuery,
    ) -> Result<RankedHits, Error> {
        let searched = async {
            let _permit = self.text_searches.acquire(user).await?;
            let unindexed = self.unindexed.read(user, search).await?;
            text_search::search(&self.db, self.engine.workers(), user, search, &unindexed).await
        };
        let found = request.run_within(Duration::ZERO, searched).await?;
        Ok(RankedHits { may_lack_passages: true, ..found })
    }

    /// Searches the index, again for other words if those of the query are misspelt.
    async fn search_index(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: SearchQuery,
    ) -> Result<RankedHits, Error> {
        let reserve = self.reserved_time();
        let as_written = self.search_with_permit(request, user, search.clone());
        let ranked = request.run_within(reserve, as_written).await?;
        if !ranked.may_be_misspelt {
            return Ok(ranked);
        }
        let limit = search.limit;
        match request.run_within(reserve, self.search_corrected(request, user, search)).await {
            Ok(CorrectedSearch::Found(corrected)) => {
                let (found, correction) = *corrected;
                Ok(found.with_correction(correction, ranked, limit))
            }
            Ok(CorrectedSearch::Nothing) => Ok(ranked),
            // The words as they are written were searched for. What else may be meant is not known, so there may be something about it.
            Ok(CorrectedSearch::TooLate) | Err(Error::IndexUnreachable(_)) => {
                Ok(RankedHits { may_lack_passages: true, ..ranked })
            }
            Err(error) if ranked.hits.is_empty() => Err(error),
            Err(error) => {
                warn!(
                    cause = error.chain(),
                    "a query could not be corrected; its words as written are found"
                );
                Ok(RankedHits { may_lack_passages: true, ..ranked })
            }
        }
    }

    /// Searches for the words of the library that are spelt almost like those of a query.
    async fn search_corrected(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: SearchQuery,
    ) -> Result<CorrectedSearch, Error> {
        // Without a permit: a read of texts may wait for those of others.
        let UserVocabularies { vocabularies, is_whole } = self.vocabularies.of_user(user).await?;
        let correction = {
            let _permit = self.searches.acquire(user).await.map_err(|error| self.refused_permit(error))?;
            let written = search.query.clone();
            let correct = move || Correction::of(&written, &vocabularies);
            self.engine.workers().run(Lane::Foreground, correct).await?
        };
        let Some(correction) = correction else {
            return Ok(if is_whole { CorrectedSearch::Nothing } else { CorrectedSearch::TooLate });
        };
        let corrected = SearchQuery { query: correction.query.clone(), ..search };
        let found = self.search_with_permit(request, user, corrected).await?;
        if !found.shares_words || found.hits.is_empty() {
            return Ok(CorrectedSearch::Nothing);
        }
        metrics::counter!("carrel_search_corrected_total").increment(1);
        Ok(CorrectedSearch::Found(Box::new((found, correction))))
    }

    /// Searches the index for the words as they are written, once it is the turn of the user.
    async fn search_with_permit(
        &self,
        request: &RequestSearches,
        user: UserId,
        search: SearchQuery,
    ) -> Result<RankedHits, Error> {
        let vector = self.service_vector(request, user, &search.query).await?;
        let is_incomplete = self.is_incomplete(user).await?;
        let unindexed = self.read_unindexed(user, &search).await?;
        let user_search = UserSearch {
            db: &self.db,
            engine: &self.engine,
            user,
            unindexed: &unindexed,
            is_incomplete,
            vector: vector.as_ref(),
            ends_at: request.ends_at(self.reserved_time()),
        };
        // In turns between users, as before each step that many searches wait for: those of one account do not delay those of others.
        let _permit = self.searches.acquire(user).await.map_err(|error| self.refused_permit(error))?;
        let mut found = if search.query.has_operators() {
            operators::search(user_search, search).await?
        } else {
            self.engine.search(user, search, &unindexed, is_incomplete, vector).await?
        };
        found.may_lack_passages |= unindexed.lack_texts();
        Ok(found)
    }

    /// Reads the documents that the index lacks a change of, once it is the turn of the user. It holds no permit of a search: under load most
    /// of its time is waiting for the database.
    async fn read_unindexed(&self, user: UserId, search: &SearchQuery) -> Result<UnindexedDocuments, Error> {
        let _permit = self.unindexed_reads.acquire(user).await.map_err(|error| self.refused_permit(error))?;
        // Other nodes write to an index on a server too.
        if self.engine.is_remote() {
            self.languages.refresh(user, || self.engine.forget_languages(user)).await?;
        }
        // Before the index is asked: what is indexed meanwhile is found twice, and counts once.
        self.unindexed.read(user, search).await
    }

    /// Returns the part of the time of a request that is left when the index has not answered.
    fn reserved_time(&self) -> Duration {
        if self.db.is_postgres() { TEXT_SEARCH_TIME } else { Duration::ZERO }
    }

    /// Returns the vector of a query if a service computes it; `None` if a local model does, if the search is not by meaning, and if the service
    /// does not answer in time.
    async fn service_vector(
        &self,
        request: &RequestSearches,
        user: UserId,
        query: &ParsedQuery,
    ) -> Result<Option<Embedding>, Error> {
        let is_by_words = !query.phrases.is_empty() || query.is_only_exclusions();
        if is_by_words || !self.engine.has_service() || is_number(&query.plain) {
            return Ok(None);
        }
        let Some(service) = self.engine.embedder_of_search(self.is_incomplete(user).await?) else {
            return Ok(None);
        };
        if let Some(known) = request.known_embedding(&query.plain) {
            return Ok(known);
        }
        let asked = async {
            let Ok(_permit) = self.service_queries.acquire(user).await else { return Ok(None) };
            Ok(self.engine.embed_by_service(service, query.plain.clone()).await)
        };
        let reserve = self.reserved_time() + MIN_INDEX_TIME;
        let vector = request.run_within(reserve, asked).await.unwrap_or(None);
        request.keep_embedding(&query.plain, vector.clone());
        Ok(vector)
    }

    /// Returns whether a search of a user is only lexical now, without one: the AI is paused, no model is available, the index may lack
    /// passages of the user, or its server does not answer within the time of the request.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn is_lexical_only(&self, request: &RequestSearches, user: UserId) -> Result<bool, Error> {
        if self.engine.is_lexical_only(self.is_incomplete(user).await?) {
            return Ok(true);
        }
        if !self.engine.is_remote() {
            return Ok(false);
        }
        let probed = request.run_within(Duration::ZERO, self.engine.probe()).await;
        Ok(!matches!(probed, Ok(IndexProbe::Available { .. })))
    }

    /// Returns whether the index may lack passages of a user.
    async fn is_incomplete(&self, user: UserId) -> Result<bool, Error> {
        match self.engine.completeness() {
            Completeness::Complete => Ok(false),
            // Without an index the search is refused.
            Completeness::Checking | Completeness::MaintainedElsewhere | Completeness::Unavailable => {
                Ok(true)
            }
            Completeness::Rebuilding { .. } => self.has_lost_passages(user).await,
        }
    }

    /// Converts the error of a search that got no permit. All are taken when a server of the index does not answer.
    fn refused_permit(&self, error: PermitError) -> Error {
        if self.engine.is_remote() { Error::IndexUnreachable(PERMIT_RETRY_AFTER) } else { error.into() }
    }

    /// Returns whether the index may lack words of this user: it is compared with the database, has lost documents that are not restored
    /// yet, or is not updated.
    async fn lacks_words(&self, user: UserId) -> Result<bool, Error> {
        match self.engine.completeness() {
            Completeness::Complete => Ok(false),
            Completeness::Checking | Completeness::MaintainedElsewhere | Completeness::Unavailable => {
                Ok(true)
            }
            Completeness::Rebuilding { .. } => {
                let lost = document::Entity::lost_by_index()
                    .filter(document::Column::UserId.eq(user))
                    .filter(document::Column::IndexedVersion.eq(0));
                let first = lost.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
                Ok(first.one(self.db.read()).await?.is_some())
            }
        }
    }

    /// Returns whether the index has lost documents of this user that are not restored yet.
    async fn has_lost_passages(&self, user: UserId) -> Result<bool, Error> {
        // One row is enough, and an index serves it: counting would read all lost documents at each search of a rebuild.
        let lost = document::Entity::lost_by_index().filter(document::Column::UserId.eq(user));
        let first = lost.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        Ok(first.one(self.db.read()).await?.is_some())
    }

    /// Adds the passages of a version of a document and, with the last ones, removes those of its other versions. The change
    /// is durable when it returns.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn upsert_passages(&self, batch: PassageBatch) -> Result<(), Error> {
        let request = batch.request();
        self.vocabularies.note_change(batch.user, [batch.document]);
        self.store_words(batch.user, std::slice::from_ref(&batch)).await?;
        self.change(Some(request), move |index| {
            let tenant = Tenant::of(batch.user.0);
            index.upsert(&tenant, batch.points)?;
            // Only after the last passages of the new version, so that search finds the former one until then.
            if batch.last {
                index.delete_document(&tenant, batch.document.0, Some(batch.version))?;
            }
            Ok(())
        })
        .await
    }

    /// Adds all passages of several documents of a user, each of one version, and removes those of their other versions. The change is
    /// durable when it returns; when it fails, any part of it may have taken effect, and the documents are to be added one by one. A
    /// failure does not count as damage of the index: those that follow tell whether the cause is one of the documents.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn upsert_documents(&self, user: UserId, batches: Vec<PassageBatch>) -> Result<(), Error> {
        let requests: Vec<RequestKey> = batches.iter().map(PassageBatch::request).collect();
        self.vocabularies.note_change(user, batches.iter().map(|batch| batch.document));
        self.store_words(user, &batches).await?;
        let change = move |index: &dyn PassageIndex| -> Result<(), IndexError> {
            let tenant = Tenant::of(user.0);
            let (mut points, mut replaced) = (Vec::new(), Vec::new());
            for batch in batches {
                // The first version of a text replaces nothing.
                if batch.version > 1 {
                    replaced.push((batch.document, batch.version));
                }
                points.extend(batch.points);
            }
            index.upsert(&tenant, points)?;
            // Only after the passages of the new versions, so that search finds the former ones until then.
            for (document, version) in replaced {
                index.delete_document(&tenant, document.0, Some(version))?;
            }
            Ok(())
        };
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.change_together(requests, change).await).await?
    }

    /// Adds the metadata passages of several documents of a user, or replaces them. The change is durable when it returns; when it fails,
    /// any part of it may have taken effect, and the documents are to be added one by one ([`Self::upsert_metadata`]). A failure does not
    /// count as damage of the index.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn upsert_metadata_together(&self, user: UserId, points: Vec<Point>) -> Result<(), Error> {
        let requests: Vec<RequestKey> = points.iter().map(metadata_request).collect();
        self.vocabularies.note_change(user, points.iter().map(|point| DocumentId(point.document)));
        self.store_metadata_words(user, &points).await?;
        let change = move |index: &dyn PassageIndex| index.upsert(&Tenant::of(user.0), points);
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.change_together(requests, change).await).await?
    }

    /// Adds the metadata passage of a document, or replaces it. The change is durable when it returns.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn upsert_metadata(&self, user: UserId, point: Point) -> Result<(), Error> {
        let request = metadata_request(&point);
        self.vocabularies.note_change(user, [DocumentId(point.document)]);
        self.store_metadata_words(user, std::slice::from_ref(&point)).await?;
        self.change(Some(request), move |index| index.upsert(&Tenant::of(user.0), vec![point])).await
    }

    /// Stores the words of passages in PostgreSQL, which searches them itself while a server of the index is not reached. Before the index
    /// gets them: it may not answer. On SQLite nothing.
    async fn store_words(&self, user: UserId, batches: &[PassageBatch]) -> Result<(), Error> {
        if !self.db.is_postgres() {
            return Ok(());
        }
        let points: Vec<&Point> = batches.iter().flat_map(|batch| &batch.points).collect();
        text_search::store_words(&self.db, user, &points).await?;
        // The first version of a text replaces nothing.
        for batch in batches.iter().filter(|batch| batch.last && batch.version > 1) {
            text_search::delete_former_words(&self.db, user, batch.document, batch.version).await?;
        }
        Ok(())
    }

    /// Stores the words of metadata passages as [`Self::store_words`] does.
    async fn store_metadata_words(&self, user: UserId, points: &[Point]) -> Result<(), Error> {
        if !self.db.is_postgres() {
            return Ok(());
        }
        text_search::store_words(&self.db, user, &points.iter().collect::<Vec<_>>()).await
    }

    /// Adds vectors to passages of documents of a user that are in the index. With the last passages of a document, removes those of its
    /// other versions. The change is durable when it returns. Returns whether the index holds all of these passages; otherwise the documents
    /// are to be indexed as a whole. A failure with several documents does not count as damage of the index: they are to be changed one by
    /// one.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn set_vectors(&self, user: UserId, documents: Vec<VectorBatch>) -> Result<bool, Error> {
        let requests: Vec<RequestKey> = documents.iter().map(VectorBatch::request).collect();
        let change = move |index: &dyn PassageIndex| -> Result<bool, IndexError> {
            let tenant = Tenant::of(user.0);
            let (mut embeddings, mut complete) = (Vec::new(), Vec::new());
            for batch in documents {
                if batch.last {
                    complete.push((batch.document, batch.version));
                }
                embeddings.extend(batch.embeddings);
            }
            if !index.set_vectors(&tenant, embeddings)?.is_empty() {
                return Ok(false);
            }
            // An attempt that lost its lease may have added passages of a former version.
            for (document, version) in complete {
                index.delete_document(&tenant, document.0, Some(version))?;
            }
            Ok(true)
        };
        if requests.len() < 2 {
            return self.change(requests.first().copied(), change).await;
        }
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.change_together(requests, change).await).await?
    }

    /// Adds a model to the index, which takes its vectors from then on.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn add_model(&self, model: VectorModel) -> Result<(), Error> {
        self.change(None, move |index| index.add_model(&model)).await
    }

    /// Deletes the vectors of a model from the index, which does not have the model from then on.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn delete_model(&self, model: String) -> Result<(), Error> {
        self.change(None, move |index| index.delete_model(&model)).await
    }

    /// Removes all passages of a document. Without any nothing happens.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn delete_document(&self, user: UserId, document: DocumentId) -> Result<(), Error> {
        self.vocabularies.note_removal(user);
        self.change(Some(RequestKey::DeleteDocument(document)), move |index| {
            index.delete_document(&Tenant::of(user.0), document.0, None)
        })
        .await
    }

    /// Changes the labels of the passages of a document.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn update_labels(
        &self,
        user: UserId,
        document: DocumentId,
        labels: Labels,
    ) -> Result<(), Error> {
        self.change(Some(RequestKey::UpdateLabels(document)), move |index| {
            index.update_labels(&Tenant::of(user.0), document.0, &labels)
        })
        .await
    }

    /// Removes all passages of a user, whose rows were removed before, and the user's words. Without any nothing happens.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`]; [`Error::Internal`] when the words cannot be removed.
    pub async fn delete_user(&self, user: UserId) -> Result<(), Error> {
        self.vocabularies.delete_user(user).await?;
        let request = RequestKey::DeleteUser(user);
        self.change(Some(request), move |index| index.delete_tenant(&Tenant::of(user.0))).await
    }

    /// Packs the index if there is something to pack. Returns whether there was.
    ///
    /// # Errors
    /// The same errors as [`Self::delete_passages`].
    pub async fn maintain(&self) -> Result<bool, Error> {
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.maintain().await).await?
    }

    /// Frees the memory of the index if no request used it for five minutes: the next one loads it again. If its disk is nearly full, loads
    /// an unloaded index instead. Returns whether the memory was freed.
    ///
    /// # Errors
    /// [`Error::StorageFailed`] when there is no index, when it cannot be read or written, or when its disk has no space to load it;
    /// [`Error::Busy`] when the actor has no free permit, or while the index is about to be reloaded or replaced.
    pub async fn unload_unused(&self) -> Result<bool, Error> {
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.unload_unused().await).await?
    }

    /// Removes passages that are in no row of the database.
    ///
    /// # Errors
    /// [`Error::StorageFull`] when the disk of the index is full; [`Error::StorageFailed`] when the index cannot be written, or there
    /// is none; [`Error::Busy`] when the actor has no free permit, or while the index is about to be reloaded or replaced;
    /// [`Error::Internal`] when it refuses the change, or when the change met damage on a replaced index and meets it again.
    pub async fn delete_passages(&self, passages: Vec<Uuid>) -> Result<(), Error> {
        // Without a key: no job repeats it.
        self.change(None, move |index| index.delete_passages(&passages)).await
    }

    /// Changes the index; `request` identifies the change if a job repeats it. The timeout frees the job of a change that the disk holds
    /// up: the change is completed, and the job repeats it, which changes nothing more. A drain of the port waits for the changes that are
    /// awaited: the index is closed only then.
    async fn change<T: Send + 'static>(
        &self,
        request: Option<RequestKey>,
        change: impl FnOnce(&dyn PassageIndex) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let engine = self.engine.clone();
        self.port.run_within_timeout(async move || engine.change(request, change).await).await?
    }

    /// Returns the engine, which is called directly by everything that needs neither the actor nor a permit for a search.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the port of the actor, for health and for draining.
    pub fn port(&self) -> &Port<RetrievalActor> {
        &self.port
    }
}
