//! Counts how many of the bookmarks that a query matches have which type, state, tag and site.
//!
//! Counts are exact up to [`MAX_FACET_COUNT`]. Types and states of a filter by flags and types are counted in the indexes. What any other
//! query matches is read up to this number and counted there; if it matches more, the counts are those of its newest matches.

use std::collections::BTreeMap;

use database::{padded, tested_only};
use entity::{account_count, bookmark, bookmark_tag, document, tag_count};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, FromQueryResult, JoinType, QueryFilter, QueryOrder,
    QuerySelect,
};
use serde::Serialize;
use values::id::{BookmarkId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;

use super::filter::BookmarkFilter;
use super::find_page::find_page;
use super::order::BookmarkSort;
use super::query_request::parse_query;
use super::statements::PageBounds;
use super::tested_conditions::authority;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::BATCH_ROWS;
use library::query::{LibraryQuery, QueryCondition, QueryState};
use validation::{NamedKind, Text, request};

/// The greatest count that is exact.
pub const MAX_FACET_COUNT: usize = 1000;
/// Tags and sites of a response.
const MAX_FACETS: usize = 12;
/// Column of the statements: the value that is counted.
const VALUE: &str = "value";
/// Column of the statements: the host of the URL of a bookmark.
const HOST: &str = "host";
/// Column of the statements: how many bookmarks have the value.
const COUNT: &str = "count";

/// Counts the matches of a query, and those with each type, state, tag and site.
#[derive(Debug)]
pub struct CountFacets(LibraryQuery);

/// Counts the matches of a query alone, for the part of a list that the web app asks for again and again.
#[derive(Debug)]
pub struct CountMatches(LibraryQuery);

request! {
    /// A query whose matches are counted.
    pub struct CountFacetsRequest {
        /// The query, as in a list of bookmarks; without it all bookmarks are counted.
        pub query? as "q": Text<500>,
    }
}

impl FromRequest for CountFacets {
    type Request = CountFacetsRequest;

    fn from_request(_: &Target, request: CountFacetsRequest) -> Result<Self, Error> {
        Ok(Self(query_of(request)?))
    }
}

impl FromRequest for CountMatches {
    type Request = CountFacetsRequest;

    fn from_request(_: &Target, request: CountFacetsRequest) -> Result<Self, Error> {
        Ok(Self(query_of(request)?))
    }
}

fn query_of(request: CountFacetsRequest) -> Result<LibraryQuery, Error> {
    let query = request.query.map(Text::into_inner).unwrap_or_default();
    parse_query(&query, "q")
}

/// How many of the matches have which type, state, tag and site.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountFacetsResponse {
    /// Number of matches.
    pub total: FacetCount,
    /// Number of all bookmarks of the user.
    pub library: i64,
    /// The types that matches have, in the order of their names in the API.
    pub types: Vec<Facet>,
    /// The states that matches have, as in `is:`.
    pub states: Vec<Facet>,
    /// The tags of most matches, at most 12.
    pub tags: Vec<Facet>,
    /// The hosts of most matches, at most 12.
    pub sites: Vec<Facet>,
}

/// How many bookmarks a query matches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountMatchesResponse {
    /// Number of matches.
    pub total: FacetCount,
    /// Number of all bookmarks of the user.
    pub library: i64,
}

/// A value with the number of matches that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Facet {
    /// The value: a content type, a state, a tag or a host.
    pub value: String,
    /// How many matches have it.
    #[serde(flatten)]
    pub count: FacetCount,
}

/// A number of bookmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FacetCount {
    /// The number of bookmarks.
    pub count: usize,
    /// Whether `count` is exact. If not, it is a lower bound.
    pub is_exact: bool,
}

impl FacetCount {
    /// Returns the count of rows of which one more than [`MAX_FACET_COUNT`] was read.
    fn of_rows(rows: usize) -> Self {
        Self { count: rows.min(MAX_FACET_COUNT), is_exact: rows <= MAX_FACET_COUNT }
    }
}

impl Operation for CountFacets {
    type Reply = CountFacetsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CountFacetsResponse, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        // Before the counts, because each query looks up its feeds and collections.
        let (others, types) = split_types(&self.0);
        let without_types = BookmarkFilter::all_of(user).with_query(db, &others).await?;
        let filter = types.into_iter().fold(without_types.clone(), BookmarkFilter::with_type);
        let bounds = count_bounds();
        let found = find_page(db, &filter, bounds).await?;
        let total = FacetCount::of_rows(found.len());
        let ids: Vec<BookmarkId> = found.into_iter().take(MAX_FACET_COUNT).map(|row| row.id).collect();
        let sample = FacetSample::load(db, user, ids, total.is_exact).await?;
        let library = library_size(db, user).await?;
        let is_counted_by_index = !total.is_exact && filter.is_of_flags_and_type();
        Ok(CountFacetsResponse {
            total,
            library,
            types: if is_counted_by_index {
                count_types(db, &without_types, bounds).await?
            } else {
                sample.types()
            },
            states: if is_counted_by_index {
                count_states(db, &filter, bounds).await?
            } else {
                sample.states(db).await?
            },
            tags: if self.0.groups.is_empty() { top_tags(db, user).await? } else { sample.tags(db).await? },
            sites: sample.sites(),
        })
    }
}

impl Operation for CountMatches {
    type Reply = CountMatchesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CountMatchesResponse, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        let filter = BookmarkFilter::all_of(user).with_query(db, &self.0).await?;
        Ok(CountMatchesResponse {
            total: count_matches(db, &filter, count_bounds()).await?,
            library: library_size(db, user).await?,
        })
    }
}

/// The bounds of the rows that are counted: one more than [`MAX_FACET_COUNT`].
fn count_bounds() -> PageBounds<'static> {
    PageBounds {
        sort: BookmarkSort::SavedAtDescending,
        after: None,
        until: None,
        limit: u64::try_from(MAX_FACET_COUNT).unwrap_or(u64::MAX).saturating_add(1),
    }
}

/// Returns the number of all bookmarks of a user.
async fn library_size(db: &impl ConnectionTrait, user: UserId) -> Result<i64, Error> {
    Ok(account_count::Entity::owned_by(user).one(db).await?.map_or(0, |row| row.bookmarks))
}

/// Matches of a query, whose values are counted.
struct FacetSample {
    user: UserId,
    ids: Vec<BookmarkId>,
    values: Vec<FacetValues>,
    /// Whether these are all matches.
    is_exact: bool,
}

/// The counted values of a bookmark that are columns of `bookmark`.
#[derive(Debug, FromQueryResult)]
struct FacetValues {
    content_type: ContentType,
    favorite: bool,
    archived: bool,
    progress: f64,
    host: String,
}

impl FacetValues {
    /// Returns the states of the bookmark that are counted, without those of its document.
    fn states(&self) -> impl Iterator<Item = QueryState> {
        let has = [
            (QueryState::Unread, self.progress < 1.0),
            (QueryState::Started, self.progress > 0.0 && self.progress < 1.0),
            (QueryState::Archived, self.archived),
            (QueryState::Favorite, self.favorite),
        ];
        has.into_iter().filter_map(|(state, has)| has.then_some(state))
    }
}

impl FacetSample {
    /// Reads the bookmarks with these ids.
    async fn load(
        db: &impl ConnectionTrait,
        user: UserId,
        ids: Vec<BookmarkId>,
        is_exact: bool,
    ) -> Result<Self, Error> {
        use bookmark::Column as C;
        let mut values = Vec::with_capacity(ids.len());
        for batch in ids.chunks(BATCH_ROWS) {
            let rows = bookmark::Entity::with_deleted(user)
                .filter(C::Id.is_in(padded(batch)))
                .select_only()
                .columns([C::ContentType, C::Favorite, C::Archived, C::Progress])
                .expr_as(authority(db.get_database_backend()), HOST);
            values.extend(rows.into_model::<FacetValues>().all(db).await?);
        }
        Ok(Self { user, ids, values, is_exact })
    }

    fn types(&self) -> Vec<Facet> {
        let counts = count_values(self.values.iter().map(|row| row.content_type.to_string()));
        self.named(counts, ContentType::NAMES)
    }

    async fn states(&self, db: &impl ConnectionTrait) -> Result<Vec<Facet>, Error> {
        let states = self.values.iter().flat_map(FacetValues::states);
        let mut counts = count_values(states.map(|state| state.to_string()));
        counts.extend(self.count(db, |ids| self.select_statuses(ids)).await?);
        Ok(self.named(counts, <QueryState as NamedKind>::NAMES))
    }

    fn sites(&self) -> Vec<Facet> {
        // Uploads have no host.
        let hosts = self.values.iter().map(|row| &row.host).filter(|host| host.contains('.'));
        self.most(count_values(hosts.cloned()))
    }

    async fn tags(&self, db: &impl ConnectionTrait) -> Result<Vec<Facet>, Error> {
        let tags = |ids: &[BookmarkId]| {
            // Otherwise SQLite would read all tags of the user, because an index has them by their names.
            let backend = db.get_database_backend();
            Query::select()
                .expr_as(tested_only(bookmark_tag::Column::Name.into_expr(), backend), VALUE)
                .expr_as(Expr::cust("COUNT(*)"), COUNT)
                .from(bookmark_tag::Entity)
                .and_where(bookmark_tag::Column::BookmarkId.is_in(padded(ids)))
                .and_where(tested_only(bookmark_tag::Column::UserId.into_expr(), backend).eq(self.user))
                .group_by_col(VALUE)
                .take()
        };
        Ok(self.most(self.count(db, tags).await?))
    }

    /// Selects the states of the documents of the bookmarks with these ids that the web app shows.
    fn select_statuses(&self, ids: &[BookmarkId]) -> SelectStatement {
        let shown = [DocumentStatus::Failed, DocumentStatus::Processing];
        Query::select()
            .expr_as(document::Column::Status.into_expr(), VALUE)
            .expr_as(Expr::cust("COUNT(*)"), COUNT)
            .from(bookmark::Entity)
            // A cross join, because SQLite keeps its order: the bookmarks with these ids, then the document of each.
            .join(JoinType::CrossJoin, document::Entity, Condition::all())
            .and_where(
                document::Column::Id.into_expr().equals((bookmark::Entity, bookmark::Column::DocumentId)),
            )
            .and_where(bookmark::Column::UserId.eq(self.user))
            .and_where(document::Column::UserId.eq(self.user))
            .and_where(bookmark::Column::Id.is_in(padded(ids)))
            .and_where(document::Column::Status.is_in(shown))
            .group_by_col(VALUE)
            .take()
    }

    /// Adds up what a statement counts for each batch of the matches.
    async fn count(
        &self,
        db: &impl ConnectionTrait,
        select: impl Fn(&[BookmarkId]) -> SelectStatement,
    ) -> Result<Vec<(String, usize)>, Error> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for batch in self.ids.chunks(BATCH_ROWS) {
            for row in db.query_all(&select(batch)).await? {
                let count: i64 = row.try_get("", COUNT)?;
                let counted = counts.entry(row.try_get("", VALUE)?).or_default();
                *counted = counted.saturating_add(usize::try_from(count).unwrap_or_default());
            }
        }
        Ok(counts.into_iter().collect())
    }

    /// Returns the values in the order of these names.
    fn named(&self, counts: Vec<(String, usize)>, names: &[&str]) -> Vec<Facet> {
        let facet = |name: &&str| {
            let (value, count) = counts.iter().find(|(value, _)| value == name)?.clone();
            Some(Facet { value, count: FacetCount { count, is_exact: self.is_exact } })
        };
        names.iter().filter_map(facet).collect()
    }

    /// Returns the values of most matches.
    fn most(&self, mut counts: Vec<(String, usize)>) -> Vec<Facet> {
        counts.sort_by(|(a, many), (b, few)| few.cmp(many).then_with(|| a.cmp(b)));
        let is_exact = self.is_exact;
        let facet = |(value, count)| Facet { value, count: FacetCount { count, is_exact } };
        counts.into_iter().take(MAX_FACETS).map(facet).collect()
    }
}

/// Returns each value with how often it is there.
fn count_values(values: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in values {
        let count = counts.entry(value).or_default();
        *count = count.saturating_add(1);
    }
    counts.into_iter().collect()
}

/// Returns a query without its groups that are a type alone, and these types.
fn split_types(query: &LibraryQuery) -> (LibraryQuery, Vec<ContentType>) {
    let (mut others, mut types) = (query.clone(), Vec::new());
    others.groups.retain(|group| match group.only() {
        Some(QueryCondition::Type(kind)) => {
            types.push(*kind);
            false
        }
        Some(_) | None => true,
    });
    (others, types)
}

/// Counts the matches with each type. `without_types` is the filter of the query without its types, so that others can be chosen in their
/// place.
async fn count_types(
    db: &impl ConnectionTrait,
    without_types: &BookmarkFilter,
    bounds: PageBounds<'_>,
) -> Result<Vec<Facet>, Error> {
    let mut facets = Vec::new();
    for name in ContentType::NAMES {
        let Ok(kind) = name.parse() else { continue };
        let count = count_matches(db, &without_types.clone().with_type(kind), bounds).await?;
        facets.push(Facet { value: (*name).to_owned(), count });
    }
    facets.retain(|facet| facet.count.count > 0);
    Ok(facets)
}

/// Counts the matches of the filter in each state.
async fn count_states(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    bounds: PageBounds<'_>,
) -> Result<Vec<Facet>, Error> {
    let mut facets = Vec::new();
    for state in [
        QueryState::Unread,
        QueryState::Started,
        QueryState::Archived,
        QueryState::Favorite,
        QueryState::Processing,
        QueryState::Failed,
    ] {
        let filter = filter.clone().with_state(state);
        let is_flag = matches!(state, QueryState::Unread | QueryState::Archived | QueryState::Favorite);
        // The query says the opposite.
        let is_impossible = is_flag && !filter.is_of_flags_and_type();
        if !is_impossible {
            facets.push(Facet { value: state.to_string(), count: count_matches(db, &filter, bounds).await? });
        }
    }
    facets.retain(|facet| facet.count.count > 0);
    Ok(facets)
}

/// Counts the matches of a filter, in the index if it has them.
async fn count_matches(
    db: &impl ConnectionTrait,
    filter: &BookmarkFilter,
    bounds: PageBounds<'_>,
) -> Result<FacetCount, DbErr> {
    if !filter.is_of_flags_and_type() {
        return Ok(FacetCount::of_rows(find_page(db, filter, bounds).await?.len()));
    }
    let rows = filter.select_in_order(None, bounds, db.get_database_backend());
    let count = Query::select().expr_as(Expr::cust("COUNT(*)"), COUNT).from_subquery(rows, "match").take();
    let row = db.query_one(&count).await?;
    let rows: i64 = row.map_or(Ok(0), |row| row.try_get("", COUNT))?;
    Ok(FacetCount::of_rows(usize::try_from(rows).unwrap_or_default()))
}

/// Returns the tags of most bookmarks of the user.
async fn top_tags(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<Facet>, Error> {
    let most = u64::try_from(MAX_FACETS).unwrap_or(u64::MAX);
    let tags = tag_count::Entity::owned_by(user)
        .order_by_desc(tag_count::Column::Bookmarks)
        .order_by_desc(tag_count::Column::Name)
        .limit(most);
    let facet = |row: tag_count::Model| {
        let count = usize::try_from(row.bookmarks).unwrap_or_default();
        Facet { value: row.name, count: FacetCount::of_rows(count) }
    };
    Ok(tags.all(db).await?.into_iter().map(facet).collect())
}
