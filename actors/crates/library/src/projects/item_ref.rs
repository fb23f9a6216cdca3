//! What can be an item of a project, and how a request names it (contract.md, section 5: POST /projects/:id/items).
//!
//! One object is one item whatever names it: a bookmark, its URL and the feed entry that it was share one document. A highlight is
//! a separate object.

use entity::{bookmark, document, entry, highlight, note};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, QuerySelect};
use uuid::Uuid;
use values::id::{BookmarkId, DocumentId, EntryId, HighlightId, NoteId, UserId};
use values::kind::{ItemKind, ItemRole};

use errors::Error;

/// Other transactions may change the row until this one ends, but not delete it.
const KEEP_ROW: LockType = LockType::KeyShare;

/// The object that a new item names.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemRef {
    /// A bookmark of the user, which must not be deleted.
    Bookmark(BookmarkId),
    /// A highlight, which is a separate item from its bookmark.
    Highlight(HighlightId),
    /// A note on a bookmark, or a note of any project.
    Note(NoteId),
    /// An entry of a feed that the user follows.
    Entry(EntryId),
    /// A URL, which the caller must save as a bookmark first.
    Url(String),
}

/// An item to be added to a project.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// The object, as the request named it.
    pub item: ItemRef,
    /// Role of the item in the project.
    pub role: ItemRole,
}

/// An existing object of the user that can be added to a project.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResolvedItem {
    /// The kind of object that named it.
    pub kind: ItemKind,
    /// The document with its text.
    pub document: DocumentId,
    /// The highlight, if it is one.
    pub highlight: Option<HighlightId>,
    /// Role of the item in the project.
    pub role: ItemRole,
}

impl ResolvedItem {
    /// Returns the id that is unique within a project: the highlight's, or else the document's.
    pub fn object_id(&self) -> Uuid {
        // Several highlights of one document are several items, while bookmark, entry and URL of one document are one.
        self.highlight.map_or(self.document.0, |highlight| highlight.0)
    }

    /// Makes an item of the bookmark with a URL; `is_new` tells that the request saved it.
    pub fn from_bookmark(row: &bookmark::Model, is_new: bool, role: ItemRole) -> Self {
        let kind = if is_new { ItemKind::Url } else { ItemKind::Bookmark };
        Self { kind, document: row.document_id, highlight: None, role }
    }
}

/// Looks up the object that a new item names; `None` for a URL. An object that can be deleted for good at any time is locked
/// against that until the transaction ends.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist, is hidden, or belongs to another user.
pub async fn resolve_item(
    db: &impl ConnectionTrait,
    user: UserId,
    new: &NewItem,
) -> Result<Option<ResolvedItem>, Error> {
    let (kind, document, highlight) = match new.item {
        ItemRef::Bookmark(id) => (ItemKind::Bookmark, document_of_bookmark(db, user, id).await?, None),
        ItemRef::Highlight(id) => {
            // Highlights are deleted for good at once, unlike bookmarks.
            let row =
                highlight::Entity::one_of(user, id).lock(KEEP_ROW).one(db).await?.ok_or(Error::not_found())?;
            (ItemKind::Highlight, document_of_bookmark(db, user, row.bookmark_id).await?, Some(id))
        }
        ItemRef::Note(id) => {
            let row = note::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
            (ItemKind::Note, lock_document(db, user, row.document_id).await?, None)
        }
        ItemRef::Entry(id) => {
            let row = entry::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
            (ItemKind::Entry, lock_document(db, user, row.document_id).await?, None)
        }
        ItemRef::Url(_) => return Ok(None),
    };
    Ok(Some(ResolvedItem { kind, document, highlight, role: new.role }))
}

/// Not locked: a deleted bookmark is only hidden, and its row stays for longer than a transaction.
async fn document_of_bookmark(
    db: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
) -> Result<DocumentId, Error> {
    Ok(bookmark::Entity::one_visible_to(user, id).one(db).await?.ok_or(Error::not_found())?.document_id)
}

async fn lock_document(db: &impl ConnectionTrait, user: UserId, id: DocumentId) -> Result<DocumentId, Error> {
    let document = document::Entity::one_visible_to(user, id).lock(KEEP_ROW).one(db).await?;
    Ok(document.ok_or(Error::not_found())?.id)
}
