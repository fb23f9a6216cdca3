//! What a document says about itself: title, author, subject, date, language.

use hayro_syntax::Pdf;
use hayro_syntax::object::{DateTime, Dict, String as PdfString};
use serde::{Deserialize, Serialize};
use time::{Date, Month, OffsetDateTime};

use super::outline::Entry;
use super::strings;

/// Endings of names of files that programs put in the place of a title.
const FILES: [&str; 16] = [
    ".pdf", ".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".odt", ".rtf", ".ps", ".eps", ".ppt", ".pptx",
    ".xls", ".xlsx", ".txt",
];
const LONGEST: usize = 2000;

/// Everything about a document but its text, as far as it says something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// What it is called.
    pub title: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What it is about.
    pub subject: Option<String>,
    /// The day on which it was made, as in RFC 3339.
    pub made_on: Option<String>,
    /// ISO 639-1.
    pub language: Option<String>,
    /// Its parts, in order.
    pub outline: Vec<Entry>,
    /// Pages without a word that show a picture: scans among others.
    pub pictures: usize,
    /// Pages that could not be read.
    pub broken: usize,
    /// The file stops before its end: words may be missing on any page.
    pub cut_off: bool,
}

/// The facts of a document.
pub fn read(pdf: &Pdf) -> Facts {
    let told = pdf.metadata();
    Facts {
        title: told.title.as_deref().and_then(said).filter(|title| is_title(title)),
        author: told.author.as_deref().and_then(said).filter(|author| is_name(author)),
        subject: told.subject.as_deref().and_then(said),
        made_on: told.creation_date.as_ref().and_then(day),
        language: language(pdf),
        outline: Vec::new(),
        pictures: 0,
        broken: 0,
        cut_off: false,
    }
}

fn said(bytes: &[u8]) -> Option<String> {
    let text = strings::text(bytes);
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let text: String = words.join(" ").chars().take(LONGEST).collect();
    text.chars().any(char::is_alphanumeric).then_some(text)
}

/// A date since there are PDFs: programs write zeros, and clocks are not set.
fn day(date: &DateTime) -> Option<String> {
    let month = Month::try_from(date.month).ok()?;
    let day = Date::from_calendar_date(date.year.into(), month, date.day).ok()?;
    // Somewhere it is tomorrow already.
    let tomorrow = OffsetDateTime::now_utc().date().next_day()?;
    ((1993..).contains(&day.year()) && day <= tomorrow).then(|| day.to_string())
}

/// Whether a title is one, and not what a program writes when it knows none.
fn is_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let file = FILES.iter().any(|ending| lower.ends_with(ending));
    let program = ["microsoft word - ", "microsoft powerpoint - ", "untitled", "unbenannt"];
    let placeholder = ["(anonymous)", "title", "document", "none", "unknown"];
    !file && !program.iter().any(|start| lower.starts_with(start)) && !placeholder.contains(&lower.as_str())
}

fn is_name(author: &str) -> bool {
    let lower = author.to_lowercase();
    ![
        "(anonymous)",
        "anonymous",
        "author",
        "admin",
        "administrator",
        "user",
        "unknown",
        "none",
        "root",
        "owner",
    ]
    .contains(&lower.as_str())
}

/// The first part of a language tag, where it has two letters.
fn language(pdf: &Pdf) -> Option<String> {
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())?;
    let tag = strings::text(catalog.get::<PdfString<'_>>("Lang")?.as_bytes());
    let code = tag.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    (code.len() == 2 && code.chars().all(|c| c.is_ascii_lowercase())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_write_is_no_title() {
        for none in ["Microsoft Word - thesis.doc", "paper.dvi", "untitled", "Untitled-1", "(anonymous)"] {
            assert!(!is_title(none), "{none}");
        }
        assert!(is_title("On the Origin of Species"));
    }

    #[test]
    fn white_space_and_controls_are_made_one_space() {
        assert_eq!(said(b"  Two\r\n words\0 ").as_deref(), Some("Two words"));
        assert_eq!(said(b" -- "), None);
    }
}
