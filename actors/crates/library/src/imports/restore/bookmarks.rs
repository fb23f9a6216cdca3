//! Bookmarks, of pages and uploads, and what was marked in them.

use entity::id::{BookmarkId, DocumentId, HighlightId, UploadId};
use entity::kind::{BookmarkKind, ImportedKind};
use entity::time::Timestamp;
use entity::{bookmark, document, highlight, note, upload};
use parse::archive::{BookmarkRecord, DocumentRecord, FileRecord, HighlightRecord};
use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect,
};
use serde_json::json;
use web::PageUrl;

use super::super::additions::add_to_bookmark;
use super::super::line;
use super::super::pages::known_page;
use super::super::row_trace::RowTrace;
use super::super::take::{Became, Taking};
use super::files::Brought;
use super::{UNKNOWN, WORDS, lost, texts};
use errors::Error;
use crate::highlights::{self, Place};
use jobs::{Priority, JobKind};
use crate::bookmarks::save::{self, NewBookmark};
use actors::operations::highlights::{Marked, must_stand};
use actors::operations::notes;
use crate::uploads::MediaType;
use crate::stored_files::{self, Owner};

/// Characters of a colour's name.
const COLOR: usize = 50;

/// A saved page or upload.
pub async fn bookmark(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    mut given: BookmarkRecord,
    file: Option<Brought>,
    now: Timestamp,
) -> Result<Became, Error> {
    let mut new = match read(taking, &given) {
        Ok(new) => new,
        Err(why) => return Ok(Became::Passed(why)),
    };
    for old in std::mem::take(&mut given.collections) {
        new.collections.extend(taking.collection_of(txn, old).await?);
    }
    let (text, upload) = (given.text.take(), given.file.take());
    let became = match upload {
        Some(said) => uploaded(taking, txn, new, said, file, text, now).await?,
        None => page(taking, txn, new, text, now).await?,
    };
    if let (Became::Created(_, id, _), Some(at)) = (&became, given.notes_created_at) {
        let own = note::Entity::owned_by(taking.import().user_id).filter(note::Column::BookmarkId.eq(*id));
        if let Some(note) = own.one(txn).await? {
            notes::was_made(txn, &note, at, given.notes_updated_at.unwrap_or(at)).await?;
        }
    }
    Ok(became)
}

/// What a bookmark has beside its text, by the rules of every save; or why it is passed over. What comes whole is never
/// fetched, so its address may lead anywhere.
pub(super) fn read(taking: &Taking, given: &BookmarkRecord) -> Result<NewBookmark, String> {
    if !(0.0..=1.0).contains(&given.progress) {
        return Err(UNKNOWN.to_owned());
    }
    let whole = given.file.is_some() || given.text.as_ref().is_some_and(texts::is_whole);
    let fields = json!({
        "url": given.url, "tags": given.tags, "favorite": given.favorite, "archived": given.archived,
        "savedAt": given.saved_at, "notes": given.notes,
    });
    let fields = fields.as_object().cloned().unwrap_or_default();
    let new = if whole { line::read_whole(fields) } else { line::read(fields, &taking.means().guard) }?;
    Ok(NewBookmark { progress: given.progress, ..new })
}

async fn page(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    mut new: NewBookmark,
    text: Option<DocumentRecord>,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = taking.import().user_id;
    new.title = text.as_ref().filter(|text| text.title_given).map(|text| text.title.clone());
    let (became, made) = known_page(taking, txn, new, now).await?;
    let Some(row) = made else { return Ok(became) };
    let document = document::Entity::one_of(user, row.document_id).one(txn).await?;
    // A document with a text is that of a feed's entry, which was there.
    if let (Some(document), Some(text)) = (document.filter(|document| document.version == 0), text) {
        let document = texts::told(document, &text);
        document::Entity::update(document.clone().into_active_model().reset_all()).exec(txn).await?;
        if texts::put(txn, &document, text, now).await? {
            jobs::withdraw(txn, user, JobKind::Page, document.id.0).await?;
        }
    }
    Ok(became)
}

/// An upload, whose file was brought; one of the same bytes gets what it lacks.
///
/// # Errors
/// The database.
pub async fn uploaded(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    new: NewBookmark,
    said: FileRecord,
    file: Option<Brought>,
    text: Option<DocumentRecord>,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = taking.import().user_id;
    let (held, sum) = match file {
        Some(Brought::Here(held, sum)) => (held, sum),
        Some(Brought::Refused(refusal)) => return Ok(refusal.outcome()),
        None => return Ok(lost()),
    };
    if let Some(there) = same_file(taking, txn, &sum).await? {
        return add_to_bookmark(taking, txn, there, &new, now).await;
    }
    let text = match text {
        Some(text) => text,
        None => match MediaType::parse(&said.content_type).and_then(|said| said.content_type()) {
            Some(kind) => DocumentRecord::unread(kind, said.filename.clone(), false),
            None => return Ok(Became::Passed(UNKNOWN.to_owned())),
        },
    };
    let (id, upload) = (BookmarkId::new(now), UploadId::new(now));
    let awaited = document::Model::pending(user, text.content_type, text.title.clone(), now);
    let document = texts::told(document::Model { bookmark_id: Some(id), ..awaited }, &text);
    let url = taking.means().core.url_of(&document);
    let row = bookmark::Model {
        id,
        user_id: user,
        document_id: document.id,
        kind: BookmarkKind::Upload,
        normalized_url: PageUrl::parse(&url).map_err(Error::internal)?.normalized(),
        url,
        favorite: new.favorite,
        archived: new.archived,
        progress: new.progress,
        saved_at: new.saved_at.unwrap_or(now),
        created_at: now,
        updated_at: now,
        deleted_at: None,
    };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    bookmark::Entity::insert(row.clone().into_active_model()).exec_without_returning(txn).await?;
    let done = upload_row(&row, upload, said, sum, now);
    upload::Entity::insert(done.into_active_model()).exec_without_returning(txn).await?;
    if !stored::give(txn, held.id, Owner::Upload(upload)).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    save::complete(txn, &row, &document, new, Priority::Backlog, now).await?;
    if !texts::put(txn, &document, text, now).await? {
        jobs::enqueue(txn, user, JobKind::File, document.id.0, Priority::Backlog, now).await?;
    }
    Ok(Became::of(ImportedKind::Bookmark, row.id.0, true))
}

fn upload_row(
    row: &bookmark::Model,
    id: UploadId,
    said: FileRecord,
    sum: String,
    now: Timestamp,
) -> upload::Model {
    upload::Model {
        id,
        user_id: row.user_id,
        filename: text::cut(&said.filename, super::NAME),
        content_type: said.content_type,
        bytes: i64::try_from(said.bytes).unwrap_or(i64::MAX),
        created_at: now,
        expires_at: now,
        receiving_until: Timestamp::from_millis(0),
        arrived_at: Some(now),
        sha256: Some(sum),
        completed_at: Some(now),
        document_id: Some(row.document_id),
        bookmark_id: Some(row.id),
    }
}

/// The bookmark of an upload with the same bytes, where no other line is that already: two of one file stay two.
pub async fn same_file(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    sum: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let user = taking.import().user_id;
    let same = upload::Entity::owned_by(user)
        .filter(upload::Column::Sha256.eq(sum))
        .filter(upload::Column::CompletedAt.is_not_null());
    for upload in same.order_by_asc(upload::Column::Id).all(txn).await? {
        let Some(id) = upload.bookmark_id else { continue };
        let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { continue };
        if !taking.is_some_lines(txn, ImportedKind::Bookmark, id.0).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// A marked part of a bookmark's document.
pub async fn highlight(
    taking: &mut Taking,
    txn: &impl ConnectionTrait,
    given: HighlightRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = taking.import().user_id;
    let Some(id) = taking.became_a(txn, ImportedKind::Bookmark, given.bookmark).await?.map(BookmarkId) else {
        return Ok(lost());
    };
    if !is_marked(&given) {
        return Ok(Became::Passed(UNKNOWN.to_owned()));
    }
    // Held, so that nobody marks or deletes the same meanwhile.
    let held = bookmark::Entity::one_of(user, id).lock(LockType::NoKeyUpdate);
    let Some(saved) = held.one(txn).await? else { return Ok(lost()) };
    let given = in_place(txn, &saved, given).await?;
    if let Some(there) = same_highlight(taking, txn, id, &given).await? {
        return Ok(Became::of(ImportedKind::Highlight, there.id.0, false));
    }
    let row = highlight::Model {
        id: HighlightId::new(given.created_at),
        user_id: user,
        bookmark_id: id,
        text: text::cut(&given.text, WORDS),
        note: given.note.map(|note| text::cut(&note, WORDS)),
        color: given.color.map(|color| text::cut(&color, COLOR)),
        start_offset: given.start_offset,
        end_offset: given.end_offset,
        created_at: given.created_at,
    };
    let made = row.id.0;
    let is_own = taking.extend(txn, id).await?;
    highlight::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    if !is_own {
        save::touch(txn, saved, now).await?;
    }
    Ok(Became::Created(ImportedKind::Highlight, made, RowTrace::addition(!is_own)))
}

/// Whether words are marked at all, at a place or, where none was found for them, at none.
pub(super) fn is_marked(given: &HighlightRecord) -> bool {
    let placed = given.start_offset >= 0 && given.end_offset > given.start_offset;
    !given.text.is_empty() && (placed || (given.start_offset, given.end_offset) == (0, 0))
}

/// The highlight where its words stand in the text: it may be another text than the one in which they were marked. Words
/// that are gone are marked where they were.
pub(super) async fn in_place(
    db: &impl ConnectionTrait,
    saved: &bookmark::Model,
    given: HighlightRecord,
) -> Result<HighlightRecord, Error> {
    let (user, id) = (saved.user_id, saved.document_id);
    let marked = Marked { text: &given.text, start: given.start_offset, end: given.end_offset };
    match must_stand(db, user, saved, marked).await {
        Ok(()) => return Ok(given),
        Err(Error::Invalid(_)) => {}
        // Somebody deleted it meanwhile.
        Err(Error::NotFound(_)) => return Ok(given),
        Err(error) => return Err(error),
    }
    let Some(document) = document::Entity::one_of(user, id).one(db).await? else { return Ok(given) };
    let text = marks::text_of(db, &document).await?;
    Ok(match marks::place(&text, &given.text, given.start_offset) {
        Some(Place { start, end, words }) => {
            HighlightRecord { start_offset: start, end_offset: end, text: words, ..given }
        }
        None => given,
    })
}

/// What is marked at the same place of a bookmark, or the same at no place, where no other line is that already.
pub(super) async fn same_highlight(
    taking: &Taking,
    db: &impl ConnectionTrait,
    bookmark: BookmarkId,
    given: &HighlightRecord,
) -> Result<Option<highlight::Model>, Error> {
    let there = highlight::Entity::owned_by(taking.import().user_id)
        .filter(highlight::Column::BookmarkId.eq(bookmark))
        .filter(highlight::Column::StartOffset.eq(given.start_offset))
        .filter(highlight::Column::EndOffset.eq(given.end_offset))
        .order_by_asc(highlight::Column::Id);
    let there = there.all(db).await?.into_iter();
    for row in there.filter(|row| given.end_offset > 0 || row.text == given.text) {
        if !taking.is_some_lines(db, ImportedKind::Highlight, row.id.0).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// The document of a bookmark that was taken in.
pub async fn document_of(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    id: BookmarkId,
) -> Result<Option<DocumentId>, Error> {
    let row = bookmark::Entity::one_of(taking.import().user_id, id).one(txn).await?;
    Ok(row.map(|row| row.document_id))
}
