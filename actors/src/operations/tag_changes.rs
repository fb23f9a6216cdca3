//! Finds tags for the web app, and merges, renames and deletes them so that it can be undone.

use entity::{bookmark, bookmark_tag, tag_count};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};
use values::id::{BookmarkId, UserId};
use values::scope::Scope;

use super::bookmarks::{ChangePart, ManyChanges, UndoToken};
use super::name_match::name_contains;
use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use super::tags::{TagView, select_tags};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use database::compare_rows;
use errors::Error;
use library::bookmarks::{TagName, normalize_tag};
use library::undo::BookmarkChange;
use sea_orm::sea_query::BinOper;
use validation::{Choice, List, Words, choices, request};

const DEFAULT_LIMIT: u64 = 50;

choices! {
    /// The order of a list of tags.
    pub enum TagSort {
        /// By name.
        Name = "name",
        /// By the number of their bookmarks, most first.
        CountDescending = "-count",
    }
}

/// Lists tags whose names contain a text.
#[derive(Debug)]
pub struct FindTags {
    page: PageRequest,
    words: Option<String>,
    sort: TagSort,
}

request! {
    /// A page of the tags that contain a text.
    pub struct FindTagsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of tags. Default 50.
        pub limit?: PageLimit,
        /// A part of the name; case does not count.
        pub words? as "q": Words<1, 100>,
        /// The order. Default `name`.
        pub sort?: Choice<TagSort>,
    }
}

impl FromRequest for FindTags {
    type Request = FindTagsRequest;

    fn from_request(_: &Target, request: FindTagsRequest) -> Result<Self, Error> {
        Ok(Self {
            page: PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT),
            words: request.words.map(|words| normalize_tag(words.as_str())),
            sort: request.sort.map_or(TagSort::Name, Choice::into_inner),
        })
    }
}

/// A page of tags.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindTagsResponse {
    /// The tags.
    pub tags: Vec<TagView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The place of a tag in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TagPosition {
    count: i64,
    name: String,
}

impl Operation for FindTags {
    type Reply = FindTagsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &FindTagsResponse) -> Option<usize> {
        Some(reply.tags.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindTagsResponse, Error> {
        use tag_count::Column as C;
        let name = ListName::new("tag-search").with("q", self.words.as_ref()).with("sort", Some(self.sort));
        let list = self.page.of_list(ctx, caller, name);
        let after: Option<TagPosition> = list.position()?;
        let mut tags = select_tags(caller.user);
        if let Some(words) = &self.words {
            tags = tags.filter(name_contains(C::Name, words));
        }
        let tags = match self.sort {
            TagSort::Name => {
                let tags = tags.order_by_asc(C::Name);
                match after {
                    Some(after) => tags.filter(C::Name.gt(after.name)),
                    None => tags,
                }
            }
            TagSort::CountDescending => {
                let tags = tags.order_by_desc(C::Bookmarks).order_by_desc(C::Name);
                match after {
                    Some(after) => tags.filter(compare_rows(
                        [C::Bookmarks.into_expr(), C::Name.into_expr()],
                        BinOper::SmallerThan,
                        [Expr::value(after.count), Expr::value(after.name)],
                    )),
                    None => tags,
                }
            }
        };
        let tags = tags.limit(list.fetch_limit()).into_model::<TagView>().all(ctx.core.db.read()).await?;
        let position = |tag: &TagView| TagPosition { count: tag.count, name: tag.name.clone() };
        let ListPage { rows, next_cursor } = list.page(tags, position);
        Ok(FindTagsResponse { tags: rows, next_cursor })
    }
}

/// Gives the bookmarks of some tags another tag instead: renames one, or merges several.
#[derive(Debug)]
pub struct MergeTags {
    names: Vec<String>,
    into: String,
}

request! {
    /// Tags that become one.
    pub struct MergeTagsRequest {
        /// The tags. Those that no bookmark has are left out.
        pub names: List<TagName, 1, 100>,
        /// The name of the tag that replaces them. It may be one of them, or another tag that exists.
        pub into: TagName,
    }
}

impl FromRequest for MergeTags {
    type Request = MergeTagsRequest;

    fn from_request(_: &Target, request: MergeTagsRequest) -> Result<Self, Error> {
        let names = request.names.map(|name| normalize_tag(name.as_str()));
        Ok(Self { names, into: normalize_tag(request.into.as_str()) })
    }
}

/// What was changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTagsResponse {
    /// Number of bookmarks whose tags are different than before, deleted ones included; one with several of the tags counts several times.
    pub changed: usize,
    /// How the change is undone; null if nothing was changed.
    pub undo: Option<UndoToken>,
}

impl Operation for MergeTags {
    type Reply = ChangeTagsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ChangeTagsResponse, Error> {
        let Self { names, into } = self;
        let changes = |name: &String| {
            let (add, remove) =
                (BookmarkChange::AddTag(into.clone()), BookmarkChange::RemoveTag(name.clone()));
            vec![add, remove]
        };
        change_tags(caller, ctx, names.iter().filter(|name| **name != into), changes).await
    }
}

/// Removes tags from all bookmarks; the bookmarks stay.
#[derive(Debug)]
pub struct DeleteTags(Vec<String>);

request! {
    /// Tags that are removed.
    pub struct DeleteTagsRequest {
        /// The tags. Those that no bookmark has are left out.
        pub names: List<TagName, 1, 100>,
    }
}

impl FromRequest for DeleteTags {
    type Request = DeleteTagsRequest;

    fn from_request(_: &Target, request: DeleteTagsRequest) -> Result<Self, Error> {
        Ok(Self(request.names.map(|name| normalize_tag(name.as_str()))))
    }
}

impl Operation for DeleteTags {
    type Reply = ChangeTagsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ChangeTagsResponse, Error> {
        let changes = |name: &String| vec![BookmarkChange::RemoveTag(name.clone())];
        change_tags(caller, ctx, self.0.iter(), changes).await
    }
}

/// Changes the bookmarks of each tag, deleted ones too, so that restoring one does not bring an old name back.
async fn change_tags(
    caller: &Caller,
    ctx: &OperationContext,
    names: impl Iterator<Item = &String>,
    changes: impl Fn(&String) -> Vec<BookmarkChange>,
) -> Result<ChangeTagsResponse, Error> {
    let _permit = ctx.user_slots.batches.acquire(caller.user).await?;
    let mut parts = Vec::new();
    for name in names {
        let ids = find_tagged(ctx.core.db.read(), caller.user, name).await?;
        parts.push(ChangePart { ids, changes: changes(name) });
    }
    let done = ManyChanges { parts, with_deleted: true }.run(caller, ctx).await?;
    Ok(ChangeTagsResponse { changed: done.changed, undo: done.undo })
}

/// Returns the bookmarks with a tag, deleted ones too.
async fn find_tagged(db: &impl ConnectionTrait, user: UserId, name: &str) -> Result<Vec<BookmarkId>, Error> {
    let tagged = bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::Name.eq(name))
        // All values, as an index has the bookmarks of a tag.
        .filter(bookmark_tag::Column::Flags.is_in(bookmark::ALL_FLAGS))
        .select_only()
        .column(bookmark_tag::Column::BookmarkId);
    Ok(tagged.into_tuple().all(db).await?)
}
