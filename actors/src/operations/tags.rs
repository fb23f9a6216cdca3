//! Lists tags, and renames and deletes a tag on all bookmarks (contract.md, section 6).
//!
//! A tag is a name on bookmarks: it exists as long as a bookmark that is not deleted has it. Changes apply to deleted bookmarks
//! too, so that restoring one does not bring an old name back.

use std::collections::HashSet;

use entity::{bookmark, bookmark_tag, tag_count};
use schemars::JsonSchema;
use sea_orm::sea_query::{OnConflict, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect, Select,
};
use serde::Serialize;
use values::id::{BookmarkId, UserId};
use values::scope::Scope;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::BATCH_ROWS;
use library::bookmarks::{self, TagName};
use library::documents::mark_bookmarks_unindexed;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{NoFields, request};

const DEFAULT_LIMIT: u64 = 50;

/// A tag (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema, FromQueryResult)]
pub struct TagView {
    /// Name of the tag, which identifies it.
    pub name: String,
    /// Number of bookmarks with the tag, without deleted ones.
    #[schemars(range(min = 0))]
    pub count: i64,
}

/// Lists the tags of the user's bookmarks, sorted by name.
#[derive(Debug)]
pub struct ListTags(PageRequest);

request! {
    /// A page of the tags on bookmarks.
    pub struct ListTagsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of tags. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListTags {
    type Request = ListTagsRequest;

    fn from_request(_: &Target, request: ListTagsRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
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
        let list = self.0.of_list(ctx, caller, ListName::new("tags"));
        let after: Option<String> = list.position()?;
        let mut tags = select_tags(caller.user);
        if let Some(after) = after {
            tags = tags.filter(tag_count::Column::Name.gt(after));
        }
        let tags = tags.order_by_asc(tag_count::Column::Name).limit(list.fetch_limit());
        let tags = tags.into_model::<TagView>().all(ctx.core.db.read()).await?;
        let ListPage { rows, next_cursor } = list.page(tags, |tag| tag.name.clone());
        Ok(ListTagsResponse { tags: rows, next_cursor })
    }
}

/// Renames a tag. If the new name is a tag already, the two are merged.
#[derive(Debug)]
pub struct RenameTag {
    old: String,
    new: String,
}

request! {
    /// The new name of a tag.
    pub struct RenameTagRequest {
        /// The new name. If a tag of that name exists, the two are merged.
        pub name: TagName,
    }
}

impl FromRequest for RenameTag {
    type Request = RenameTagRequest;

    fn from_request(target: &Target, request: RenameTagRequest) -> Result<Self, Error> {
        Ok(Self { old: named_tag(target)?, new: bookmarks::normalize_tag(request.name.as_str()) })
    }
}

/// The tag under its new name; its count includes the bookmarks of a merged tag.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TagResponse {
    tag: TagView,
}

impl Operation for RenameTag {
    type Reply = TagResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<TagResponse, Error> {
        let Self { old, new } = self;
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let tagged = lock_tagged(&txn, caller.user, &old).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        // A tag that is renamed to itself changes nothing, so the times of its bookmarks stay too.
        if old != new {
            remove_tag(&txn, caller.user, &tagged, &old).await?;
            add_tag(&txn, caller.user, &tagged, &new).await?;
            // Clients that keep a copy in step ask for bookmarks by the time of their last change.
            let now = ctx.core.clock.now();
            bookmarks::touch_many(&txn, caller.user, &tagged, now).await?;
            mark_bookmarks_unindexed(&txn, caller.user, &tagged, now).await?;
            room.must_hold(&txn).await?;
        }
        let renamed = select_tags(caller.user).filter(tag_count::Column::Name.eq(new));
        let tag = renamed.into_model::<TagView>().one(&txn).await?.ok_or(Error::not_found())?;
        txn.commit().await?;
        Ok(TagResponse { tag })
    }
}

/// The tag to remove from all bookmarks.
#[derive(Debug)]
pub struct DeleteTag(String);

impl FromRequest for DeleteTag {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        named_tag(target).map(Self)
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
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let tagged = lock_tagged(&txn, caller.user, &self.0).await?;
        remove_tag(&txn, caller.user, &tagged, &self.0).await?;
        let now = ctx.core.clock.now();
        bookmarks::touch_many(&txn, caller.user, &tagged, now).await?;
        mark_bookmarks_unindexed(&txn, caller.user, &tagged, now).await?;
        txn.commit().await?;
        Ok(DeleteTagResponse {})
    }
}

/// Returns the name of the tag that the path of a request names.
fn named_tag(target: &Target) -> Result<String, Error> {
    target.text(0).map(|name| bookmarks::normalize_tag(&name))
}

/// Selects the tags of a user's bookmarks, without deleted ones, with their counts.
pub(super) fn select_tags(user: UserId) -> Select<tag_count::Entity> {
    tag_count::Entity::owned_by(user)
        .select_only()
        .column(tag_count::Column::Name)
        .column_as(tag_count::Column::Bookmarks, "count")
}

/// Locks the bookmarks with a tag, deleted ones too, until the transaction ends and returns their ids.
///
/// # Errors
/// [`Error::NotFound`] when all bookmarks with the tag are deleted; the database fails.
async fn lock_tagged(txn: &impl ConnectionTrait, user: UserId, name: &str) -> Result<Vec<BookmarkId>, Error> {
    let has_tag = || bookmark::Column::Id.in_subquery(select_tagged(user, name));
    // A tag that only deleted bookmarks have does not exist for the user.
    bookmark::Entity::visible_to(user).filter(has_tag()).one(txn).await?.ok_or(Error::not_found())?;
    let locked = bookmarks::lock(txn, bookmark::Entity::with_deleted(user).filter(has_tag())).await?;
    // Read again: a transaction that held a lock may have removed the tag from its bookmarks.
    let tagged: Vec<BookmarkId> = bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::Name.eq(name))
        .select_only()
        .column(bookmark_tag::Column::BookmarkId)
        .into_tuple()
        .all(txn)
        .await?;
    let tagged: HashSet<BookmarkId> = tagged.into_iter().collect();
    Ok(locked.into_iter().filter(|id| tagged.contains(id)).collect())
}

fn select_tagged(user: UserId, name: &str) -> SelectStatement {
    Query::select()
        .column(bookmark_tag::Column::BookmarkId)
        .from(bookmark_tag::Entity)
        .and_where(bookmark_tag::Column::UserId.eq(user))
        .and_where(bookmark_tag::Column::Name.eq(name))
        .to_owned()
}

async fn remove_tag(
    txn: &impl ConnectionTrait,
    user: UserId,
    tagged: &[BookmarkId],
    name: &str,
) -> Result<(), Error> {
    for batch in tagged.chunks(BATCH_ROWS) {
        bookmark_tag::Entity::delete_owned(user)
            .filter(bookmark_tag::Column::Name.eq(name))
            .filter(bookmark_tag::Column::BookmarkId.is_in(batch.iter().copied()))
            .exec(txn)
            .await?;
    }
    Ok(())
}

async fn add_tag(
    txn: &impl ConnectionTrait,
    user: UserId,
    tagged: &[BookmarkId],
    name: &str,
) -> Result<(), Error> {
    use bookmark_tag::Column as C;
    for batch in tagged.chunks(BATCH_ROWS) {
        let bookmarks =
            bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(batch.iter().copied()));
        let bookmarks = bookmarks.all(txn).await?;
        let rows =
            bookmarks.iter().map(|row| bookmark_tag::Model::new(row, name.to_owned()).into_active_model());
        // A bookmark may have the new tag already, when two tags are merged.
        bookmark_tag::Entity::insert_many(rows)
            .on_conflict(OnConflict::columns([C::BookmarkId, C::UserId, C::Name]).do_nothing().to_owned())
            .try_insert()
            .exec_without_returning(txn)
            .await?;
    }
    Ok(())
}
