//! Highlights: marking words of a saved text (contract.md, section 6).

use entity::id::{BookmarkId, HighlightId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, chunk, document, highlight};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::target::Target;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Kind, Values};
use crate::ops::bookmarks::save;
use crate::perform::Operation;
use crate::text;

const LONGEST: usize = 10_000;
const PLACE: Kind = Kind::Integer { min: 0, max: i32::MAX as i64 };

/// A highlight (contract.md, section 6).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HighlightView {
    highlight_id: HighlightId,
    text: String,
    note: Option<String>,
    color: Option<String>,
    start_offset: i32,
    end_offset: i32,
    created_at: Timestamp,
}

impl From<highlight::Model> for HighlightView {
    fn from(row: highlight::Model) -> Self {
        Self {
            highlight_id: row.id,
            text: row.text,
            note: row.note,
            color: row.color,
            start_offset: row.start_offset,
            end_offset: row.end_offset,
            created_at: row.created_at,
        }
    }
}

/// The highlights of a bookmark, in the order of the text.
#[derive(Debug)]
pub struct ListHighlights(BookmarkId);

impl ListHighlights {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// All of them: there is never a next page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Highlights {
    highlights: Vec<HighlightView>,
    next_cursor: Option<String>,
}

impl Operation for ListHighlights {
    type Reply = Highlights;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    fn count(reply: &Highlights) -> Option<usize> {
        Some(reply.highlights.len())
    }

    async fn run(self, caller: &Caller, app: &App) -> Result<Highlights, Error> {
        let db = app.db.read();
        bookmark::Entity::one_of(caller.user, self.0).one(db).await?.ok_or(Error::NotFound)?;
        let own = highlight::Entity::owned_by(caller.user).filter(highlight::Column::BookmarkId.eq(self.0));
        let rows = own
            .order_by_asc(highlight::Column::StartOffset)
            .order_by_asc(highlight::Column::Id)
            .all(db)
            .await?;
        Ok(Highlights { highlights: rows.into_iter().map(HighlightView::from).collect(), next_cursor: None })
    }
}

/// A new highlight.
#[derive(Debug)]
pub struct CreateHighlight {
    bookmark: BookmarkId,
    text: String,
    note: Option<String>,
    color: Option<String>,
    start: i32,
    end: i32,
}

impl CreateHighlight {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required(
            "text",
            Kind::Words { min: 1, max: LONGEST },
            "The marked words, as they stand in the text.",
        ),
        Field::required("startOffset", PLACE, "Where they begin, in characters."),
        Field::required("endOffset", PLACE, "Where they end."),
        Field::optional("note", Kind::Text { max: 100_000 }, "A note beside them."),
        Field::optional("color", Kind::Words { min: 1, max: 50 }, "A colour's name."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            bookmark: target.id(0)?,
            text: values.text("text").unwrap_or_default(),
            note: values.text("note"),
            color: values.text("color"),
            start: values.integer("startOffset").unwrap_or(0),
            end: values.integer("endOffset").unwrap_or(0),
        })
    }
}

/// One highlight under its name.
#[derive(Debug, Serialize)]
pub struct OneHighlight {
    highlight: HighlightView,
}

impl Operation for CreateHighlight {
    type Reply = OneHighlight;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneHighlight, Error> {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        let saved =
            bookmark::Entity::one_of(caller.user, self.bookmark).one(&txn).await?.ok_or(Error::NotFound)?;
        let document = document::Entity::one_of(caller.user, saved.document_id).one(&txn).await?;
        let stands = text_between(&txn, &document.ok_or(Error::NotFound)?, self.start, self.end).await?;
        if stands.as_deref() != Some(self.text.as_str()) {
            return Err(Error::invalid("text", "does not stand in the document at these offsets"));
        }
        let row = highlight::Model {
            id: HighlightId::new(now),
            user_id: caller.user,
            bookmark_id: saved.id,
            text: self.text,
            note: self.note,
            color: self.color,
            start_offset: self.start,
            end_offset: self.end,
            created_at: now,
        };
        highlight::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        save::touch(&txn, saved, now).await?;
        txn.commit().await?;
        Ok(OneHighlight { highlight: row.into() })
    }
}

/// The characters of a document's text from one offset to another; `None` where there are none.
async fn text_between(
    db: &impl sea_orm::ConnectionTrait,
    document: &document::Model,
    start: i32,
    end: i32,
) -> Result<Option<String>, Error> {
    if start >= end || end > document.total_chars {
        return Ok(None);
    }
    let touched = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::EndOffset.gt(start))
        .filter(chunk::Column::StartOffset.lt(end))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .columns([chunk::Column::StartOffset, chunk::Column::Text]);
    let rows: Vec<(i32, String)> = touched.into_tuple().all(db).await?;
    let begins = rows.first().map_or(0, |(begins, _)| *begins);
    let whole: String = rows.into_iter().map(|(_, text)| text).collect();
    let place = |offset: i32| usize::try_from(offset - begins).unwrap_or(0);
    Ok(text::slice_chars(&whole, place(start), place(end)).map(str::to_owned))
}
