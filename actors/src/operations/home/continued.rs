//! Texts that were begun: what the user reads on with, and where it ended.

use entity::{bookmark, chunk, document};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, UserId};
use values::kind::ContentType;

use crate::operations::bookmarks::BookmarkView;

/// Texts that are counted.
const MAX_COUNTED_TEXTS: u64 = 100;
/// Characters of the last sentence that are shown. Of a longer one the end is shown.
const MAX_SENTENCE_CHARS: usize = 240;
/// Words that a reader reads within a minute.
const WORDS_PER_MINUTE: f64 = 230.0;

/// A text that was begun and not finished.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedView {
    /// The bookmark with its progress.
    pub bookmark: BookmarkView,
    /// The last sentence before the place where the user stopped; null for recordings, and if there is none.
    pub last_sentence: Option<String>,
    /// Minutes that are left at 230 words a minute, at least 1; null for recordings and for texts that are not ready.
    pub minutes_left: Option<u32>,
}

/// Returns the bookmarks that were begun and neither finished nor archived, the one that changed last first; at most 100.
pub(super) async fn select_ids(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<BookmarkId>, Error> {
    let begun = bookmark::Entity::visible_to(user)
        // Spelled out as in the index `bookmark_continued`, which has only these.
        .filter(Expr::cust("NOT bookmark.archived AND bookmark.progress > 0 AND bookmark.progress < 1"))
        .order_by_desc(bookmark::Column::UpdatedAt)
        .order_by_desc(bookmark::Column::Id)
        .limit(MAX_COUNTED_TEXTS)
        .select_only()
        .column(bookmark::Column::Id);
    Ok(begun.into_tuple().all(db).await?)
}

/// Adds what is left to bookmarks, and to the first one the sentence at which the user stopped.
pub(super) async fn load(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmarks: Vec<BookmarkView>,
) -> Result<Vec<ContinuedView>, Error> {
    let mut continued = Vec::with_capacity(bookmarks.len());
    for (n, bookmark) in bookmarks.into_iter().enumerate() {
        let is_text = is_read(bookmark.content_type);
        let last_sentence = if is_text && n == 0 { last_sentence(db, user, &bookmark).await? } else { None };
        let minutes_left = bookmark.word_count.filter(|_| is_text);
        let minutes_left = minutes_left.map(|words| minutes(words, bookmark.progress));
        continued.push(ContinuedView { bookmark, last_sentence, minutes_left });
    }
    Ok(continued)
}

/// Returns whether a content is read, rather than listened to or watched.
fn is_read(content: ContentType) -> bool {
    match content {
        ContentType::Article | ContentType::Pdf | ContentType::Note => true,
        ContentType::Audio | ContentType::Video => false,
    }
}

fn minutes(words: i32, progress: f64) -> u32 {
    let minutes = f64::from(words) * (1.0 - progress) / WORDS_PER_MINUTE;
    // At most a few thousand, as texts are bounded.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive and small")]
    let minutes = minutes.ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    minutes
}

/// Returns the last sentence before the place to which the progress of a bookmark refers: progress is the share of the characters.
async fn last_sentence(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmark: &BookmarkView,
) -> Result<Option<String>, Error> {
    let row = document::Entity::one_visible_to(user, bookmark.document_id).one(db).await?;
    let Some(document) = row else { return Ok(None) };
    #[expect(clippy::cast_possible_truncation, reason = "a share of a length that is an i32")]
    let offset = (bookmark.progress * f64::from(document.total_chars)).round() as i32;
    let passage = chunk::Entity::owned_by(user)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::StartOffset.lt(offset))
        .order_by_desc(chunk::Column::StartOffset)
        .limit(1)
        .one(db)
        .await?;
    Ok(passage.and_then(|passage| {
        let chars = usize::try_from(offset.saturating_sub(passage.start_offset)).unwrap_or_default();
        sentence_before(&passage.text, chars)
    }))
}

/// Returns the last sentence that ends within the first characters of a passage; without one, the words before the place.
fn sentence_before(passage: &str, chars: usize) -> Option<String> {
    let before = text::head(passage, chars);
    let ends_sentence =
        |sentence: &str| sentence.ends_with(['.', '!', '?', '…', '。', '！', '？', '”', '"', '»', ')']);
    let sentences: Vec<&str> = text::chunk::sentences(before)
        .filter_map(|range| before.get(range))
        .filter(|s| !s.is_empty())
        .collect();
    let last = sentences.iter().rev().find(|sentence| ends_sentence(sentence)).or(sentences.last())?;
    let length = text::char_count(last);
    let cut = length.saturating_sub(MAX_SENTENCE_CHARS);
    let shown = text::slice_chars(last, cut, length)?;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(if cut > 0 { format!("…{shown}") } else { shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_whole_sentence_before_the_place_is_shown() {
        let passage = "The tide turned. Nobody saw it. Then the boats swung round.";

        assert_eq!(sentence_before(passage, 40).as_deref(), Some("Nobody saw it."));
        assert_eq!(sentence_before(passage, 9).as_deref(), Some("The tide"));
        assert_eq!(sentence_before(passage, 0), None);
    }

    #[test]
    fn end_of_a_long_sentence_is_shown() {
        let passage = format!("{}end.", "word ".repeat(100));

        let shown = sentence_before(&passage, 1000).unwrap();

        assert!(shown.starts_with('…') && shown.ends_with("end."));
        assert!(text::char_count(&shown) <= MAX_SENTENCE_CHARS + 1);
    }

    #[test]
    fn minutes_left_are_at_least_one() {
        assert_eq!((minutes(2300, 0.5), minutes(2300, 0.999), minutes(0, 0.5)), (5, 1, 1));
    }
}
