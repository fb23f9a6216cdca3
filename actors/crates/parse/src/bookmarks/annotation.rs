//! Highlights of a saved page, with their notes.

use serde::{Deserialize, Serialize};

/// A highlight of a page, with its note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The highlighted text, trimmed; it may be empty.
    pub quote: String,
    /// The user's note on it, trimmed; `None` if blank.
    pub note: Option<String>,
}

/// The longest text of a highlight, in characters; longer ones become notes.
const MAX_HIGHLIGHT_CHARS: usize = 10_000;
/// The most highlights of a page; further ones become notes.
const MAX_HIGHLIGHTS: usize = 300;

impl Annotation {
    /// Creates an annotation of trimmed texts; a blank note is none.
    pub fn new(words: &str, note: Option<&str>) -> Self {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        Self { quote: words.trim().to_owned(), note: note.map(str::to_owned) }
    }

    /// Returns its texts, so that characters can be removed from them.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.note.iter_mut().chain([&mut self.quote])
    }

    /// Formats it as a paragraph of a note: the highlighted text as a quotation, followed by the note.
    pub fn to_paragraph(&self) -> String {
        let quoted = self.quote.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n");
        let parts = [Some(quoted), self.note.clone()].into_iter().flatten();
        // A note without a quotation is a paragraph too.
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Splits annotations into those that become highlights, and those that are too long, empty or too many.
pub fn split_highlights(all: Vec<Annotation>) -> (Vec<Annotation>, Vec<Annotation>) {
    let mut left = MAX_HIGHLIGHTS;
    all.into_iter().partition(|mark| {
        let fits = left > 0 && !mark.quote.is_empty() && text::char_count(&mark.quote) <= MAX_HIGHLIGHT_CHARS;
        left -= usize::from(fits);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_a_highlight_goes_to_the_notes() {
        let long = "a".repeat(MAX_HIGHLIGHT_CHARS + 1);
        let mut all = vec![
            Annotation::new(" Words ", Some(" ")),
            Annotation::new(&long, None),
            Annotation::new("", Some("Beside")),
        ];
        all.extend(vec![Annotation::new("More", None); MAX_HIGHLIGHTS]);

        let (marked, rest) = split_highlights(all);

        assert_eq!(
            (marked.len(), &marked[0]),
            (MAX_HIGHLIGHTS, &Annotation { quote: "Words".to_owned(), note: None })
        );
        let rest: Vec<_> = rest.iter().map(Annotation::to_paragraph).collect();
        assert_eq!(rest, [format!("> {long}"), "Beside".to_owned(), "> More".to_owned()]);
    }

    #[test]
    fn paragraph_quotes_every_line() {
        assert_eq!(Annotation::new("one\ntwo", Some("beside")).to_paragraph(), "> one\n> two\n\nbeside");
    }
}
