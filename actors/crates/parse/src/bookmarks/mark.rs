//! What was marked in a saved page.

use serde::{Deserialize, Serialize};

/// Words that were marked in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The words.
    pub words: String,
    /// What the person wrote beside them.
    pub note: Option<String>,
}

/// Characters of words that are marked; more are kept in the notes.
const LONGEST: usize = 10_000;
/// Places of one page that are marked; more are kept in the notes.
const MOST: usize = 300;

impl Mark {
    /// Words without the space around them, and what is written beside.
    pub fn of(words: &str, note: Option<&str>) -> Self {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        Self { words: words.trim().to_owned(), note: note.map(str::to_owned) }
    }

    /// Its texts, to be mended.
    pub fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        self.note.iter_mut().chain([&mut self.words])
    }

    /// As a paragraph of a note: the words as a quotation, and what is written beside below it.
    pub fn paragraph(&self) -> String {
        let quoted = self.words.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n");
        let parts = [Some(quoted), self.note.clone()].into_iter().flatten();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Those that become highlights, and the others, which have too many words, or none, or are too many.
pub fn for_highlights(all: Vec<Mark>) -> (Vec<Mark>, Vec<Mark>) {
    let mut left = MOST;
    all.into_iter().partition(|mark| {
        let fits = left > 0 && !mark.words.is_empty() && text::char_count(&mark.words) <= LONGEST;
        left -= usize::from(fits);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_highlight_is_kept_for_the_notes() {
        let long = "a".repeat(LONGEST + 1);
        let mut all =
            vec![Mark::of(" Words ", Some(" ")), Mark::of(&long, None), Mark::of("", Some("Beside"))];
        all.extend(vec![Mark::of("More", None); MOST]);

        let (marked, rest) = for_highlights(all);

        assert_eq!((marked.len(), &marked[0]), (MOST, &Mark { words: "Words".to_owned(), note: None }));
        let rest: Vec<_> = rest.iter().map(Mark::paragraph).collect();
        assert_eq!(rest, [format!("> {long}"), "Beside".to_owned(), "> More".to_owned()]);
    }

    #[test]
    fn a_paragraph_quotes_every_line() {
        assert_eq!(Mark::of("one\ntwo", Some("beside")).paragraph(), "> one\n> two\n\nbeside");
    }
}
