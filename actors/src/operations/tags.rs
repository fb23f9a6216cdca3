//! Tags: which there are, and changing one on every bookmark at once (contract.md, section 6).
//!
//! A tag is nothing but a name on bookmarks: without a living bookmark there is no such tag. What is changed is changed on
//! deleted bookmarks too, so that one that is restored does not bring an old name back.

use std::collections::HashSet;

use entity::id::{BookmarkId, UserId};
use entity::scope::Scope;
use entity::{bookmark, bookmark_tag};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect,
};
use serde::Serialize;

use super::bookmarks::{kinds, save};
use super::page::{CURSOR, PageOf};
use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A tag (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema, FromQueryResult)]
pub struct TagView {
    /// Name of the tag.
    name: String,
    /// Number of bookmarks with the tag.
    #[schemars(range(min = 0))]
    count: i64,
}

/// A page of tags.
#[derive(Debug)]
pub struct ListTags(PageOf);

impl ListTags {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional("limit", Kind::Integer { min: 1, max: 100 }, "Maximum number of tags. Default 50."),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(PageOf::read(&mut values, DEFAULT_LIMIT)))
    }
}

/// A page of tags, sorted by name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListTagsResponse {
    tags: Vec<TagView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl Operation for ListTags {
    type Reply = ListTagsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListTagsResponse) -> Option<usize> {
        Some(reply.tags.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListTagsResponse, Error> {
        let after: Option<String> = self.0.position(ctx, caller.user, "tags")?;
        let mut counted = counted(caller.user);
        if let Some(after) = after {
            counted = counted.filter(bookmark_tag::Column::Name.gt(after));
        }
        let counted = counted.order_by_asc(bookmark_tag::Column::Name).limit(self.0.limit + 1);
        let mut tags = counted.into_model::<TagView>().all(ctx.core.db.read()).await?;
        let next_cursor = self.0.cut(ctx, caller.user, "tags", &mut tags, |tag| tag.name.clone());
        Ok(ListTagsResponse { tags, next_cursor })
    }
}

/// Gives a tag another name. Where that is a tag already, the two become one.
#[derive(Debug)]
pub struct RenameTag {
    old: String,
    new: String,
}

impl RenameTag {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[Field::required(
        "name",
        kinds::TAG,
        "The new name. If a tag of that name exists, the two are merged.",
    )];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let new = values.text("name").unwrap_or_default().trim().to_owned();
        Ok(Self { old: target.text(0)?, new })
    }
}

/// The tag.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TagResponse {
    tag: TagView,
}

impl Operation for RenameTag {
    type Reply = TagResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<TagResponse, Error> {
        let Self { old, new } = self;
        let txn = begin_request(&ctx.core.db, caller).await?;
        let tagged = tagged(&txn, caller.user, &old).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        if old != new {
            take_off(&txn, caller.user, &tagged, &old).await?;
            put_on(&txn, caller.user, &tagged, &new).await?;
            save::touch_all(&txn, caller.user, &tagged, ctx.core.clock.now()).await?;
            room.must_hold(&txn).await?;
        }
        let now_called = counted(caller.user).filter(bookmark_tag::Column::Name.eq(new));
        let tag = now_called.into_model::<TagView>().one(&txn).await?.ok_or(Error::not_found())?;
        txn.commit().await?;
        Ok(TagResponse { tag })
    }
}

/// Takes a tag off every bookmark; the bookmarks stay.
#[derive(Debug)]
pub struct DeleteTag(String);

impl DeleteTag {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        target.text(0).map(Self)
    }
}

/// The tag was removed from every bookmark.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteTagResponse {}

impl Operation for DeleteTag {
    type Reply = DeleteTagResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteTagResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let tagged = tagged(&txn, caller.user, &self.0).await?;
        take_off(&txn, caller.user, &tagged, &self.0).await?;
        save::touch_all(&txn, caller.user, &tagged, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(DeleteTagResponse {})
    }
}

/// The tags of a user's living bookmarks with their counts.
fn counted(user: UserId) -> sea_orm::Select<bookmark_tag::Entity> {
    let living = Query::select()
        .column(bookmark::Column::Id)
        .from(bookmark::Entity)
        .and_where(bookmark::Column::UserId.eq(user))
        .and_where(bookmark::Column::DeletedAt.is_null())
        .to_owned();
    bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::BookmarkId.in_subquery(living))
        .select_only()
        .column(bookmark_tag::Column::Name)
        .expr_as(Expr::col(bookmark_tag::Column::BookmarkId).count(), "count")
        .group_by(bookmark_tag::Column::Name)
}

/// The bookmarks with this tag, deleted ones too, locked until the transaction ends.
///
/// # Errors
/// Not found where no living bookmark has it.
async fn tagged(txn: &impl ConnectionTrait, user: UserId, name: &str) -> Result<Vec<BookmarkId>, Error> {
    let with_it = || bookmark::Column::Id.in_subquery(named(user, name));
    bookmark::Entity::owned_by(user).filter(with_it()).one(txn).await?.ok_or(Error::not_found())?;
    let locked = save::lock(txn, bookmark::Entity::with_deleted(user).filter(with_it())).await?;
    // Whoever was waited for may have taken it off one: what is locked is looked at once more.
    let still: Vec<BookmarkId> = bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::Name.eq(name))
        .select_only()
        .column(bookmark_tag::Column::BookmarkId)
        .into_tuple()
        .all(txn)
        .await?;
    let still: HashSet<BookmarkId> = still.into_iter().collect();
    Ok(locked.into_iter().filter(|id| still.contains(id)).collect())
}

fn named(user: UserId, name: &str) -> SelectStatement {
    Query::select()
        .column(bookmark_tag::Column::BookmarkId)
        .from(bookmark_tag::Entity)
        .and_where(bookmark_tag::Column::UserId.eq(user))
        .and_where(bookmark_tag::Column::Name.eq(name))
        .to_owned()
}

async fn take_off(
    txn: &impl ConnectionTrait,
    user: UserId,
    tagged: &[BookmarkId],
    name: &str,
) -> Result<(), Error> {
    for some in tagged.chunks(save::AT_ONCE) {
        bookmark_tag::Entity::delete_many()
            .filter(bookmark_tag::Column::UserId.eq(user))
            .filter(bookmark_tag::Column::Name.eq(name))
            .filter(bookmark_tag::Column::BookmarkId.is_in(some.iter().copied()))
            .exec(txn)
            .await?;
    }
    Ok(())
}

async fn put_on(
    txn: &impl ConnectionTrait,
    user: UserId,
    tagged: &[BookmarkId],
    name: &str,
) -> Result<(), Error> {
    let there = [bookmark_tag::Column::BookmarkId, bookmark_tag::Column::Name];
    for some in tagged.chunks(save::AT_ONCE) {
        let row =
            |id: &BookmarkId| bookmark_tag::Model { bookmark_id: *id, name: name.to_owned(), user_id: user };
        let rows = some.iter().map(|id| row(id).into_active_model());
        bookmark_tag::Entity::insert_many(rows)
            .on_conflict(OnConflict::columns(there).do_nothing().to_owned())
            .try_insert()
            .exec_without_returning(txn)
            .await?;
    }
    Ok(())
}
