//! Writes queries.

use std::fmt::{self, Write};

use super::parse::{ESCAPE, EXCLUSION, QUOTE, field_of, is_alternative};
use super::{LibraryQuery, QueryCondition, QueryGroup, QueryTerm};

/// The query in its shortest form: texts are quoted only where they would have another meaning.
impl fmt::Display for LibraryQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            group.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_excluded {
            f.write_char(EXCLUSION)?;
        }
        self.condition.fmt(f)
    }
}

impl fmt::Display for QueryCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if is_operator(text) => write_quoted(f, text),
            Self::Text(text) => write_text(f, text),
            Self::Tag(name) => write_field(f, "tag", name),
            Self::Is(state) => write!(f, "is:{state}"),
            Self::Type(kind) => write!(f, "type:{kind}"),
            Self::Site(host) => write_field(f, "site", host),
            Self::Feed(feed) => write_field(f, "feed", feed),
            Self::Collection(collection) => write_field(f, "collection", collection),
            Self::Before(date) => write!(f, "before:{}", date.text),
            Self::After(date) => write!(f, "after:{}", date.text),
            Self::UpTo(minutes) => write!(f, "upto:{minutes}"),
        }
    }
}

/// Returns whether a text has another meaning if it is not quoted.
fn is_operator(text: &str) -> bool {
    text.starts_with(EXCLUSION) || is_alternative(text) || field_of(text).is_some()
}

fn write_field(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    write!(f, "{name}:")?;
    write_text(f, value)
}

/// Writes a text, in quotation marks if it is no word.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let is_word = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == QUOTE);
    if is_word { f.write_str(text) } else { write_quoted(f, text) }
}

fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char(QUOTE)?;
    for c in text.chars() {
        if matches!(c, QUOTE | ESCAPE) {
            f.write_char(ESCAPE)?;
        }
        f.write_char(c)?;
    }
    f.write_char(QUOTE)
}
