//! The highlights of a document as the list beside its text shows them.

use actors::operations::highlights::AnchoredHighlight;
use actors::operations::reading::{DRAWN_COLORS, drawn_color};
use values::kind::AnchorState;

use crate::web::locale::Locale;

/// Characters of the words of a highlight that the list shows; the text has all of them.
const MAX_QUOTE_CHARS: usize = 400;

/// A highlight beside the text.
#[derive(Clone, Debug)]
pub struct SideNote {
    /// Id of the highlight.
    pub id: String,
    /// Its words, cut.
    pub quote: String,
    /// The user's note; empty without one.
    pub note: String,
    /// The colour in which it is drawn.
    pub color: &'static str,
    /// Offset of the first character.
    pub start: i32,
    /// Offset after the last character.
    pub end: i32,
    /// Whether the words were found elsewhere after the text changed.
    pub is_moved: bool,
    /// Whether the words are not in the text.
    pub is_lost: bool,
    /// When the words were highlighted.
    pub day: String,
    /// The same, for `datetime`.
    pub time: String,
}

/// A colour to choose for a highlight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColorChoice {
    /// Its name.
    pub name: &'static str,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// Returns the colours, of which one is chosen.
pub fn color_choices(chosen: &str) -> Vec<ColorChoice> {
    DRAWN_COLORS.iter().map(|name| ColorChoice { name, is_chosen: *name == chosen }).collect()
}

impl SideNote {
    /// The colours of its form.
    pub fn colors(&self) -> Vec<ColorChoice> {
        color_choices(self.color)
    }

    /// Makes the list of highlights, which are in the order of the text: lost ones are at the end.
    pub fn list(highlights: &[AnchoredHighlight], locale: &Locale) -> Vec<Self> {
        let mut notes: Vec<Self> = highlights
            .iter()
            .map(|highlight| Self {
                id: highlight.highlight_id.to_string(),
                quote: cut(&highlight.text),
                note: highlight.note.clone().unwrap_or_default(),
                color: drawn_color(highlight.color.as_deref()),
                start: highlight.start_offset,
                end: highlight.end_offset,
                is_moved: highlight.anchor_state == AnchorState::Moved,
                is_lost: highlight.anchor_state == AnchorState::Lost,
                day: locale.day(highlight.created_at),
                time: highlight.created_at.to_string(),
            })
            .collect();
        notes.sort_by_key(|note| note.is_lost);
        notes
    }
}

fn cut(words: &str) -> String {
    let head = text::head(words, MAX_QUOTE_CHARS);
    if head.len() < words.len() { format!("{head}…") } else { words.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_with_an_ellipsis() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(500)).chars().count(), MAX_QUOTE_CHARS + 1);
    }
}
