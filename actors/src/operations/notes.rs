//! Notes: a text of the person's own is a document too, so it is found and cited like any other (contract.md, section 11).

mod change;
mod create;

use entity::id::{BookmarkId, DocumentId, NoteId, ProjectId, UserId};
use entity::kind::ContentType;
use entity::time::Timestamp;
use entity::{bookmark, document, note, project};
use runtime::Lane;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel,
    QueryFilter, QuerySelect,
};
use serde::Serialize;

use crate::context::OperationContext;
use errors::Error;
use validation::Kind;
use jobs::Priority;
use library::documents::{ChunkedDocument, replace_text};
use crate::ingest::Text;

pub use change::{ChangeNote, DeleteNote, take_back};
pub use create::{CreateNote, CreateNoteResponse, Place, first_line};

/// Characters that a note has at most.
pub const LONGEST: usize = 100_000;
/// What the text of a note may be.
pub const BODY: Kind = Kind::Words { min: 1, max: LONGEST };

/// A note on a bookmark or in a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoteView {
    note_id: NoteId,
    document_id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    project_id: Option<ProjectId>,
    title: String,
    body_md: String,
    pinned: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<note::Model> for NoteView {
    fn from(row: note::Model) -> Self {
        Self {
            note_id: row.id,
            document_id: row.document_id,
            bookmark_id: row.bookmark_id,
            project_id: row.project_id,
            title: row.title,
            body_md: row.body,
            pinned: row.pinned,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A note.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NoteResponse {
    /// The note.
    pub note: NoteView,
}

/// A note to be made.
#[derive(Clone, Debug)]
pub struct NewNote {
    /// Its title.
    pub title: String,
    /// Its text, as Markdown.
    pub body: String,
    /// Shown first, and to assistants.
    pub pinned: bool,
}

/// The passages of a note's text, made off the server's threads.
pub async fn split(ctx: &OperationContext, body: String) -> Result<Split, Error> {
    Ok(ctx.core.workers.run(Lane::Foreground, move || passages(&body)).await?)
}

/// The passages of a note's text.
pub fn passages(body: &str) -> Split {
    Split::of(Text { text: text::normalize_input(body), ..Text::default() })
}

/// Adds a note to a project that is open for writing; `text` is made from its body.
pub async fn add_to_project(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    new: NewNote,
    text: Split,
    priority: Priority,
    now: Timestamp,
) -> Result<note::Model, Error> {
    let empty = empty_document(project.user_id, new.title.clone(), now);
    let document = document::Model { project_id: Some(project.id), ..empty };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    let note = note::Model {
        id: NoteId::new(now),
        user_id: project.user_id,
        document_id: document.id,
        bookmark_id: None,
        project_id: Some(project.id),
        title: new.title,
        body: new.body,
        pinned: new.pinned,
        created_at: now,
        updated_at: now,
    };
    note::Entity::insert(note.clone().into_active_model()).exec_without_returning(txn).await?;
    put_text(txn, &document, text, priority, now).await?;
    Ok(note)
}

/// Gives a note that is taken in the age that it had.
///
/// # Errors
/// The database.
pub async fn was_made(
    txn: &impl ConnectionTrait,
    note: &note::Model,
    at: Timestamp,
    changed: Timestamp,
) -> Result<(), Error> {
    note::Entity::update_many()
        .col_expr(note::Column::CreatedAt, Expr::value(at))
        .col_expr(note::Column::UpdatedAt, Expr::value(changed))
        .filter(note::Column::UserId.eq(note.user_id))
        .filter(note::Column::Id.eq(note.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// The notes on a bookmark, to which nobody else writes until the transaction ends.
///
/// # Errors
/// [`Error::NotFound`] where the bookmark was deleted meanwhile.
async fn locked_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
) -> Result<Option<note::Model>, Error> {
    let held = bookmark::Entity::one_of(row.user_id, row.id).lock_exclusive();
    held.one(txn).await?.ok_or(Error::not_found())?;
    let own = note::Entity::owned_by(row.user_id).filter(note::Column::BookmarkId.eq(row.id));
    Ok(own.one(txn).await?)
}

/// The document with the notes on a bookmark, where there are any.
///
/// # Errors
/// The database fails.
pub async fn document_on(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmark: BookmarkId,
) -> Result<Option<DocumentId>, Error> {
    let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(bookmark)).one(db).await?;
    Ok(note.map(|note| note.document_id))
}

/// Writes the notes on a bookmark: one note, whose document is found by itself. An empty text empties it. The note, where
/// there is one then.
pub async fn write_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    body: &str,
    priority: Priority,
    now: Timestamp,
) -> Result<Option<note::Model>, Error> {
    let note = match locked_on_bookmark(txn, row).await? {
        Some(note) if note.body == body => return Ok(Some(note)),
        Some(note) => note,
        None if body.is_empty() => return Ok(None),
        None => insert_on_bookmark(txn, row, now).await?,
    };
    rewrite(txn, note, body.to_owned(), passages(body), priority, now).await.map(Some)
}

/// Gives a note another text; `text` is made from it.
pub async fn rewrite(
    txn: &impl ConnectionTrait,
    note: note::Model,
    body: String,
    text: Split,
    priority: Priority,
    now: Timestamp,
) -> Result<note::Model, Error> {
    let document = document_of(txn, &note).await?;
    let mut changed = note.into_active_model();
    changed.body = Set(body);
    changed.updated_at = Set(now);
    let note = changed.update(txn).await?;
    put_text(txn, &document, text, priority, now).await?;
    Ok(note)
}

/// The document with a note's text, in sight or not.
async fn document_of(txn: &impl ConnectionTrait, note: &note::Model) -> Result<document::Model, Error> {
    let own = document::Entity::of(note.user_id).filter(document::Column::Id.eq(note.document_id));
    own.one(txn).await?.ok_or(Error::not_found())
}

async fn insert_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<note::Model, Error> {
    let page = document::Entity::of(row.user_id).filter(document::Column::Id.eq(row.document_id));
    let title = page.one(txn).await?.map(|page| page.title).unwrap_or_default();
    let document = document::Model { bookmark_id: Some(row.id), ..empty_document(row.user_id, title, now) };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    let note = note::Model {
        id: NoteId::new(now),
        user_id: row.user_id,
        document_id: document.id,
        bookmark_id: Some(row.id),
        project_id: None,
        title: String::new(),
        body: String::new(),
        pinned: false,
        created_at: now,
        updated_at: now,
    };
    note::Entity::insert(note.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(note)
}

fn empty_document(user: UserId, title: String, now: Timestamp) -> document::Model {
    document::Model { title_given: true, ..document::Model::pending(user, ContentType::Note, title, now) }
}
