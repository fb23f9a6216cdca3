//! Searches the library (spec.md: GET /search, search_library).

use entity::{collection, feed};
use schemars::JsonSchema;
use search::index::{Filter, Source};
use serde::Serialize;
use values::id::{CollectionId, FeedId};
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, SearchResult};
use crate::target::Target;
use errors::Error;
use validation::{Choice, Id, Integer, Words, choices, request};

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

request! {
    /// The parameters of a search.
    pub struct SearchRequest {
        /// The search query, in natural language or keywords.
        pub query as "q": QueryText,
        /// Maximum number of passages. Default 8.
        pub limit?: PassageLimit,
        /// Searches only the bookmarks in this collection.
        pub collection_id?: Id<CollectionId>,
        /// Searches only the entries of this feed.
        pub feed_id?: Id<FeedId>,
        /// Searches only bookmarks, or only feed entries. Default `all`.
        pub source?: Choice<SearchScope>,
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
pub struct SearchResponse {
    /// The passages, best first, at most three of one document.
    pub results: Vec<SearchResult>,
    /// `lexical` if the results come from keyword matching only, because semantic search is unavailable; else null.
    #[schemars(extend("enum" = ["lexical", null]))]
    pub degraded: Option<&'static str>,
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
        let SearchRequest { query, limit, collection_id, feed_id, source } = self.0;
        let (collection, feed) = (collection_id.map(Id::into_inner), feed_id.map(Id::into_inner));
        // The index would answer an unknown collection or feed with no results, not with 404 (contract.md, section 5).
        if let Some(id) = collection {
            let found = collection::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?;
            found.ok_or_else(|| Error::not_found().of_item("collectionId"))?;
        }
        if let Some(id) = feed {
            let found = feed::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?;
            found.ok_or_else(|| Error::not_found().of_item("feedId"))?;
        }
        let within = Filter {
            source: source.and_then(|scope| indexed_source(scope.into_inner())),
            collection: collection.map(|id| id.0),
            feed: feed.map(|id| id.0),
            ..Filter::default()
        };
        let limit = limit.and_then(Integer::convert).unwrap_or(DEFAULT_LIMIT);
        let mut query = SearchQuery { query: query.into_inner(), within, limit: limit + EXTRA_PASSAGES };
        loop {
            let ranked = ctx.retrieval.search(caller.user, query.clone()).await?;
            let results = passage::load(&ctx.core, caller.user, &query, &ranked.hits, limit).await?;
            let is_exhausted = ranked.hits.len() < query.limit || query.limit >= MAX_PASSAGES;
            if results.len() >= limit || is_exhausted {
                return Ok(SearchResponse { results, degraded: ranked.lexical_only.then_some("lexical") });
            }
            // Most of the passages were deleted, but are still in the index; existing ones rank below them.
            query.limit *= 4;
        }
    }
}
