//! Highlights: marked words of a bookmark's text. They keep to their words when another text replaces it.

mod locate;
mod loose_match;
mod quotation;

use entity::{document, highlight};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use errors::Error;

pub use locate::{TextMatch, find_text};
pub use loose_match::match_key;
pub use quotation::{Quotation, require_quotation};

/// Moves the highlights of a document to where their words are in its new text. A highlight whose words are not in the text keeps
/// its offsets and its words.
pub async fn relocate(
    db: &impl ConnectionTrait,
    document: &document::Model,
    text: &str,
) -> Result<(), Error> {
    let Some(bookmark) = document.bookmark_id else { return Ok(()) };
    let own = highlight::Entity::owned_by(document.user_id);
    let rows = own.filter(highlight::Column::BookmarkId.eq(bookmark)).all(db).await?;
    let highlights: Vec<_> = rows.iter().map(|row| (row.text.as_str(), row.start_offset)).collect();
    let matches = locate::find_all(text, &highlights);
    for (row, found) in rows.iter().zip(matches).filter_map(|(row, found)| Some((row, found?))) {
        if (found.start, found.end) == (row.start_offset, row.end_offset) && found.text == row.text {
            continue;
        }
        highlight::Entity::update_owned(document.user_id)
            .col_expr(highlight::Column::StartOffset, Expr::value(found.start))
            .col_expr(highlight::Column::EndOffset, Expr::value(found.end))
            .col_expr(highlight::Column::Text, Expr::value(found.text))
            .filter(highlight::Column::Id.eq(row.id))
            .exec(db)
            .await?;
    }
    Ok(())
}
