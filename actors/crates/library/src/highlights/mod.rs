//! Highlights go with their words when a text takes the place of another, or is the first.

mod loose;

use std::cell::Cell;

use entity::{chunk, document, highlight};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use text::slice_chars;

use errors::Error;

use loose::letters;

pub use loose::key;

/// Where words stand in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where they begin, in Unicode scalar values.
    pub start: i32,
    /// Where they end.
    pub end: i32,
    /// The words, as the text has them.
    pub words: String,
}

/// Moves the highlights of a document to where their words stand in its new text. One whose words are gone stays as it is.
///
/// # Errors
/// The database.
pub async fn follow(db: &impl ConnectionTrait, document: &document::Model, text: &str) -> Result<(), Error> {
    let Some(bookmark) = document.bookmark_id else { return Ok(()) };
    let own = highlight::Entity::owned_by(document.user_id);
    let rows = own.filter(highlight::Column::BookmarkId.eq(bookmark)).all(db).await?;
    let marked: Vec<_> = rows.iter().map(|row| (row.text.as_str(), row.start_offset)).collect();
    for (row, place) in rows.iter().zip(places(text, &marked)).filter_map(|(row, at)| Some((row, at?))) {
        if (place.start, place.end) == (row.start_offset, row.end_offset) && place.words == row.text {
            continue;
        }
        highlight::Entity::update_many()
            .col_expr(highlight::Column::StartOffset, Expr::value(place.start))
            .col_expr(highlight::Column::EndOffset, Expr::value(place.end))
            .col_expr(highlight::Column::Text, Expr::value(place.words))
            .filter(highlight::Column::UserId.eq(document.user_id))
            .filter(highlight::Column::Id.eq(row.id))
            .exec(db)
            .await?;
    }
    Ok(())
}

/// The text of a document, as it is now.
///
/// # Errors
/// The database.
pub async fn text_of(db: &impl ConnectionTrait, document: &document::Model) -> Result<String, Error> {
    let passages = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .column(chunk::Column::Text);
    Ok(passages.into_tuple::<String>().all(db).await?.concat())
}

/// Where words stand in a text, nearest to a place; where they do not, by their letters alone. No words stand nowhere.
pub fn place(text: &str, words: &str, near: i32) -> Option<Place> {
    places(text, &[(words, near)]).pop().flatten()
}

/// Bytes that are looked through for the words of one text: of marks that moved, the text is looked through for each. Those
/// that are left stay where they were.
const LOOKED_THROUGH: usize = 1 << 29;

/// The same for many words at once.
fn places(text: &str, marked: &[(&str, i32)]) -> Vec<Option<Place>> {
    let looks = Cell::new(LOOKED_THROUGH / text.len().max(1));
    let may_look = || looks.get().checked_sub(1).map(|left| looks.set(left)).is_some();
    let exact = exact(text, marked, may_look);
    let needs_letters = looks.get() > 0 && exact.iter().any(Option::is_none);
    let all = if needs_letters { letters(text) } else { String::new() };
    let place = |(exact, (words, _)): (Option<(usize, usize)>, &(&str, i32))| {
        let (start, end, words) = match exact {
            Some((start, end)) => (start, end, *words),
            None if !may_look() => return None,
            None => {
                let (start, end) = loose::place(text, &all, words)?;
                (start, end, slice_chars(text, start, end)?)
            }
        };
        Some(Place {
            start: i32::try_from(start).ok()?,
            end: i32::try_from(end).ok()?,
            words: words.to_owned(),
        })
    };
    exact.into_iter().zip(marked).map(place).collect()
}

/// Words exactly as they are. The text is looked through for those alone that have moved.
fn exact(text: &str, marked: &[(&str, i32)], may_look: impl Fn() -> bool) -> Vec<Option<(usize, usize)>> {
    let near: Vec<_> = marked.iter().map(|(_, near)| usize::try_from(*near).unwrap_or_default()).collect();
    let nearest = |words: &str, near: usize| {
        text.match_indices(words).map(|(byte, _)| byte).min_by_key(|byte| byte.abs_diff(near))
    };
    let starts: Vec<_> = marked
        .iter()
        .zip(bytes_of(text, &near))
        .map(|((words, _), near)| {
            let stands = text.get(near..).is_some_and(|rest| rest.starts_with(words));
            match stands {
                _ if words.is_empty() => None,
                true => Some(near),
                false => may_look().then(|| nearest(words, near)).flatten(),
            }
        })
        .collect();
    let found: Vec<_> = starts.iter().flatten().copied().collect();
    let mut chars = chars_of(text, &found).into_iter();
    let place = |(start, (words, _)): (Option<usize>, &(&str, i32))| {
        let start = start.and_then(|_| chars.next())?;
        Some((start, start + words.chars().count()))
    };
    starts.into_iter().zip(marked).map(place).collect()
}

/// The bytes at which these characters begin; the end for those behind it.
fn bytes_of(text: &str, chars: &[usize]) -> Vec<usize> {
    let mut at = text.char_indices().map(|(byte, _)| byte).enumerate().peekable();
    in_order(chars, |char| {
        while at.next_if(|(count, _)| *count < char).is_some() {}
        at.peek().map_or(text.len(), |(_, byte)| *byte)
    })
}

/// How many characters are before these bytes, at which characters begin.
fn chars_of(text: &str, bytes: &[usize]) -> Vec<usize> {
    let (mut at, mut count) = (0, 0);
    in_order(bytes, |byte| {
        count += text.get(at..byte).map_or(0, |passed| passed.chars().count());
        at = at.max(byte);
        count
    })
}

/// What is found for each of these, looked up from the smallest to the largest.
fn in_order(all: &[usize], mut find: impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut sorted: Vec<_> = all.iter().copied().enumerate().collect();
    sorted.sort_by_key(|(_, value)| *value);
    let mut found: Vec<_> = sorted.into_iter().map(|(place, value)| (place, find(value))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_several_places_the_nearest_is_taken() {
        let text = "Reeds, größer reeds, and at last reeds.";
        let place = |words, near| place(text, words, near).map(|place| (place.start, place.end));

        assert_eq!(place("reeds", 0), Some((14, 19)));
        assert_eq!(place("reeds", 14), Some((14, 19)));
        assert_eq!(place("reeds", 30), Some((33, 38)));
        assert_eq!(place("reeds", i32::MAX), Some((33, 38)));
        assert_eq!((place("heron", 3), place("", 3)), (None, None));
    }

    #[test]
    fn words_of_other_spaces_become_those_of_the_text() {
        let found = place("Größer reeds,\nand at last reeds.", "reeds, and  at last", 0);

        assert_eq!(found, Some(Place { start: 7, end: 25, words: "reeds,\nand at last".to_owned() }));
    }

    proptest! {
        #[test]
        fn many_are_placed_as_each_by_itself(text in "[aäb ]{0,40}", marked in prop::collection::vec(("[aäb]{0,2}", -1..50_i32), 0..6)) {
            let marked: Vec<_> = marked.iter().map(|(words, near)| (words.as_str(), *near)).collect();
            let chars: Vec<char> = text.chars().collect();
            for (at, (words, near)) in places(&text, &marked).into_iter().zip(&marked) {
                prop_assert_eq!(&at, &place(&text, words, *near));
                let found = at.map(|at| chars[at.start as usize..at.end as usize].iter().collect::<String>());
                let there = !words.is_empty() && text.contains(words);
                prop_assert_eq!(found.as_deref(), there.then_some(*words));
            }
        }
    }
}
