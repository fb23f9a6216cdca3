//! Searches the library (spec.md: GET /search, search_library).

use entity::id::{CollectionId, FeedId};
use entity::scope::Scope;
use entity::{collection, feed};
use schemars::JsonSchema;
use search::index::{Filter, Source};
use serde::Serialize;

use super::target::Target;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::retrieval::SearchQuery;
use crate::retrieval::passage::{self, SearchResult};
use errors::Error;
use validation::{Field, Kind, Values};

/// Kind of the search text.
pub const QUERY: Kind = Kind::Words { min: 1, max: 500 };
/// Kind of the number of results.
pub const LIMIT: Kind = Kind::Integer { min: 1, max: 20 };
const DEFAULT_LIMIT: usize = 8;
/// Passages that are requested beyond the limit, because the index may still contain some that were just deleted or replaced.
const EXTRA_PASSAGES: usize = 20;
/// Maximum number of passages that are requested, however many were deleted.
const MAX_PASSAGES: usize = 1000;

/// Searches the library.
#[derive(Debug)]
pub struct Search {
    /// The search text.
    pub query: String,
    /// Maximum number of passages.
    pub limit: Option<usize>,
    /// Searches only bookmarks of this collection.
    pub collection: Option<CollectionId>,
    /// Searches only entries of this feed.
    pub feed: Option<FeedId>,
    /// Searches only bookmarks, or only feed entries.
    pub source: Option<Source>,
}

impl Search {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        Field::required("q", QUERY, "The search query, in natural language or keywords."),
        Field::optional("limit", LIMIT, "Maximum number of passages. Default 8."),
        Field::optional("collectionId", Kind::Id, "Searches only the bookmarks in this collection."),
        Field::optional("feedId", Kind::Id, "Searches only the entries of this feed."),
        Field::optional(
            "source",
            Kind::Choice(&["bookmarks", "feeds", "all"]),
            "Searches only bookmarks, or only feed entries. Default `all`.",
        ),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let source = match values.name("source") {
            Some("bookmarks") => Some(Source::Bookmarks),
            Some("feeds") => Some(Source::Feeds),
            Some(_) | None => None,
        };
        Ok(Self {
            query: values.text("q").unwrap_or_default(),
            limit: values.integer("limit"),
            collection: values.id("collectionId").map(CollectionId),
            feed: values.id("feedId").map(FeedId),
            source,
        })
    }
}

/// The passages that match the query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResponse {
    /// Passages, best first.
    pub results: Vec<SearchResult>,
    /// `lexical` if the results come from keyword matching only, because semantic search is unavailable; else null.
    #[schemars(extend("enum" = ["lexical", null]))]
    pub degraded: Option<&'static str>,
}

impl Operation for Search {
    type Reply = SearchResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    const TAKES_TURN: bool = false;

    fn count(reply: &SearchResponse) -> Option<usize> {
        Some(reply.results.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SearchResponse, Error> {
        if let Some(id) = self.collection {
            collection::Entity::one_of(caller.user, id)
                .one(ctx.core.db.read())
                .await?
                .ok_or(Error::not_found())?;
        }
        if let Some(id) = self.feed {
            feed::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        }
        let within = Filter {
            source: self.source,
            collection: self.collection.map(|id| id.0),
            feed: self.feed.map(|id| id.0),
            ..Filter::default()
        };
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let mut query = SearchQuery { query: self.query, within, limit: limit + EXTRA_PASSAGES };
        loop {
            let ranked = ctx.retrieval.search(caller.user, query.clone()).await?;
            let results = passage::load(&ctx.core, caller.user, &query, &ranked.found, limit).await?;
            let is_exhausted = ranked.found.len() < query.limit || query.limit >= MAX_PASSAGES;
            if results.len() >= limit || is_exhausted {
                return Ok(SearchResponse { results, degraded: ranked.lexical_only.then_some("lexical") });
            }
            // Most of the passages were deleted, but are still in the index; existing ones rank below them.
            query.limit *= 4;
        }
    }
}
