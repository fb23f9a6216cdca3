//! What a page of a document is read from, in two statements: the row with its bookmark, then everything that stands on
//! the page. A statement costs more than the rows that it brings.

use entity::document::Model;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, chunk, document, highlight, note};
use sea_orm::sea_query::{Expr, Query, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityName, EntityTrait, FromQueryResult, JoinType, QuerySelect,
    Select,
};
use text::Window;

use super::DocumentHighlight;
use crate::context::OperationContext;
use errors::Error;

/// A grapheme cluster may reach so far past the page's end; passages never part one.
const SLACK: i64 = 64;

/// A document that the caller may read.
pub struct Readable {
    /// Its row.
    pub document: Model,
    /// When its bookmark was saved, where it has one.
    pub saved_at: Option<Timestamp>,
    /// The user's marks are the bookmark's: on its note there are none.
    marked: bool,
}

impl Readable {
    /// The one document that is looked for.
    pub async fn one(
        looked_for: Select<document::Entity>,
        db: &impl ConnectionTrait,
    ) -> Result<Option<Self>, DbErr> {
        let saved = document::Entity::belongs_to(bookmark::Entity)
            .from(document::Column::BookmarkId)
            .to(bookmark::Column::Id)
            .into();
        let found = looked_for.join(JoinType::LeftJoin, saved).select_also(bookmark::Entity).one(db).await?;
        Ok(found.map(|(document, saved)| {
            let saved = saved.filter(|saved| saved.user_id == document.user_id);
            Self {
                saved_at: saved.as_ref().map(|saved| saved.saved_at),
                marked: saved.is_some_and(|saved| saved.document_id == document.id),
                document,
            }
        }))
    }
}

/// A page's text, and the user's marks on the document.
#[derive(Default)]
pub struct Page {
    /// The text.
    pub text: String,
    /// Where the next page begins.
    pub next_offset: Option<usize>,
    /// The user's tags, sorted.
    pub tags: Vec<String>,
    /// The user's notes.
    pub notes: String,
    /// The user's highlights, in the order of the text.
    pub highlights: Vec<DocumentHighlight>,
}

/// Reads the page that begins at `offset`: the passages that it touches, and no others.
pub async fn read(ctx: &OperationContext, from: &Readable, offset: i64, max_chars: u32) -> Result<Page, Error> {
    let statement = on_page(from, offset, max_chars);
    let mut rows = Line::find_by_statement(ctx.core.db.read().get_database_backend().build(&statement))
        .all(ctx.core.db.read())
        .await?;
    rows.sort_by(|a, b| (a.place, &a.text).cmp(&(b.place, &b.text)));
    let mut page = Page::default();
    let mut passages = Vec::new();
    for line in rows {
        match line.kind {
            PASSAGE => passages.push((line.place, line.text)),
            TAG => page.tags.push(line.text),
            HIGHLIGHT => page.highlights.push(DocumentHighlight { text: line.text, note: line.note }),
            _ => page.notes = line.text,
        }
    }
    let total_chars = usize::try_from(from.document.total_chars).unwrap_or(0);
    let begins = passages.first().map_or(0, |(start, _)| usize::try_from(*start).unwrap_or(0));
    let text: String = passages.into_iter().map(|(_, text)| text).collect();
    let window = Window { text: &text, offset: begins, total_chars };
    let shown = window.page(usize::try_from(offset).unwrap_or(usize::MAX), max_chars as usize);
    Ok(Page { text: shown.text.to_owned(), next_offset: shown.next_offset, ..page })
}

const PASSAGE: i32 = 0;
const TAG: i32 = 1;
const HIGHLIGHT: i32 = 2;
const NOTE: i32 = 3;

/// One thing on the page.
#[derive(FromQueryResult)]
struct Line {
    kind: i32,
    place: i32,
    text: String,
    note: Option<String>,
}

fn on_page(from: &Readable, offset: i64, max_chars: u32) -> SelectStatement {
    let document = &from.document;
    let end = offset.saturating_add(i64::from(max_chars)).saturating_add(SLACK);
    let mut all = lines(PASSAGE, chunk::Entity, Some(chunk::Column::StartOffset), chunk::Column::Text, None);
    all.and_where(chunk::Column::UserId.eq(document.user_id))
        .and_where(chunk::Column::DocumentId.eq(document.id))
        .and_where(chunk::Column::Version.eq(document.version))
        .and_where(chunk::Column::EndOffset.gt(offset))
        .and_where(chunk::Column::StartOffset.lt(end));
    let Some(bookmark) = document.bookmark_id.filter(|_| from.marked) else { return all };
    let mut tags = lines(TAG, bookmark_tag::Entity, None, bookmark_tag::Column::Name, None);
    tags.and_where(bookmark_tag::Column::UserId.eq(document.user_id))
        .and_where(bookmark_tag::Column::BookmarkId.eq(bookmark));
    let place = Some(highlight::Column::StartOffset);
    let mut highlights =
        lines(HIGHLIGHT, highlight::Entity, place, highlight::Column::Text, Some(highlight::Column::Note));
    highlights
        .and_where(highlight::Column::UserId.eq(document.user_id))
        .and_where(highlight::Column::BookmarkId.eq(bookmark));
    let mut notes = lines(NOTE, note::Entity, None, note::Column::Body, None);
    notes
        .and_where(note::Column::UserId.eq(document.user_id))
        .and_where(note::Column::BookmarkId.eq(bookmark));
    for more in [tags, highlights, notes] {
        all.union(UnionType::All, more);
    }
    all
}

fn lines<E: EntityTrait + EntityName>(
    kind: i32,
    table: E,
    place: Option<E::Column>,
    text: E::Column,
    note: Option<E::Column>,
) -> SelectStatement {
    let place = place.map_or(Expr::cust("0"), Expr::col);
    let note = note.map_or(Expr::cust("CAST(NULL AS TEXT)"), Expr::col);
    Query::select()
        .expr_as(Expr::cust(kind.to_string()), "kind")
        .expr_as(place, "place")
        .expr_as(Expr::col(text), "text")
        .expr_as(note, "note")
        .from(table)
        .to_owned()
}
