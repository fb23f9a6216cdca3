//! Highlights go with their words when a text takes the place of another.

use entity::{document, highlight};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};

use crate::error::Error;

/// Moves the highlights of a document to where their words stand in its new text. One whose words are gone stays as it is.
///
/// # Errors
/// The database.
pub async fn follow(db: &impl ConnectionTrait, document: &document::Model, text: &str) -> Result<(), Error> {
    let Some(bookmark) = document.bookmark_id else { return Ok(()) };
    let own = highlight::Entity::owned_by(document.user_id);
    for row in own.filter(highlight::Column::BookmarkId.eq(bookmark)).all(db).await? {
        let Some((start, end)) = place(text, &row.text, row.start_offset) else { continue };
        if (start, end) == (row.start_offset, row.end_offset) {
            continue;
        }
        highlight::Entity::update_many()
            .col_expr(highlight::Column::StartOffset, Expr::value(start))
            .col_expr(highlight::Column::EndOffset, Expr::value(end))
            .filter(highlight::Column::UserId.eq(document.user_id))
            .filter(highlight::Column::Id.eq(row.id))
            .exec(db)
            .await?;
    }
    Ok(())
}

/// Where words stand in a text, nearest to a place: offsets in Unicode scalar values.
pub fn place(text: &str, words: &str, near: i32) -> Option<(i32, i32)> {
    if words.is_empty() {
        return None;
    }
    let near = usize::try_from(near).unwrap_or_default();
    let near = text.char_indices().nth(near).map_or(text.len(), |(byte, _)| byte);
    let found = text.match_indices(words).map(|(byte, _)| byte).min_by_key(|byte| byte.abs_diff(near))?;
    let start = text.get(..found)?.chars().count();
    let end = start + words.chars().count();
    Some((i32::try_from(start).ok()?, i32::try_from(end).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_places_the_nearest_is_taken() {
        let text = "Reeds, größer reeds, and at last reeds.";

        assert_eq!(place(text, "reeds", 0), Some((14, 19)));
        assert_eq!(place(text, "reeds", 14), Some((14, 19)));
        assert_eq!(place(text, "reeds", 30), Some((33, 38)));
        assert_eq!(place(text, "reeds", i32::MAX), Some((33, 38)));
        assert_eq!((place(text, "heron", 3), place(text, "", 3)), (None, None));
    }
}
