//! What may be put into a project, by its five names (contract.md, section 5: POST /projects/:id/items).
//!
//! One thing is one item whatever names it: a bookmark, its address and the feed entry that it was are one document, and
//! a highlight is a thing of its own.

use entity::id::{BookmarkId, DocumentId, EntryId, HighlightId, NoteId, UserId};
use entity::kind::{ItemKind, ItemRole};
use entity::{bookmark, document, entry, highlight, note};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, QuerySelect};
use uuid::Uuid;

use errors::Error;
use validation::{Field, Kind, Values};
use actors::operations::bookmarks::kinds;

/// Others may change the row meanwhile, but not remove it.
const STAYS: LockType = LockType::KeyShare;

/// An item of the body.
pub const ITEM: Kind = Kind::Either {
    one: &[
        Field::optional("bookmarkId", Kind::Id, "A bookmark."),
        Field::optional("highlightId", Kind::Id, "A highlight."),
        Field::optional("noteId", Kind::Id, "A note."),
        Field::optional("entryId", Kind::Id, "An entry of a followed feed."),
        Field::optional("url", kinds::URL, "A URL. It is saved to the library first."),
    ],
    beside: &[Field::optional(
        "role",
        Kind::Choice(ItemRole::NAMES),
        "The item's role in the project. Default `source`.",
    )],
};

/// What an item names.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// A bookmark.
    Bookmark(BookmarkId),
    /// A highlight.
    Highlight(HighlightId),
    /// A note.
    Note(NoteId),
    /// A feed entry.
    Entry(EntryId),
    /// An address.
    Url(String),
}

/// An item as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What it names.
    pub named: Named,
    /// What it is to be to the project.
    pub role: ItemRole,
}

/// What an [`ITEM`] asks for.
pub fn read(mut item: Values) -> Option<Wanted> {
    let role = item.name("role").and_then(|name| name.parse().ok()).unwrap_or(ItemRole::Source);
    let named = [
        item.id("bookmarkId").map(|id| Named::Bookmark(BookmarkId(id))),
        item.id("highlightId").map(|id| Named::Highlight(HighlightId(id))),
        item.id("noteId").map(|id| Named::Note(NoteId(id))),
        item.id("entryId").map(|id| Named::Entry(EntryId(id))),
        item.text("url").map(Named::Url),
    ];
    Some(Wanted { named: named.into_iter().flatten().next()?, role })
}

/// A thing of the user's own that may be put into a project.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// By what it was named.
    pub kind: ItemKind,
    /// The document with its text.
    pub document: DocumentId,
    /// The highlight.
    pub highlight: Option<HighlightId>,
    /// What it is to be to the project.
    pub role: ItemRole,
}

impl Chosen {
    /// What makes it one thing.
    pub fn thing(&self) -> Uuid {
        self.highlight.map_or(self.document.0, |highlight| highlight.0)
    }

    /// A saved page, by what its address was until now.
    pub fn page(row: &bookmark::Model, created: bool, role: ItemRole) -> Self {
        let kind = if created { ItemKind::Url } else { ItemKind::Bookmark };
        Self { kind, document: row.document_id, highlight: None, role }
    }
}

/// The thing that is named by an id; `None` for an address, which has to be saved first. What may go at any time is kept
/// from going until the transaction ends.
///
/// # Errors
/// [`Error::NotFound`] where it is not the user's, or out of sight.
pub async fn find(db: &impl ConnectionTrait, user: UserId, wanted: &Wanted) -> Result<Option<Chosen>, Error> {
    let (kind, document, highlight) = match wanted.named {
        Named::Bookmark(id) => (ItemKind::Bookmark, of_bookmark(db, user, id).await?, None),
        Named::Highlight(id) => {
            let row =
                highlight::Entity::one_of(user, id).lock(STAYS).one(db).await?.ok_or(Error::not_found())?;
            (ItemKind::Highlight, of_bookmark(db, user, row.bookmark_id).await?, Some(id))
        }
        Named::Note(id) => {
            let row = note::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
            let text = document::Entity::one_of(user, row.document_id).lock(STAYS).one(db).await?;
            (ItemKind::Note, text.ok_or(Error::not_found())?.id, None)
        }
        Named::Entry(id) => {
            let row = entry::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?;
            let text = document::Entity::one_of(user, row.document_id).lock(STAYS).one(db).await?;
            (ItemKind::Entry, text.ok_or(Error::not_found())?.id, None)
        }
        Named::Url(_) => return Ok(None),
    };
    Ok(Some(Chosen { kind, document, highlight, role: wanted.role }))
}

async fn of_bookmark(db: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<DocumentId, Error> {
    Ok(bookmark::Entity::one_of(user, id).one(db).await?.ok_or(Error::not_found())?.document_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use errors::Invalid;
    use validation::read_json;

    const ID: &str = "01890000-0000-7000-8000-000000000000";
    const FIELDS: &[Field] = &[Field::required("items", Kind::List { of: &ITEM, min: 1, max: 9 }, "")];

    fn given(items: &str) -> Result<Vec<Wanted>, Invalid> {
        let mut values = read_json(format!(r#"{{"items": {items}}}"#).as_bytes(), FIELDS)?;
        Ok(values.records("items").unwrap().into_iter().filter_map(read).collect())
    }

    #[test]
    fn an_item_names_one_thing_and_is_a_source_unless_it_says_otherwise() {
        let items = given(&format!(
            r#"[{{"noteId": "{ID}"}}, {{"url": "https://a.example", "role": "background", "entryId": null}}]"#
        ));

        let note = Wanted { named: Named::Note(ID.parse().unwrap()), role: ItemRole::Source };
        let url = Wanted { named: Named::Url("https://a.example".into()), role: ItemRole::Background };
        assert_eq!(items.unwrap(), [note, url]);
    }

    #[test]
    fn every_item_that_names_none_or_two_is_a_fault() {
        let faulty = given(&format!(
            r#"[{{}}, {{"noteId": "{ID}"}}, {{"noteId": "{ID}", "url": "https://a.example"}}, {{"role": "source"}}]"#
        ));

        let fields: Vec<_> = faulty.unwrap_err().faults.into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["items[0]", "items[2]", "items[3]"]);
    }
}
