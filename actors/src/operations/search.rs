//! Searches the library (spec.md: GET /search, search_library).

use std::time::Duration;

use entity::{collection, feed, project};
use schemars::JsonSchema;
use search::index::{DocumentSet, Filter, Source};
use search::query_syntax::ParsedQuery;
use search::snippet::SnippetTerms;
use serde::Serialize;
use values::id::{CollectionId, FeedId, ProjectId, UserId};
use values::kind::ContentType;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::passage::{self, SearchResult};
use crate::retrieval::{LibraryFilter, Naming, RankedHits, RequestSearches, SearchQuery};
use crate::target::Target;
use errors::Error;
use library::bookmarks::{BookmarkConditions, normalize_tag};
use library::context::CoreContext;
use validation::{Choice, Flag, Id, Integer, Time, Words, choices, request};

/// The field `q`: a search text of 1 to 500 characters, not only spaces (spec.md: Limits, rule 6).
pub type QueryText = Words<1, 500>;
/// The field `limit` of a search: 1 to 20 passages (spec.md: Limits, rule 6).
pub type PassageLimit = Integer<1, 20>;
const DEFAULT_LIMIT: usize = 8;
/// Passages that are requested beyond the limit, because the index may still contain some that were just deleted or replaced.
const EXTRA_PASSAGES: usize = 20;
/// Maximum number of passages that are requested, however many were deleted.
const MAX_PASSAGES: usize = 1000;

/// Searches the library by words and by meaning.
#[derive(Debug)]
pub struct Search(pub SearchRequest);

choices! {
    /// Which part of the library is searched.
    pub enum SearchScope {
        /// Only saved pages, uploads and notes.
        Bookmarks = "bookmarks",
        /// Only entries of followed feeds.
        Feeds = "feeds",
        /// The whole library of the user.
        All = "all",
    }
}

choices! {
    /// How passages match a query.
    pub enum SearchMode {
        /// By their words, in any form, and by their meaning.
        Auto = "auto",
        /// By all words of the query as they are written.
        Exact = "exact",
    }
}

request! {
    /// The parameters of a search.
    pub struct SearchRequest {
        /// The search query, in natural language or keywords. `"..."` finds only what contains the phrase, `-word` leaves out what contains
        /// the word.
        pub query as "q": QueryText,
        /// Finds passages by words and meaning, or only those that contain every word as it is written. Default `auto`.
        pub mode?: Choice<SearchMode>,
        /// Maximum number of passages. Default 8.
        pub limit?: PassageLimit,
        /// Searches only the bookmarks in this collection.
        pub collection_id?: Id<CollectionId>,
        /// Searches only the entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Searches only bookmarks, or only feed entries. Default `all`.
        pub source?: Choice<SearchScope>,
        /// Searches only documents of this type: articles, PDF files, audio, videos or notes.
        pub content_type?: Choice<ContentType>,
        /// Searches only the bookmarks with this tag. Case counts.
        pub tag?: Words<1, 100>,
        /// Searches only archived bookmarks (`true`) or others (`false`).
        pub archived?: Flag,
        /// Searches only favourites (`true`) or other bookmarks (`false`).
        pub favorite?: Flag,
        /// Searches only bookmarks saved after this time.
        pub saved_after?: Time,
        /// Searches only bookmarks saved before this time.
        pub saved_before?: Time,
        /// Searches only the items and notes of this project.
        pub project_id?: Id<ProjectId>,
    }
}

impl SearchRequest {
    /// Returns the request of a search of the whole library.
    pub fn of_library(query: QueryText, limit: Option<PassageLimit>) -> Self {
        Self {
            query,
            mode: None,
            limit,
            collection_id: None,
            feed_id: None,
            source: None,
            content_type: None,
            tag: None,
            archived: None,
            favorite: None,
            saved_after: None,
            saved_before: None,
            project_id: None,
        }
    }
}

/// A search of a part of a library.
#[derive(Debug)]
pub struct LibrarySearch {
    /// The query, divided by its operators.
    pub query: ParsedQuery,
    /// Maximum number of passages.
    pub limit: usize,
    /// The collection of the bookmarks.
    pub collection: Option<CollectionId>,
    /// The feed of the entries.
    pub feed: Option<FeedId>,
    /// The source of the documents.
    pub source: SearchScope,
    /// The type of the documents.
    pub content_type: Option<ContentType>,
    /// A tag of the bookmarks.
    pub tag: Option<String>,
    /// Whether the bookmarks are archived.
    pub archived: Option<bool>,
    /// Whether the bookmarks are favourites.
    pub favorite: Option<bool>,
    /// The bookmarks were saved after this time.
    pub saved_after: Option<Timestamp>,
    /// The bookmarks were saved before this time.
    pub saved_before: Option<Timestamp>,
    /// The project of the documents.
    pub project: Option<ProjectId>,
}

impl From<SearchRequest> for LibrarySearch {
    fn from(request: SearchRequest) -> Self {
        let mode = request.mode.map_or(SearchMode::Auto, Choice::into_inner);
        Self {
            query: mode.parse(request.query.as_str()),
            limit: request.limit.and_then(Integer::convert).unwrap_or(DEFAULT_LIMIT),
            collection: request.collection_id.map(Id::into_inner),
            feed: request.feed_id.map(Id::into_inner),
            source: request.source.map_or(SearchScope::All, Choice::into_inner),
            content_type: request.content_type.map(Choice::into_inner),
            tag: request.tag.map(Words::into_inner),
            archived: request.archived.map(Flag::into_inner),
            favorite: request.favorite.map(Flag::into_inner),
            saved_after: request.saved_after.map(Time::into_inner),
            saved_before: request.saved_before.map(Time::into_inner),
            project: request.project_id.map(Id::into_inner),
        }
    }
}

impl SearchMode {
    /// Divides a query by its operators.
    pub fn parse(self, query: &str) -> ParsedQuery {
        let query = ParsedQuery::of(query);
        match self {
            Self::Auto => query,
            Self::Exact => query.requiring_words(),
        }
    }
}

impl LibrarySearch {
    /// Returns the filter by labels of passages.
    fn labels(&self) -> Filter {
        Filter {
            source: indexed_source(self.source),
            feed: self.feed.map(|id| id.0),
            content_type: self.content_type,
            ..Filter::default()
        }
    }

    /// Returns the filter that the database resolves.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the name of the field when the collection, the feed or the project does not exist or belongs to another
    /// user: the index would find nothing in it (contract.md, section 5).
    async fn library_filter(&self, core: &CoreContext, user: UserId) -> Result<LibraryFilter, Error> {
        let db = core.db.read();
        let unknown = |field: &str| Error::not_found().of_item(field);
        if let Some(id) = self.collection {
            collection::Entity::one_of(user, id).one(db).await?.ok_or_else(|| unknown("collectionId"))?;
        }
        if let Some(id) = self.feed {
            feed::Entity::one_of(user, id).one(db).await?.ok_or_else(|| unknown("feedId"))?;
        }
        let project = match self.project {
            Some(id) => {
                let found = project::Entity::one_of(user, id).one(db).await?;
                Some(found.ok_or_else(|| unknown("projectId"))?)
            }
            None => None,
        };
        let bookmarks = BookmarkConditions {
            tag: self.tag.as_deref().map(normalize_tag),
            collection: self.collection,
            archived: self.archived,
            favorite: self.favorite,
            saved_after: self.saved_after,
            saved_before: self.saved_before,
        };
        Ok(LibraryFilter { bookmarks, project })
    }

    /// Returns the passages that match best, for a caller whose request was checked.
    ///
    /// # Errors
    /// Those of [`Search`].
    pub async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SearchResponse, Error> {
        let searches = ctx.retrieval.begin_request();
        let filter = self.library_filter(&ctx.core, caller.user).await?;
        let resolve = |naming| {
            let resolved =
                ctx.retrieval.resolve_filter(&ctx.core, caller.user, &filter, self.labels(), naming);
            searches.run_within(Duration::ZERO, resolved)
        };
        let resolved = resolve(Naming::Few).await?;
        // The search would be for nothing, and takes a slot.
        if resolved.within.documents == DocumentSet::Only(Vec::new()) {
            let degraded = degraded(ctx.retrieval.is_lexical_only(&searches, caller.user).await?);
            let terms = SnippetTerms::default();
            return Ok(SearchResponse { results: Vec::new(), degraded, corrected_query: None, terms });
        }
        let limit = self.limit;
        let requested = (limit + EXTRA_PASSAGES).saturating_mul(resolved.bookmarks_per_match);
        let query = SearchQuery {
            query: self.query.clone(),
            within: resolved.within,
            bookmarks: filter.bookmarks.clone(),
            limit: requested.min(MAX_PASSAGES),
        };
        let found = find(&searches, caller.user, ctx, query.clone(), limit).await?;
        if resolved.is_exact || found.is_whole(limit) {
            return Ok(found.into_response());
        }
        // What passes is rare among the best hits: the index searches the documents that pass, if they can be named.
        let among_named = async {
            let resolved = resolve(Naming::Many).await?;
            if !resolved.is_exact {
                return Ok(None);
            }
            let query = SearchQuery { within: resolved.within, limit: limit + EXTRA_PASSAGES, ..query };
            find(&searches, caller.user, ctx, query, limit).await.map(Some)
        };
        match among_named.await {
            Ok(named) => Ok(named.unwrap_or(found).into_response()),
            // The time of the request is up.
            Err(Error::IndexUnreachable(_)) => Ok(found.into_response()),
            Err(error) => Err(error),
        }
    }
}

impl FromRequest for Search {
    type Request = SearchRequest;

    fn from_request(_: &Target, request: SearchRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// Returns the source of the passages in this scope; `None` for those of all sources.
fn indexed_source(scope: SearchScope) -> Option<Source> {
    match scope {
        SearchScope::Bookmarks => Some(Source::Bookmarks),
        SearchScope::Feeds => Some(Source::Feeds),
        SearchScope::All => None,
    }
}

/// The passages that match the query.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResponse {
    /// The passages, best first, at most three of one document.
    pub results: Vec<SearchResult>,
    /// `lexical` if the results may be incomplete: they come from keyword matching only, because semantic search is unavailable or the index
    /// does not answer, and while a lost index is filled again, texts that it does not have yet are missing; else null.
    #[schemars(extend("enum" = ["lexical", null]))]
    pub degraded: Option<&'static str>,
    /// The query whose results these are, if nothing in the library has a word of `q` and it has one that is spelt almost the same; else
    /// null.
    pub corrected_query: Option<String>,
    /// The words of the query, by which the app marks those of the snippets. Clients are not sent them.
    #[serde(skip)]
    pub terms: SnippetTerms,
}

impl Operation for Search {
    type Reply = SearchResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    // A search waits for a slot of its own (`Retrieval::search`).
    const NEEDS_RESPONSE_SLOT: bool = false;

    fn count(reply: &SearchResponse) -> Option<usize> {
        Some(reply.results.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SearchResponse, Error> {
        LibrarySearch::from(self.0).run(caller, ctx).await
    }
}

/// What a search found, with the results of its hits that the user may read.
struct SearchOutcome {
    ranked: RankedHits,
    results: Vec<SearchResult>,
}

impl SearchOutcome {
    /// Returns whether a search of the passing documents alone would find no further results.
    fn is_whole(&self, limit: usize) -> bool {
        self.results.len() >= limit || self.ranked.is_complete
    }

    fn into_response(self) -> SearchResponse {
        let Self { ranked, results } = self;
        let degraded = degraded(ranked.lexical_only);
        // The passages of the corrected query may all be ones that the user does not have any more.
        let correction = ranked.correction.filter(|_| !results.is_empty());
        let texts: Vec<&str> =
            results.iter().flat_map(|result| [result.snippet.as_str(), result.title.as_str()]).collect();
        let corrected_query = correction.map(|correction| correction.text_as_in(&texts));
        SearchResponse { results, degraded, corrected_query, terms: ranked.terms }
    }
}

/// Returns the value of `degraded`.
fn degraded(is_lexical_only: bool) -> Option<&'static str> {
    is_lexical_only.then_some("lexical")
}

/// Returns the best results of a search, at most `limit`.
async fn find(
    searches: &RequestSearches,
    user: UserId,
    ctx: &OperationContext,
    mut query: SearchQuery,
    limit: usize,
) -> Result<SearchOutcome, Error> {
    let mut found = None;
    loop {
        let ranked = match ctx.retrieval.search_within(searches, user, query.clone()).await {
            Ok(ranked) => ranked,
            // The time of the request is up. The results of the search with the lower limit are the best ones.
            Err(failure @ Error::IndexUnreachable(_)) => return found.ok_or(failure),
            Err(failure) => return Err(failure),
        };
        let results = passage::load(&ctx.core, user, &query, &ranked, limit).await?;
        let is_exhausted = ranked.hits.len() < query.limit || query.limit >= MAX_PASSAGES;
        if results.len() >= limit || is_exhausted {
            return Ok(SearchOutcome { ranked, results });
        }
        // Most of the passages were deleted, but are still in the index, or are not in the searched part of the library; others rank
        // below them.
        query.limit = query.limit.saturating_mul(4).min(MAX_PASSAGES);
        found = Some(SearchOutcome { ranked, results });
    }
}
