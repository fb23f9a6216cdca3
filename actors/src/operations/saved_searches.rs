//! Saved searches: queries of the library under a name, some of them pinned in an order.

use entity::{saved_search, user};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{
    ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait,
    QueryFilter, QueryOrder, QuerySelect,
};
use serde::Serialize;
use values::id::{SavedSearchId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::owned_transaction::begin_request;
use library::query::LibraryQuery;
use validation::{DisplayName, Flag, Id, Invalid, List, NoFields, Text, request};

/// Maximum number of saved searches of a user.
pub const MAX_SAVED_SEARCHES: u64 = 100;

/// The field `name`: 1 to 100 characters, without control characters.
type SavedSearchName = DisplayName<1, 100>;
/// The field `query`, in the language of the field `q` of a list of bookmarks. An empty one matches all bookmarks.
type SavedSearchQuery = Text<500>;

/// A saved search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedSearchView {
    /// Id of the saved search.
    pub saved_search_id: SavedSearchId,
    /// Its name.
    pub name: String,
    /// The query, for the field `q` of a list of bookmarks.
    pub query: String,
    /// Whether it is pinned. Pinned ones come first, in their order; the others are sorted by name.
    pub is_pinned: bool,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A saved search, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SavedSearchResponse {
    /// The saved search after the request.
    pub saved_search: SavedSearchView,
}

/// All saved searches of the user.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSavedSearchesResponse {
    /// The saved searches, at most 100: the pinned ones in their order, then the others by name.
    pub saved_searches: Vec<SavedSearchView>,
}

impl From<saved_search::Model> for SavedSearchView {
    fn from(row: saved_search::Model) -> Self {
        Self {
            saved_search_id: row.id,
            name: row.name,
            query: row.query,
            is_pinned: row.position.is_some(),
            updated_at: row.updated_at,
        }
    }
}

/// Lists the saved searches of the user.
#[derive(Debug)]
pub struct ListSavedSearches;

impl FromRequest for ListSavedSearches {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for ListSavedSearches {
    type Reply = ListSavedSearchesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];
    // They are few and short, and stand beside every page.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListSavedSearchesResponse, Error> {
        load_all(ctx.core.db.read(), caller.user).await
    }
}

/// Saves a query under a name.
#[derive(Debug)]
pub struct CreateSavedSearch {
    name: String,
    query: String,
    is_pinned: bool,
}

request! {
    /// A query to save.
    pub struct CreateSavedSearchRequest {
        /// Its name, which need not be unique.
        pub name: SavedSearchName,
        /// The query.
        pub query: SavedSearchQuery,
        /// Whether it is pinned, as the last one. Default false.
        pub is_pinned?: Flag,
    }
}

impl FromRequest for CreateSavedSearch {
    type Request = CreateSavedSearchRequest;

    fn from_request(_: &Target, request: CreateSavedSearchRequest) -> Result<Self, Error> {
        Ok(Self {
            name: request.name.into_inner(),
            query: printed_query(&request.query.into_inner())?,
            is_pinned: request.is_pinned.is_some_and(Flag::into_inner),
        })
    }
}

impl Operation for CreateSavedSearch {
    type Reply = SavedSearchResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SavedSearchResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        // Two requests that count at the same time would both find room.
        user::Entity::find_by_id(caller.user).lock(LockType::NoKeyUpdate).one(&txn).await?;
        if saved_search::Entity::owned_by(caller.user).count(&txn).await? >= MAX_SAVED_SEARCHES {
            let message = format!("there are {MAX_SAVED_SEARCHES} saved searches already; delete one first");
            return Err(Error::Conflict(message.into()));
        }
        let position = if self.is_pinned { Some(next_position(&txn, caller.user).await?) } else { None };
        let row = saved_search::Model {
            id: SavedSearchId::new(now),
            user_id: caller.user,
            name: self.name,
            query: self.query,
            position,
            created_at: now,
            updated_at: now,
        };
        saved_search::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        txn.commit().await?;
        Ok(SavedSearchResponse { saved_search: row.into() })
    }
}

/// Changes the given fields of a saved search.
#[derive(Debug)]
pub struct ChangeSavedSearch {
    id: SavedSearchId,
    name: Option<String>,
    query: Option<String>,
    is_pinned: Option<bool>,
}

request! {
    /// The changes of a saved search.
    pub struct ChangeSavedSearchRequest {
        /// The new name.
        pub name?: SavedSearchName,
        /// The new query.
        pub query?: SavedSearchQuery,
        /// Whether it is pinned; if it was not, it becomes the last one.
        pub is_pinned?: Flag,
    }
}

impl FromRequest for ChangeSavedSearch {
    type Request = ChangeSavedSearchRequest;

    fn from_request(target: &Target, request: ChangeSavedSearchRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            name: request.name.map(DisplayName::into_inner),
            query: request.query.map(|query| printed_query(&query.into_inner())).transpose()?,
            is_pinned: request.is_pinned.map(Flag::into_inner),
        })
    }
}

impl Operation for ChangeSavedSearch {
    type Reply = SavedSearchResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<SavedSearchResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        user::Entity::find_by_id(caller.user).lock(LockType::NoKeyUpdate).one(&txn).await?;
        let row = saved_search::Entity::one_of(caller.user, self.id).one(&txn).await?;
        let row = row.ok_or(Error::not_found())?;
        let is_pinned = row.position.is_some();
        let mut changed = row.into_active_model();
        if let Some(name) = self.name {
            changed.name = Set(name);
        }
        if let Some(query) = self.query {
            changed.query = Set(query);
        }
        match self.is_pinned {
            Some(true) if !is_pinned => {
                changed.position = Set(Some(next_position(&txn, caller.user).await?));
            }
            Some(false) => changed.position = Set(None),
            Some(true) | None => {}
        }
        changed.updated_at = Set(ctx.core.clock.now());
        let row = saved_search::Entity::update_owned_row(&txn, caller.user, changed).await?;
        txn.commit().await?;
        Ok(SavedSearchResponse { saved_search: row.into() })
    }
}

/// Deletes a saved search.
#[derive(Debug)]
pub struct DeleteSavedSearch(SavedSearchId);

impl FromRequest for DeleteSavedSearch {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The saved search was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteSavedSearchResponse {}

impl Operation for DeleteSavedSearch {
    type Reply = DeleteSavedSearchResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteSavedSearchResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let own = saved_search::Entity::delete_owned(caller.user);
        let deleted = own.filter(saved_search::Column::Id.eq(self.0)).exec(&txn).await?;
        if deleted.rows_affected == 0 {
            return Err(Error::not_found());
        }
        txn.commit().await?;
        Ok(DeleteSavedSearchResponse {})
    }
}

/// Pins saved searches in an order.
#[derive(Debug)]
pub struct PinSavedSearches(Vec<SavedSearchId>);

request! {
    /// The pinned saved searches.
    pub struct PinSavedSearchesRequest {
        /// The pinned ones, in their order. All others are not pinned after the request.
        pub ids: List<Id<SavedSearchId>, 0, 100>,
    }
}

impl FromRequest for PinSavedSearches {
    type Request = PinSavedSearchesRequest;

    fn from_request(_: &Target, request: PinSavedSearchesRequest) -> Result<Self, Error> {
        Ok(Self(request.ids.map(Id::into_inner)))
    }
}

impl Operation for PinSavedSearches {
    type Reply = ListSavedSearchesResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListSavedSearchesResponse, Error> {
        use saved_search::Column as C;
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        user::Entity::find_by_id(caller.user).lock(LockType::NoKeyUpdate).one(&txn).await?;
        saved_search::Entity::update_owned(caller.user)
            .col_expr(C::Position, Expr::value(None::<i32>))
            .exec(&txn)
            .await?;
        for (position, id) in (0_i32..).zip(&self.0) {
            let pinned = saved_search::Entity::update_owned(caller.user)
                .col_expr(C::Position, Expr::value(Some(position)))
                .filter(C::Id.eq(*id))
                .exec(&txn)
                .await?;
            if pinned.rows_affected == 0 {
                return Err(Error::not_found().of_item(&format!("ids[{position}]")));
            }
        }
        let all = load_all(&txn, caller.user).await?;
        txn.commit().await?;
        Ok(all)
    }
}

/// Returns all saved searches in their order.
async fn load_all(db: &impl ConnectionTrait, user: UserId) -> Result<ListSavedSearchesResponse, Error> {
    let mut rows = saved_search::Entity::owned_by(user).limit(MAX_SAVED_SEARCHES).all(db).await?;
    rows.sort_by_cached_key(|row| (row.position.is_none(), row.position, row.name.to_lowercase(), row.id));
    Ok(ListSavedSearchesResponse { saved_searches: rows.into_iter().map(Into::into).collect() })
}

/// Returns the place after the last pinned saved search.
async fn next_position(db: &impl ConnectionTrait, user: UserId) -> Result<i32, Error> {
    let last = saved_search::Entity::owned_by(user)
        .filter(saved_search::Column::Position.is_not_null())
        .order_by_desc(saved_search::Column::Position)
        .one(db)
        .await?;
    Ok(last.and_then(|row| row.position).map_or(0, |position| position.saturating_add(1)))
}

/// Returns a query as it is printed, so that equal ones are stored equally.
///
/// # Errors
/// [`Error::Invalid`] names the place and the fault in the query, also when it is longer than 500 characters as it is printed.
fn printed_query(text: &str) -> Result<String, Error> {
    const MAX_QUERY_CHARS: usize = 500;
    let query = LibraryQuery::parse(text).map_err(|fault| Invalid::new("query", fault.to_string()))?;
    let printed = query.to_string();
    if printed.chars().count() > MAX_QUERY_CHARS {
        return Err(Invalid::new("query", "must have at most 500 characters as it is stored").into());
    }
    Ok(printed)
}
