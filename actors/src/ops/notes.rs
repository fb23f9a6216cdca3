//! Notes: a text of the person's own is a document too, so it is found and cited like any other (contract.md, section 11).

use entity::id::{DocumentId, NoteId};
use entity::kind::{ContentType, DocumentStatus};
use entity::time::Timestamp;
use entity::{bookmark, document, note};
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel,
    QueryFilter,
};

use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::ingest::{Split, Text, put_text};
use crate::text;

/// Writes the notes on a bookmark: one note, whose document is found by itself. An empty text empties it.
pub async fn write_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    body: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let there =
        note::Entity::owned_by(row.user_id).filter(note::Column::BookmarkId.eq(row.id)).one(txn).await?;
    let document = match &there {
        Some(note) if note.body == body => return Ok(()),
        Some(note) => document::Entity::of(row.user_id)
            .filter(document::Column::Id.eq(note.document_id))
            .one(txn)
            .await?
            .ok_or(Error::NotFound)?,
        None if body.is_empty() => return Ok(()),
        None => insert_document(txn, row, now).await?,
    };
    match there {
        Some(note) => {
            let mut changed = note.into_active_model();
            changed.body = Set(body.to_owned());
            changed.updated_at = Set(now);
            changed.update(txn).await?;
        }
        None => insert_note(txn, row, document.id, body, now).await?,
    }
    let split = Split::of(Text { text: text::clean(body), ..Text::default() });
    put_text(txn, &document, split, Priority::Now, now).await
}

async fn insert_document(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<document::Model, Error> {
    let page =
        document::Entity::of(row.user_id).filter(document::Column::Id.eq(row.document_id)).one(txn).await?;
    let document = document::Model {
        id: DocumentId::new(now),
        user_id: row.user_id,
        content_type: ContentType::Note,
        bookmark_id: Some(row.id),
        entry_id: None,
        feed_id: None,
        project_id: None,
        url: None,
        title: page.map(|page| page.title).unwrap_or_default(),
        title_given: true,
        author: None,
        site_name: None,
        description: None,
        image_url: None,
        language: None,
        total_chars: 0,
        word_count: None,
        version: 0,
        indexed_version: 0,
        vectors_of: None,
        status: DocumentStatus::Processing,
        error: None,
        hidden_at: None,
        created_at: now,
        updated_at: now,
    };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(document)
}

async fn insert_note(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    document: DocumentId,
    body: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let note = note::Model {
        id: NoteId::new(now),
        user_id: row.user_id,
        document_id: document,
        bookmark_id: Some(row.id),
        project_id: None,
        title: String::new(),
        body: body.to_owned(),
        pinned: false,
        created_at: now,
        updated_at: now,
    };
    note::Entity::insert(note.into_active_model()).exec_without_returning(txn).await?;
    Ok(())
}
