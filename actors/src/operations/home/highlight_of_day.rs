//! One highlight a day: chosen by the user and the day, so that it stays the same until midnight UTC.

use std::hash::Hasher;

use entity::{account_count, bookmark, document, highlight};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{DocumentId, HighlightId, UserId};
use values::time::Timestamp;

/// Highlights that are looked at: those of deleted bookmarks are passed over.
const MAX_CANDIDATES: u64 = 5;

/// A highlight with its document.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayHighlightView {
    /// Id of the highlight.
    pub highlight_id: HighlightId,
    /// The highlighted words.
    pub text: String,
    /// The user's note on them; null without one.
    pub note: Option<String>,
    /// Name of the colour; null if none was set.
    pub color: Option<String>,
    /// Offset of the first character in the document's text.
    pub start_offset: i32,
    /// Offset after the last character.
    pub end_offset: i32,
    /// When it was highlighted.
    pub created_at: Timestamp,
    /// The document.
    pub document_id: DocumentId,
    /// Title of the document.
    pub title: String,
}

/// Returns the highlight of the day, or for another `turn` another one. `None` without highlights.
pub(super) async fn load(
    db: &impl ConnectionTrait,
    user: UserId,
    now: Timestamp,
    turn: u32,
) -> Result<Option<DayHighlightView>, Error> {
    let counts = account_count::Entity::owned_by(user).one(db).await?;
    let count = counts.and_then(|counts| u64::try_from(counts.highlights).ok()).unwrap_or_default();
    if count == 0 {
        return Ok(None);
    }
    let candidates = highlight::Entity::owned_by(user)
        .order_by_asc(highlight::Column::Id)
        .offset(number_of_day(user, now, turn) % count)
        .limit(MAX_CANDIDATES)
        .all(db)
        .await?;
    let bookmarks = bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::Id.is_in(candidates.iter().map(|row| row.bookmark_id)))
        .all(db)
        .await?;
    let found = candidates.into_iter().find_map(|row| {
        let of = bookmarks.iter().find(|bookmark| bookmark.id == row.bookmark_id)?;
        Some((row, of))
    });
    let Some((row, of)) = found else { return Ok(None) };
    let document = document::Entity::one_visible_to(user, of.document_id).one(db).await?;
    Ok(document.map(|document| view(row, document)))
}

fn view(row: highlight::Model, document: document::Model) -> DayHighlightView {
    DayHighlightView {
        highlight_id: row.id,
        text: row.text,
        note: row.note,
        color: row.color,
        start_offset: row.start_offset,
        end_offset: row.end_offset,
        created_at: row.created_at,
        document_id: document.id,
        title: document.title,
    }
}

/// Returns a number that is another one for each user, day and turn.
fn number_of_day(user: UserId, now: Timestamp, turn: u32) -> u64 {
    // The keys of this hasher are fixed, so the number is the same in every process.
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(user.0.as_bytes());
    hasher.write_i64(now.day().end().millis());
    hasher.write_u32(turn);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn number_stays_within_a_day_and_changes_with_it() {
        let user = UserId(Uuid::nil());
        let at = |millis| number_of_day(user, Timestamp::from_millis(millis), 0);

        assert_eq!(at(1_000), at(86_399_999));
        assert_ne!(at(1_000), at(86_400_000));
        assert_ne!(at(1_000), number_of_day(user, Timestamp::from_millis(1_000), 1));
    }
}
