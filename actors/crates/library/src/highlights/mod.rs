//! Highlights: marked words of a bookmark's text. They keep to their words when another text replaces it.

mod locate;
mod loose_match;
mod quotation;
mod similar_words;

use entity::{document, highlight};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use errors::Error;
use values::kind::AnchorState;

pub use locate::{TextMatch, find_text};
pub use loose_match::match_key;
pub use quotation::{Quotation, cut_quotation, require_quotation};
pub use similar_words::{SimilarWords, find_similar};

/// Moves the highlights of a document to where its words are in its new text, and records whether they were found. A highlight whose
/// words are not in the text keeps its offsets and its words.
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
    for (row, found) in rows.iter().zip(matches) {
        let moved = relocated(row, found);
        if moved != *row {
            set_anchor(db, &moved).await?;
        }
    }
    Ok(())
}

/// Returns a highlight as it is in a new text, in which its words were found there or not at all.
fn relocated(row: &highlight::Model, found: Option<TextMatch>) -> highlight::Model {
    let Some(TextMatch { start, end, text }) = found else {
        return highlight::Model { anchor_state: AnchorState::Lost, ..row.clone() };
    };
    let is_same = (start, end) == (row.start_offset, row.end_offset) && text == row.text;
    // An imported highlight gets its first place, from which it did not move.
    let had_place = row.end_offset > 0;
    let anchor_state = match row.anchor_state {
        AnchorState::Exact if is_same || !had_place => AnchorState::Exact,
        AnchorState::Exact | AnchorState::Moved | AnchorState::Lost => AnchorState::Moved,
    };
    highlight::Model { start_offset: start, end_offset: end, text, anchor_state, ..row.clone() }
}

/// Writes the words, the offsets and the state of a highlight.
async fn set_anchor(db: &impl ConnectionTrait, row: &highlight::Model) -> Result<(), Error> {
    highlight::Entity::update_owned(row.user_id)
        .col_expr(highlight::Column::StartOffset, Expr::value(row.start_offset))
        .col_expr(highlight::Column::EndOffset, Expr::value(row.end_offset))
        .col_expr(highlight::Column::Text, Expr::value(row.text.clone()))
        .col_expr(highlight::Column::AnchorState, Expr::value(row.anchor_state))
        .filter(highlight::Column::Id.eq(row.id))
        .exec(db)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::id::{BookmarkId, HighlightId, UserId};
    use values::time::Timestamp;

    use super::*;

    fn highlight_at(start_offset: i32, end_offset: i32, anchor_state: AnchorState) -> highlight::Model {
        highlight::Model {
            id: HighlightId(Uuid::nil()),
            user_id: UserId(Uuid::nil()),
            bookmark_id: BookmarkId(Uuid::nil()),
            text: "reeds".to_owned(),
            note: None,
            color: None,
            start_offset,
            end_offset,
            anchor_state,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn state_tells_whether_the_words_were_found() {
        let found = |start| Some(TextMatch { start, end: start + 5, text: "reeds".to_owned() });
        let state = |row: highlight::Model, found| relocated(&row, found).anchor_state;
        let exact = highlight_at(3, 8, AnchorState::Exact);

        assert_eq!(state(exact.clone(), found(3)), AnchorState::Exact);
        assert_eq!(state(exact.clone(), found(4)), AnchorState::Moved);
        assert_eq!(state(exact, None), AnchorState::Lost);
        assert_eq!(state(highlight_at(3, 8, AnchorState::Lost), found(3)), AnchorState::Moved);
        assert_eq!(state(highlight_at(0, 0, AnchorState::Exact), found(3)), AnchorState::Exact);
    }

    #[test]
    fn lost_highlight_keeps_its_words_and_offsets() {
        let lost = relocated(&highlight_at(3, 8, AnchorState::Moved), None);

        assert_eq!(lost, highlight_at(3, 8, AnchorState::Lost));
    }
}
