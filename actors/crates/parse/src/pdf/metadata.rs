//! The metadata of a document: title, author, subject, date, language.

use hayro_syntax::Pdf;
use hayro_syntax::object::{DateTime, Dict, String as PdfString};
use serde::{Deserialize, Serialize};
use time::{Date, Month};

use super::outline::OutlineEntry;
use super::strings;

/// Extensions of file names that programs use as a title.
const FILE_EXTENSIONS: [&str; 16] = [
    ".pdf", ".doc", ".docx", ".dvi", ".tex", ".indd", ".qxd", ".odt", ".rtf", ".ps", ".eps", ".ppt", ".pptx",
    ".xls", ".xlsx", ".txt",
];
/// The maximum length of a field, in Unicode scalar values.
const MAX_CHARS: usize = 2000;

/// The metadata of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PdfMetadata {
    /// The title that the file states, in one line; `None` if it is a file name or a placeholder of a program.
    pub title: Option<String>,
    /// The author that the file states; `None` if it is a placeholder such as `Administrator`.
    pub author: Option<String>,
    /// The subject that the file states, in one line.
    pub subject: Option<String>,
    /// The date of creation as a full-date of RFC 3339, from 1993 on, when PDF appeared. It may lie in the future, because the
    /// clocks of some programs are wrong.
    pub created_on: Option<String>,
    /// The language that the file declares, ISO 639-1.
    pub language: Option<String>,
    /// Its outline, each entry before its children; at most 2,000 entries.
    pub outline: Vec<OutlineEntry>,
    /// Pages that show an image and no words, such as scans.
    pub image_only_pages: usize,
    /// Pages on which the parser failed; they are empty in the text.
    pub unreadable_pages: usize,
    /// The file is truncated: words may be missing on any page.
    pub is_truncated: bool,
}

/// Reads the metadata of a document. The numbers of pages are left at 0.
pub fn read_metadata(pdf: &Pdf) -> PdfMetadata {
    let info = pdf.metadata();
    PdfMetadata {
        title: info.title.as_deref().and_then(clean_line).filter(|title| is_title(title)),
        author: info.author.as_deref().and_then(clean_line).filter(|author| is_name(author)),
        subject: info.subject.as_deref().and_then(clean_line),
        created_on: info.creation_date.as_ref().and_then(day),
        language: language(pdf),
        outline: Vec::new(),
        image_only_pages: 0,
        unreadable_pages: 0,
        is_truncated: false,
    }
}

fn clean_line(bytes: &[u8]) -> Option<String> {
    let text = strings::decode_text(bytes);
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let text: String = words.join(" ").chars().take(MAX_CHARS).collect();
    // A field without a letter or a digit names nothing, such as `--`.
    text.chars().any(char::is_alphanumeric).then_some(text)
}

/// Returns a date if it is valid and not before 1993, when PDF appeared: programs write zeros.
fn day(date: &DateTime) -> Option<String> {
    let month = Month::try_from(date.month).ok()?;
    let day = Date::from_calendar_date(date.year.into(), month, date.day).ok()?;
    (1993..).contains(&day.year()).then(|| day.to_string())
}

/// Returns whether a title is not a placeholder set by a program.
fn is_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let file = FILE_EXTENSIONS.iter().any(|ending| lower.ends_with(ending));
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

/// Returns the primary language subtag, if it has two letters.
fn language(pdf: &Pdf) -> Option<String> {
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())?;
    let tag = strings::decode_text(catalog.get::<PdfString<'_>>("Lang")?.as_bytes());
    // A tag such as `de-AT`; some programs write an underscore.
    let code = tag.trim().split(['-', '_']).next()?.to_ascii_lowercase();
    (code.len() == 2 && code.chars().all(|c| c.is_ascii_lowercase())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_set_by_programs_are_ignored() {
        for none in ["Microsoft Word - thesis.doc", "paper.dvi", "untitled", "Untitled-1", "(anonymous)"] {
            assert!(!is_title(none), "{none}");
        }
        assert!(is_title("On the Origin of Species"));
    }

    #[test]
    fn white_space_and_controls_become_one_space() {
        assert_eq!(clean_line(b"  Two\r\n words\0 ").as_deref(), Some("Two words"));
        assert_eq!(clean_line(b" -- "), None);
    }
}
