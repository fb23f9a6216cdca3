//! Loads a page of a document in two statements: the row with its bookmark, then everything that the page shows. One statement
//! for all tables is faster than one for each: a round trip costs more than the rows that it returns.

use entity::document::Model;
use entity::{bookmark, bookmark_tag, chunk, document, highlight, note};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, Query, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityName, EntityTrait, FromQueryResult, JoinType, QuerySelect,
    Select,
};
use serde::Serialize;
use text::Window;
use values::time::Timestamp;

use errors::Error;
use library::context::CoreContext;

/// Characters that are loaded past the end of the page, because a grapheme cluster may cross it. Passages never split a cluster.
const GRAPHEME_MARGIN_CHARS: i64 = 64;

/// A document that the caller may read.
pub struct ReadableDocument {
    /// The row, with the version and length of the text.
    pub document: Model,
    /// When its bookmark was saved, if it has one.
    pub saved_at: Option<Timestamp>,
    /// Whether it is the text of a bookmark, to which tags, notes and highlights belong. The note on a bookmark is not.
    is_bookmark_text: bool,
}

impl ReadableDocument {
    /// Finds the document that a query selects.
    pub async fn find(
        query: Select<document::Entity>,
        db: &impl ConnectionTrait,
    ) -> Result<Option<Self>, DbErr> {
        let saved = document::Entity::belongs_to(bookmark::Entity)
            .from(document::Column::BookmarkId)
            .to(bookmark::Column::Id)
            .into();
        let found = query.join(JoinType::LeftJoin, saved).select_also(bookmark::Entity).one(db).await?;
        Ok(found.map(|(document, saved)| {
            // The join is by id only; the owner of the bookmark is checked here.
            let saved = saved.filter(|saved| saved.user_id == document.user_id);
            Self {
                saved_at: saved.as_ref().map(|saved| saved.saved_at),
                is_bookmark_text: saved.is_some_and(|saved| saved.document_id == document.id),
                document,
            }
        }))
    }
}

/// A highlight of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocumentHighlight {
    /// The highlighted words, as in the text.
    pub text: String,
    /// The user's note on the highlight; null without one.
    pub note: Option<String>,
}

/// The text of a page, and the user's tags, notes and highlights of the document.
#[derive(Default)]
pub struct DocumentPage {
    /// Text of the page; empty past the end of the document.
    pub text: String,
    /// Offset of the next page; `None` on the last page.
    pub next_offset: Option<usize>,
    /// The user's tags, sorted by name.
    pub tags: Vec<String>,
    /// The user's notes on the bookmark, as Markdown; empty without notes.
    pub notes: String,
    /// The user's highlights, in the order of the text.
    pub highlights: Vec<DocumentHighlight>,
}

/// Reads the page that begins at `offset`. Only the passages that overlap the page are loaded.
pub async fn read_page(
    core: &CoreContext,
    from: &ReadableDocument,
    offset: i64,
    max_chars: u32,
) -> Result<DocumentPage, Error> {
    let statement = select_page(from, offset, max_chars);
    let mut rows = PageRow::find_by_statement(core.db.read().get_database_backend().build(&statement))
        .all(core.db.read())
        .await?;
    // The statement is a UNION without an order: tags sort by text, passages and highlights by position.
    rows.sort_by(|a, b| (a.position, &a.text).cmp(&(b.position, &b.text)));
    let mut page = DocumentPage::default();
    let mut passages = Vec::new();
    for row in rows {
        match row.kind {
            PASSAGE => passages.push((row.position, row.text)),
            TAG => page.tags.push(row.text),
            HIGHLIGHT => page.highlights.push(DocumentHighlight { text: row.text, note: row.note }),
            _ => page.notes = row.text,
        }
    }
    let total_chars = usize::try_from(from.document.total_chars).unwrap_or(0);
    let start = passages.first().map_or(0, |(start, _)| usize::try_from(*start).unwrap_or(0));
    let text: String = passages.into_iter().map(|(_, text)| text).collect();
    let window = Window { text: &text, offset: start, total_chars };
    let slice = window.page(usize::try_from(offset).unwrap_or(usize::MAX), max_chars as usize);
    Ok(DocumentPage { text: slice.text.to_owned(), next_offset: slice.next_offset, ..page })
}

const PASSAGE: i32 = 0;
const TAG: i32 = 1;
const HIGHLIGHT: i32 = 2;
const NOTE: i32 = 3;

/// A passage, tag, highlight or note of the page.
#[derive(FromQueryResult)]
struct PageRow {
    kind: i32,
    /// Offset in the document's text; 0 for tags and notes.
    position: i32,
    text: String,
    note: Option<String>,
}

fn select_page(from: &ReadableDocument, offset: i64, max_chars: u32) -> SelectStatement {
    let document = &from.document;
    let end = offset.saturating_add(i64::from(max_chars)).saturating_add(GRAPHEME_MARGIN_CHARS);
    let mut all =
        select_rows(PASSAGE, chunk::Entity, Some(chunk::Column::StartOffset), chunk::Column::Text, None);
    all.and_where(chunk::Column::UserId.eq(document.user_id))
        .and_where(chunk::Column::DocumentId.eq(document.id))
        .and_where(chunk::Column::Version.eq(document.version))
        .and_where(chunk::Column::EndOffset.gt(offset))
        .and_where(chunk::Column::StartOffset.lt(end));
    let Some(bookmark) = document.bookmark_id.filter(|_| from.is_bookmark_text) else { return all };
    let mut tags = select_rows(TAG, bookmark_tag::Entity, None, bookmark_tag::Column::Name, None);
    tags.and_where(bookmark_tag::Column::UserId.eq(document.user_id))
        .and_where(bookmark_tag::Column::BookmarkId.eq(bookmark));
    let position = Some(highlight::Column::StartOffset);
    let mut highlights = select_rows(
        HIGHLIGHT,
        highlight::Entity,
        position,
        highlight::Column::Text,
        Some(highlight::Column::Note),
    );
    highlights
        .and_where(highlight::Column::UserId.eq(document.user_id))
        .and_where(highlight::Column::BookmarkId.eq(bookmark));
    let mut notes = select_rows(NOTE, note::Entity, None, note::Column::Body, None);
    notes
        .and_where(note::Column::UserId.eq(document.user_id))
        .and_where(note::Column::BookmarkId.eq(bookmark));
    for more in [tags, highlights, notes] {
        all.union(UnionType::All, more);
    }
    all
}

fn select_rows<E: EntityTrait + EntityName>(
    kind: i32,
    table: E,
    position: Option<E::Column>,
    text: E::Column,
    note: Option<E::Column>,
) -> SelectStatement {
    let position = position.map_or(Expr::cust("0"), Expr::col);
    let note = note.map_or(Expr::cust("CAST(NULL AS TEXT)"), Expr::col);
    Query::select()
        .expr_as(Expr::cust(kind.to_string()), "kind")
        .expr_as(position, "position")
        .expr_as(Expr::col(text), "text")
        .expr_as(note, "note")
        .from(table)
        .to_owned()
}
