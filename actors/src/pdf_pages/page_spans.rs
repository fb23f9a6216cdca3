//! Where the texts of pages are in the text of their document, by its passages: none of them crosses the end of a page.

use database::Db;
use entity::{chunk, document};
use errors::Error;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};

/// Where the text of a page is in the text of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSpan {
    /// The number of the page, from 1.
    pub number: u32,
    /// The offset of its first character, in Unicode scalar values.
    pub start: usize,
    /// The offset after its last character. The space between two pages belongs to the former.
    pub end: usize,
}

/// The text of a page, with its offset in the text of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPageText {
    /// The offset of its first character, in Unicode scalar values.
    pub start: usize,
    /// The text, with the space behind it.
    pub text: String,
}

/// Reads where the texts of the pages of a document are, in the order of the pages.
pub async fn read(db: &Db, document: &document::Model) -> Result<Vec<PageSpan>, Error> {
    let passages = passages_of(document).select_only().column(chunk::Column::Page);
    let passages = passages.column(chunk::Column::StartOffset).column(chunk::Column::EndOffset);
    let passages: Vec<(Option<i32>, i32, i32)> = passages.into_tuple().all(db.read()).await?;
    let mut spans: Vec<PageSpan> = Vec::new();
    for (page, start, end) in passages {
        let (Some(number), start, end) =
            (page.and_then(|page| u32::try_from(page).ok()), offset(start), offset(end))
        else {
            continue;
        };
        match spans.last_mut() {
            Some(last) if last.number == number => last.end = end,
            Some(_) | None => spans.push(PageSpan { number, start, end }),
        }
    }
    Ok(spans)
}

/// Reads the stored text of a page; `None` if it has none.
pub async fn read_text(
    db: &Db,
    document: &document::Model,
    number: u32,
) -> Result<Option<StoredPageText>, Error> {
    let passages =
        passages_of(document).filter(chunk::Column::Page.eq(i32::try_from(number).unwrap_or(i32::MAX)));
    let passages = passages.all(db.read()).await?;
    let start = passages.first().map(|first| offset(first.start_offset));
    Ok(start.map(|start| StoredPageText {
        start,
        text: passages.into_iter().map(|passage| passage.text).collect(),
    }))
}

fn passages_of(document: &document::Model) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .order_by_asc(chunk::Column::Ordinal)
}

fn offset(stored: i32) -> usize {
    usize::try_from(stored).unwrap_or_default()
}
