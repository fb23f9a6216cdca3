//! Lists the highlights of all documents of a user, filtered.

use std::collections::HashSet;

use database::{compare_rows, padded};
use entity::{account_count, bookmark, bookmark_tag, document, highlight};
use schemars::JsonSchema;
use sea_orm::sea_query::{BinOper, Expr};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, HighlightId, UserId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::field_types::ColorName;
use super::with_documents::{HighlightOfDocument, bookmark_ids, with_documents};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest, PagedList};
use crate::target::Target;
use errors::Error;
use library::bookmarks::{TagName, normalize_tag};
use validation::{DisplayName, Flag, Id, request};

const DEFAULT_LIMIT: u64 = 50;
/// Highlights that are read at once to find those that match a filter.
const BATCH_ROWS: u64 = 200;
/// Highlights that one request looks at. If too few of them match, the page is shorter and has a cursor.
const MAX_SCANNED_ROWS: u64 = 5_000;

/// The conditions that a highlight meets. Without any, all do.
#[derive(Clone, Debug, Default)]
pub struct HighlightFilter {
    /// It has one of these colours, if there are any.
    pub colors: Vec<String>,
    /// Whether it has a note.
    pub has_note: Option<bool>,
    /// Its bookmark has this tag.
    pub tag: Option<String>,
    /// It is in this document. The list is in the order of the text then.
    pub document: Option<DocumentId>,
    /// Its words are not in the current text.
    pub is_lost: bool,
}

/// Lists the highlights of all documents that match all filters, newest first.
#[derive(Debug)]
pub struct ListAllHighlights {
    filter: HighlightFilter,
    page: PageRequest,
}

request! {
    /// A page of the highlights that match all filters.
    pub struct ListAllHighlightsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of highlights. Default 50.
        pub limit?: PageLimit,
        /// Returns highlights of this colour.
        pub color?: ColorName,
        /// Returns highlights with a note (`true`) or without one (`false`).
        pub note?: Flag,
        /// Returns highlights in bookmarks with this tag.
        pub tag?: TagName,
        /// Returns highlights in this document, in the order of the text.
        pub document_id?: Id<DocumentId>,
        /// With `true`, returns highlights whose words are not in the current text.
        pub lost?: Flag,
    }
}

impl FromRequest for ListAllHighlights {
    type Request = ListAllHighlightsRequest;

    fn from_request(_: &Target, request: ListAllHighlightsRequest) -> Result<Self, Error> {
        let filter = HighlightFilter {
            colors: request.color.map(DisplayName::into_inner).into_iter().collect(),
            has_note: request.note.map(Flag::into_inner),
            tag: request.tag.map(|tag| normalize_tag(tag.as_str())),
            document: request.document_id.map(Id::into_inner),
            is_lost: request.lost.is_some_and(Flag::into_inner),
        };
        Ok(Self { filter, page: PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT) })
    }
}

impl ListAllHighlights {
    /// Makes the operation for a page of the highlights that match a filter.
    pub fn filtered(filter: HighlightFilter, limit: u64, cursor: Option<String>) -> Self {
        Self { filter, page: PageRequest::of_page(limit, cursor) }
    }
}

/// A page of highlights, newest first; of one document in the order of the text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListAllHighlightsResponse {
    /// The highlights. A page may have fewer than `limit`, even none, and a `nextCursor` all the same: filters look at a bounded number.
    pub highlights: Vec<HighlightOfDocument>,
    /// Number of all highlights of the user, whatever the filters.
    pub total: i64,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// The last highlight of a page: its offset, which counts in the list of one document only, and its id.
type HighlightPosition = (i32, HighlightId);

impl Operation for ListAllHighlights {
    type Reply = ListAllHighlightsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &ListAllHighlightsResponse) -> Option<usize> {
        Some(reply.highlights.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListAllHighlightsResponse, Error> {
        let user = caller.user;
        let list = self.page.of_list(ctx, caller, self.filter.list_name());
        let scan = HighlightScan {
            ctx,
            user,
            filter: &self.filter,
            bookmark: self.filter.bookmark(ctx, user).await?,
        };
        let ListPage { rows, next_cursor } = scan.page(&list).await?;
        let highlights = with_documents(ctx, user, rows).await?;
        let counts = account_count::Entity::owned_by(user).one(ctx.core.db.read()).await?;
        let total = counts.map_or(0, |counts| counts.highlights);
        Ok(ListAllHighlightsResponse { highlights, total, next_cursor })
    }
}

impl HighlightFilter {
    fn list_name(&self) -> ListName {
        // Without `..`, so that a filter that is not part of the name does not compile.
        let Self { colors, has_note, tag, document, is_lost } = self;
        let name = ListName::new("allHighlights")
            .with("note", *has_note)
            .with("tag", tag.as_ref())
            .with("documentId", *document)
            .with("lost", is_lost.then_some(true));
        colors.iter().fold(name, |name, color| name.with("color", Some(color)))
    }

    /// Returns the bookmark of the document of the filter.
    async fn bookmark(&self, ctx: &OperationContext, user: UserId) -> Result<Option<BookmarkId>, Error> {
        let Some(id) = self.document else { return Ok(None) };
        let found = document::Entity::one_visible_to(user, id).one(ctx.core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        document.bookmark_id.map(Some).ok_or(Error::not_found())
    }

    /// Returns whether no row of the list is passed over.
    fn takes_all(&self) -> bool {
        self.colors.is_empty() && self.has_note.is_none() && self.tag.is_none()
    }

    fn accepts(&self, row: &highlight::Model) -> bool {
        let has_color = |color: &String| row.color.as_ref() == Some(color);
        let has_note = row.note.as_ref().is_some_and(|note| !note.is_empty());
        (self.colors.is_empty() || self.colors.iter().any(has_color))
            && self.has_note.is_none_or(|wanted| wanted == has_note)
            && (!self.is_lost || row.anchor_state == AnchorState::Lost)
    }
}

/// Reads highlights in the order of the list until there are enough that match.
struct HighlightScan<'a> {
    ctx: &'a OperationContext,
    user: UserId,
    filter: &'a HighlightFilter,
    bookmark: Option<BookmarkId>,
}

impl HighlightScan<'_> {
    async fn page(&self, list: &PagedList<'_>) -> Result<ListPage<highlight::Model>, Error> {
        let mut after: Option<HighlightPosition> = list.position()?;
        let batch = if self.filter.takes_all() { list.fetch_limit() } else { BATCH_ROWS };
        let (mut found, mut scanned) = (Vec::new(), 0);
        let wanted = usize::try_from(list.fetch_limit()).unwrap_or(usize::MAX);
        while found.len() < wanted && scanned < MAX_SCANNED_ROWS {
            let rows = self.select(after).limit(batch).all(self.ctx.core.db.read()).await?;
            let is_last = (rows.len() as u64) < batch;
            scanned += batch;
            after = rows.last().map(position_of).or(after);
            found.extend(self.matching(rows).await?);
            if is_last {
                return Ok(list.page(found, position_of));
            }
        }
        let page = list.page(found, position_of);
        // All that match are on the page; the rest of the list was not looked at.
        let next_cursor = page.next_cursor.or_else(|| after.map(|position| list.seal(&position)));
        Ok(ListPage { next_cursor, ..page })
    }

    fn select(&self, after: Option<HighlightPosition>) -> Select<highlight::Entity> {
        use highlight::Column as C;
        let own = highlight::Entity::owned_by(self.user);
        if let Some(bookmark) = self.bookmark {
            let mut own = own.filter(C::BookmarkId.eq(bookmark));
            if let Some((start, id)) = after {
                let columns = [C::StartOffset.into_expr(), C::Id.into_expr()];
                let last = [Expr::value(start), Expr::value(id)];
                own = own.filter(compare_rows(columns, BinOper::GreaterThan, last));
            }
            return own.order_by_asc(C::StartOffset).order_by_asc(C::Id);
        }
        let own = if self.filter.is_lost { own.filter(is_lost()) } else { own };
        let own = match after {
            Some((_, id)) => own.filter(C::Id.lt(id)),
            None => own,
        };
        own.order_by_desc(C::Id)
    }

    /// Returns the highlights that match, without those of deleted bookmarks.
    async fn matching(&self, rows: Vec<highlight::Model>) -> Result<Vec<highlight::Model>, Error> {
        let rows: Vec<_> = rows.into_iter().filter(|row| self.filter.accepts(row)).collect();
        let ids = bookmark_ids(&rows);
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let db = self.ctx.core.db.read();
        let visible = bookmark::Entity::visible_to(self.user)
            .filter(bookmark::Column::Id.is_in(padded(&ids)))
            .select_only()
            .column(bookmark::Column::Id);
        let mut shown: HashSet<BookmarkId> = visible.into_tuple().all(db).await?.into_iter().collect();
        if let Some(tag) = &self.filter.tag {
            let tagged = bookmark_tag::Entity::owned_by(self.user)
                .filter(bookmark_tag::Column::BookmarkId.is_in(padded(&ids)))
                .filter(bookmark_tag::Column::Name.eq(tag))
                .select_only()
                .column(bookmark_tag::Column::BookmarkId);
            let tagged: HashSet<BookmarkId> = tagged.into_tuple().all(db).await?.into_iter().collect();
            shown.retain(|id| tagged.contains(id));
        }
        Ok(rows.into_iter().filter(|row| shown.contains(&row.bookmark_id)).collect())
    }
}

/// Returns the condition that a highlight is lost, spelled out as in the partial index `highlight_lost`.
pub(super) fn is_lost() -> Expr {
    Expr::cust("highlight.anchor_state = 'lost'")
}

fn position_of(row: &highlight::Model) -> HighlightPosition {
    (row.start_offset, row.id)
}
