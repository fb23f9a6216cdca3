//! Lists, changes and removes the items of a project (contract.md, sections 5 and 9).

use std::collections::HashMap;

use entity::project_item::{Column, Entity, Model};
use entity::{document, note, project};
use schemars::JsonSchema;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QueryOrder};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, EntryId, HighlightId, NoteId, ProjectId, ProjectItemId, UserId};
use values::kind::{ItemKind, ItemRole};
use values::scope::Scope;

use super::DEFAULT_LIMIT;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use library::owned_transaction::begin_request;
use library::projects;
use validation::{Choice, Flag, NoFields, request};

/// An item (contract.md, section 5).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemView {
    /// Id of the item, by which it is changed and removed.
    pub item_id: ProjectItemId,
    /// What was named when the item was added.
    pub kind: ItemKind,
    /// The bookmark of the document; null if it has none.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry of the document; null if it has none.
    pub entry_id: Option<EntryId>,
    /// The highlight; null for other kinds.
    pub highlight_id: Option<HighlightId>,
    /// The note; null for other kinds.
    pub note_id: Option<NoteId>,
    /// The document with the text; for a highlight the document that contains it.
    pub document_id: DocumentId,
    /// Title of the page, file, entry or note.
    pub title: String,
    /// URL of the page or file; for uploads and notes their page in the web app.
    pub url: String,
    /// `source` if the project is about the item, or `background`.
    pub role: ItemRole,
    /// Whether the item is listed first, and left out last when a context is too long.
    pub pinned: bool,
}

/// Returns the views of items of one user in their order, with at most two queries.
pub async fn views(
    core: &CoreContext,
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<Model>,
) -> Result<Vec<ItemView>, Error> {
    let documents = documents(db, user, &rows).await?;
    let notes = note_ids(db, user, &rows).await?;
    let views = rows.into_iter().filter_map(|row| {
        // An item whose document is hidden is kept for when its bookmark is restored, but not shown.
        let document = documents.get(&row.document_id)?;
        Some(ItemView {
            item_id: row.id,
            kind: row.kind,
            bookmark_id: document.bookmark_id,
            entry_id: document.entry_id,
            highlight_id: row.highlight_id,
            note_id: notes.get(&row.document_id).copied(),
            document_id: document.id,
            title: document.title.clone(),
            url: core.url_of(document),
            role: row.role,
            pinned: row.pinned,
        })
    });
    Ok(views.collect())
}

/// Returns the ids of the notes among items, by their documents.
async fn note_ids(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: &[Model],
) -> Result<HashMap<DocumentId, NoteId>, Error> {
    let of_notes = rows.iter().filter(|row| row.kind == ItemKind::Note);
    let of_notes: Vec<DocumentId> = of_notes.map(|row| row.document_id).collect();
    if of_notes.is_empty() {
        return Ok(HashMap::new());
    }
    let notes = note::Entity::owned_by(user).filter(note::Column::DocumentId.is_in(of_notes));
    Ok(notes.all(db).await?.into_iter().map(|note| (note.document_id, note.id)).collect())
}

/// Returns the visible documents of items, by their id.
pub async fn documents(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: &[Model],
) -> Result<HashMap<DocumentId, document::Model>, Error> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let of_items = document::Column::Id.is_in(rows.iter().map(|row| row.document_id));
    let found = document::Entity::visible_to(user).filter(of_items).all(db).await?;
    Ok(found.into_iter().map(|document| (document.id, document)).collect())
}

/// A page of a project's items.
#[derive(Debug)]
pub struct ListItems {
    project: ProjectId,
    page: PageRequest,
}

request! {
    /// A page of the items of a project.
    pub struct ListItemsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of results. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListItems {
    type Request = ListItemsRequest;

    fn from_request(target: &Target, request: ListItemsRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { project: target.id(0)?, page })
    }
}

/// A page of a project's items, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListItemsResponse {
    /// The items of the page.
    pub items: Vec<ItemView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListItems {
    type Reply = ListItemsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListItemsResponse, Error> {
        let db = ctx.core.db.read();
        let project = projects::find(db, caller.user, self.project).await?;
        let list = self.page.of_list(ctx, caller, ListName::selected_by("items", project.id));
        let after: Option<ProjectItemId> = list.position()?;
        let mut query = Entity::within(&project).order_by_desc(Column::Id);
        if let Some(after) = after {
            query = query.filter(Column::Id.lt(after));
        }
        let ListPage { rows, next_cursor } = list.fetch(query, |row| row.id).await?;
        Ok(ListItemsResponse { items: views(&ctx.core, db, caller.user, rows).await?, next_cursor })
    }
}

/// An item of a project, as the path names it.
#[derive(Debug)]
struct ItemPath {
    project: ProjectId,
    item: ProjectItemId,
}

impl ItemPath {
    fn from_target(target: &Target) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, item: target.id(1)? })
    }

    /// Locks the project for a change and returns it with the item.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown project or item; [`Error::ProjectArchived`].
    async fn lock(&self, txn: &impl ConnectionTrait, user: UserId) -> Result<(project::Model, Model), Error> {
        let project = projects::lock(txn, user, self.project).await?;
        let found = Entity::within(&project).filter(Column::Id.eq(self.item)).one(txn).await?;
        // 404 before 409, also in an archived project (contract.md, section 2: order of checks).
        let item = found.ok_or(Error::not_found())?;
        Ok((projects::require_active(project)?, item))
    }
}

/// Changes the given fields of an item; `None` keeps a field.
#[derive(Debug)]
pub struct ChangeItem {
    path: ItemPath,
    role: Option<ItemRole>,
    pinned: Option<bool>,
}

request! {
    /// The changes of an item of a project.
    pub struct ChangeItemRequest {
        /// `source` if the project is about the item, or `background`.
        pub role?: Choice<ItemRole>,
        /// Whether the item is listed first, and left out last when a context is too long.
        pub pinned?: Flag,
    }
}

impl FromRequest for ChangeItem {
    type Request = ChangeItemRequest;

    fn from_request(target: &Target, request: ChangeItemRequest) -> Result<Self, Error> {
        Ok(Self {
            path: ItemPath::from_target(target)?,
            role: request.role.map(Choice::into_inner),
            pinned: request.pinned.map(Flag::into_inner),
        })
    }
}

/// An item of a project, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemResponse {
    /// The item after the request.
    pub item: ItemView,
}

impl Operation for ChangeItem {
    type Reply = ItemResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ItemResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (project, row) = self.path.lock(&txn, caller.user).await?;
        let changed = Model {
            role: self.role.unwrap_or(row.role),
            pinned: self.pinned.unwrap_or(row.pinned),
            ..row.clone()
        };
        if changed != row {
            let update = changed.clone().into_active_model().reset_all();
            Entity::update_owned_row(&txn, caller.user, update).await?;
            projects::touch(&txn, &project, ctx.core.clock.now()).await?;
        }
        let item =
            views(&ctx.core, &txn, caller.user, vec![changed]).await?.pop().ok_or(Error::not_found())?;
        txn.commit().await?;
        Ok(ItemResponse { item })
    }
}

/// The item to remove from the project. It stays in the library.
#[derive(Debug)]
pub struct RemoveItem(ItemPath);

impl FromRequest for RemoveItem {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        ItemPath::from_target(target).map(Self)
    }
}

/// The item was removed from the project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoveItemResponse {}

impl Operation for RemoveItem {
    type Reply = RemoveItemResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RemoveItemResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (project, row) = self.0.lock(&txn, caller.user).await?;
        Entity::delete_owned_row(&txn, caller.user, row).await?;
        projects::touch(&txn, &project, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(RemoveItemResponse {})
    }
}
