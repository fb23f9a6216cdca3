//! Where offsets of a text are for its reader: in which paragraph, on which page of a PDF, at which second of a recording.

use entity::chunk;
use errors::Error;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::{DocumentId, UserId};

/// Paragraphs are counted up to this offset. Reading a longer text only to count would take too long.
const MAX_COUNTED_CHARS: i32 = 1_000_000;

/// Where an offset of a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextPlace {
    /// Number of its paragraph, from 1: texts between empty lines count. `None` far behind the beginning of a long text.
    pub paragraph: Option<u32>,
    /// Page of a PDF, from 1.
    pub page: Option<i32>,
    /// Second of a recording.
    pub seconds: Option<f64>,
}

/// A passage of a text, as it is read for places.
struct Passage {
    start: i32,
    end: i32,
    page: Option<i32>,
    seconds: Option<(f64, f64)>,
    text: String,
}

type PassageColumns = (i32, i32, Option<i32>, Option<f64>, Option<f64>, String);

/// Returns the places of offsets in a version of the text of a document, in the order of the offsets.
///
/// # Errors
/// [`Error::StorageFailed`] or [`Error::Internal`] when the database fails.
pub async fn find_places(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    version: i32,
    offsets: &[i32],
) -> Result<Vec<TextPlace>, Error> {
    use chunk::Column as C;
    let Some(last) = offsets.iter().max().map(|last| (*last).min(MAX_COUNTED_CHARS)) else {
        return Ok(Vec::new());
    };
    let passages = chunk::Entity::owned_by(user)
        .filter(C::DocumentId.eq(document))
        .filter(C::Version.eq(version))
        .filter(C::StartOffset.lte(last))
        .order_by_asc(C::StartOffset)
        .select_only()
        .columns([C::StartOffset, C::EndOffset, C::Page, C::StartSeconds, C::EndSeconds, C::Text]);
    let passages: Vec<PassageColumns> = passages.into_tuple().all(db).await?;
    let passages: Vec<Passage> = passages.into_iter().map(Passage::from).collect();
    Ok(places_in(&passages, offsets))
}

impl From<PassageColumns> for Passage {
    fn from((start, end, page, begins, ends, text): PassageColumns) -> Self {
        Self { start, end, page, seconds: begins.zip(ends), text }
    }
}

impl Passage {
    fn contains(&self, offset: i32) -> bool {
        (self.start..self.end).contains(&offset)
    }

    /// Returns when the character is spoken, if the passage is evenly spoken.
    fn second_of(&self, offset: i32) -> Option<f64> {
        let (begin, end) = self.seconds?;
        let share = f64::from(offset - self.start) / f64::from((self.end - self.start).max(1));
        Some(begin + (end - begin) * share)
    }
}

/// Returns the places of offsets in the passages of a text, which follow one another. The text is read once, however many offsets there are.
fn places_in(passages: &[Passage], offsets: &[i32]) -> Vec<TextPlace> {
    let mut count = ParagraphCount::default();
    let counted: Vec<(&Passage, ParagraphCount)> = passages
        .iter()
        .map(|passage| {
            let before = count;
            count = count.after(passage.text.chars());
            (passage, before)
        })
        .collect();
    let place = |offset: &i32| {
        let found = counted.iter().find(|(passage, _)| passage.contains(*offset));
        found.map(|(passage, before)| place_of(passage, *before, *offset)).unwrap_or_default()
    };
    offsets.iter().map(place).collect()
}

/// Returns the place of an offset in its passage. `before` are the paragraphs before the passage.
fn place_of(passage: &Passage, before: ParagraphCount, offset: i32) -> TextPlace {
    let chars = usize::try_from(offset.saturating_add(1) - passage.start).unwrap_or_default();
    let count = before.after(passage.text.chars().take(chars));
    TextPlace {
        paragraph: Some(count.paragraphs.max(1)),
        page: passage.page,
        seconds: passage.second_of(offset),
    }
}

/// The number of paragraphs that began, and the line breaks since the last word.
#[derive(Clone, Copy)]
struct ParagraphCount {
    paragraphs: u32,
    breaks: u32,
}

impl Default for ParagraphCount {
    fn default() -> Self {
        // Before the first word, as after an empty line.
        Self { paragraphs: 0, breaks: 2 }
    }
}

impl ParagraphCount {
    fn after(self, chars: impl Iterator<Item = char>) -> Self {
        chars.fold(self, |Self { paragraphs, breaks }, c| match c {
            '\n' => Self { paragraphs, breaks: breaks.saturating_add(1) },
            c if c.is_whitespace() => Self { paragraphs, breaks },
            _ if breaks >= 2 => Self { paragraphs: paragraphs.saturating_add(1), breaks: 0 },
            _ => Self { paragraphs, breaks: 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(texts: &[&str]) -> Vec<Passage> {
        let mut start = 0;
        let passage = |text: &&str| {
            let end = start + i32::try_from(text.chars().count()).unwrap();
            let passage =
                Passage { start, end, page: Some(2), seconds: Some((10.0, 20.0)), text: (*text).to_owned() };
            start = end;
            passage
        };
        texts.iter().map(passage).collect()
    }

    #[test]
    fn empty_line_begins_the_next_paragraph() {
        let passages = passages(&["Größe\n\nOne\ntwo\n", "\nThree"]);
        let paragraph = |offset| places_in(&passages, &[offset])[0].paragraph;

        assert_eq!((paragraph(0), paragraph(4)), (Some(1), Some(1)));
        assert_eq!((paragraph(7), paragraph(11)), (Some(2), Some(2)));
        assert_eq!(paragraph(16), Some(3));
        assert_eq!(paragraph(99), None);
    }

    #[test]
    fn second_is_interpolated_within_the_passage() {
        let place = places_in(&passages(&["0123456789"]), &[5])[0];

        assert_eq!(place, TextPlace { paragraph: Some(1), page: Some(2), seconds: Some(15.0) });
    }
}
