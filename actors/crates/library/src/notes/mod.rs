//! Notes: a user's own text on a bookmark (one note each) or in a project. Each has a document, so it is searched and cited like
//! any other text (contract.md, section 11).

mod body;
mod on_bookmark;
mod owner;

use entity::{document, note, project};
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::{NoteId, UserId};
use values::kind::ContentType;
use values::time::Timestamp;

use crate::documents::{ChunkedDocument, replace_text, unindexed_since};
use errors::Error;
use jobs::{JobKind, Priority};

pub use body::{MAX_BODY_CHARS, chunk_body_in_worker, derive_title};
pub use on_bookmark::{
    NewBookmarkNote, document_on_bookmark, insert_on_new_bookmarks, lock_on_bookmark, write_on_bookmark,
};
pub use owner::{LockedNote, NoteOwner, delete, lock_for_change};

/// A note to be added to a project.
#[derive(Clone, Debug)]
pub struct NewNote {
    /// Title, as it is listed and searched.
    pub title: String,
    /// Text as Markdown, at most [`MAX_BODY_CHARS`] characters.
    pub body: String,
    /// Whether the note is listed first and given to assistants.
    pub pinned: bool,
}

/// Adds a note to a project that the transaction has locked ([`crate::projects::lock_active`]). `text` is the result of
/// [`ChunkedDocument::of_input`] for the body of the note.
pub async fn add_to_project(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    new: NewNote,
    text: ChunkedDocument,
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
    replace_text(txn, &document, text, priority, now).await?;
    Ok(note)
}

/// Sets when an imported note was written and changed.
pub async fn set_times(
    txn: &impl ConnectionTrait,
    note: &note::Model,
    created_at: Timestamp,
    updated_at: Timestamp,
) -> Result<(), Error> {
    note::Entity::update_owned(note.user_id)
        .col_expr(note::Column::CreatedAt, Expr::value(created_at))
        .col_expr(note::Column::UpdatedAt, Expr::value(updated_at))
        .filter(note::Column::Id.eq(note.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Replaces the body of a note; `text` is the result of [`ChunkedDocument::of_input`] for the new body.
///
/// # Errors
/// [`Error::NotFound`] when its document is gone.
pub async fn rewrite(
    txn: &impl ConnectionTrait,
    note: note::Model,
    body: String,
    text: ChunkedDocument,
    priority: Priority,
    now: Timestamp,
) -> Result<note::Model, Error> {
    // Hidden documents too: the notes of a deleted bookmark are hidden with it.
    let own = document::Entity::with_hidden(note.user_id).filter(document::Column::Id.eq(note.document_id));
    let document = own.one(txn).await?.ok_or(Error::not_found())?;
    let mut changed = note.into_active_model();
    changed.body = Set(body);
    changed.updated_at = Set(now);
    let note = note::Entity::update_owned_row(txn, document.user_id, changed).await?;
    replace_text(txn, &document, text, priority, now).await?;
    Ok(note)
}

/// Changes the title of a note. Search finds passages by the title too, so the document is indexed again.
pub async fn retitle(
    txn: &impl ConnectionTrait,
    row: note::Model,
    title: String,
    now: Timestamp,
) -> Result<note::Model, Error> {
    let user = row.user_id;
    document::Entity::update_owned(user)
        .col_expr(document::Column::Title, Expr::value(title.clone()))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, user, JobKind::Index, row.document_id.0, Priority::Now, now).await?;
    let mut changed = row.into_active_model();
    changed.title = Set(title);
    changed.updated_at = Set(now);
    Ok(note::Entity::update_owned_row(txn, user, changed).await?)
}

fn empty_document(user: UserId, title: String, now: Timestamp) -> document::Model {
    // A given title, so that no title is extracted from the body in its place.
    document::Model { has_user_title: true, ..document::Model::pending(user, ContentType::Note, title, now) }
}
