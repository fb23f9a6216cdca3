//! What may be asked, as tables: one list of fields reads a query string, a JSON body or a tool's arguments, finds every
//! fault at once, and is also what the schemas of the surfaces are made from. So a bound is written in one place.

mod json;
mod query;
mod values;

use entity::time::Timestamp;
use text::{is_deceptive, is_joiner};
use uuid::Uuid;

pub use json::{parse as parse_json, read as read_json, read_map};
pub use query::read as read_query;
pub use values::{Value, Values};

use errors::{Fault, Invalid};

/// One field that may be given.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Leaving it out is a fault.
    pub required: bool,
    /// What it means, for people and models.
    pub about: &'static str,
}

/// Both tables as one; `N` is the sum of their lengths, and anything else does not compile.
#[expect(
    clippy::indexing_slicing,
    reason = "it runs while the program is compiled, where an index is checked"
)]
pub const fn joined<const N: usize>(first: &[Field], then: &[Field]) -> [Field; N] {
    assert!(first.len() + then.len() == N);
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { then[at - first.len()] };
        at += 1;
    }
    all
}

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text of so many characters (Unicode scalar values), not only of spaces.
    Words {
        /// Fewest characters.
        min: usize,
        /// Most characters.
        max: usize,
    },
    /// A name by which people tell things apart: words of at most so many characters, without control characters, format
    /// characters but joiners, and others that are not seen.
    Label {
        /// Most characters.
        max: usize,
    },
    /// A text of at most so many characters; it may be empty.
    Text {
        /// Most characters.
        max: usize,
    },
    /// The name of a file, without any path, of at most so many characters.
    Filename {
        /// Most characters.
        max: usize,
    },
    /// Content of any length that the body's limit lets in; NUL, which no text of ours holds, is left out of it.
    Content,
    /// A SHA-256 in hexadecimal digits, read as small letters.
    Sha256,
    /// A whole number.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// An id.
    Id,
    /// A moment of RFC 3339.
    Time,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list.
    List {
        /// What each item holds.
        of: &'static Kind,
        /// Fewest items.
        min: usize,
        /// Most items.
        max: usize,
    },
    /// An object with fields of its own.
    Record(&'static [Field]),
    /// An object that has exactly one of some fields, and any of others beside it.
    Either {
        /// Exactly one of these.
        one: &'static [Field],
        /// Any of these.
        beside: &'static [Field],
    },
    /// An object that fits one of these shapes, and that is read later: what is wrong in it is its own fault, not the
    /// whole body's.
    Open(&'static [Shape]),
}

/// One of the shapes that an object may have.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What the shape is for, as its schema is named.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

impl Field {
    /// A field that must be given.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, required: true, about }
    }

    /// A field that may be left out.
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, required: false, about }
    }
}

/// More faults are not told: whoever sends so many does not read them.
const MOST_FAULTS: usize = 100;

/// The faults found so far.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        let field = field.into();
        if self.0.len() < MOST_FAULTS && !self.0.iter().any(|fault| fault.field == field) {
            self.0.push(Fault { field, reason: reason.into() });
        }
    }

    fn into_result<T>(self, value: T) -> Result<T, Invalid> {
        if self.0.is_empty() { Ok(value) } else { Err(Invalid { faults: self.0 }) }
    }
}

/// Reads a text as a kind that texts can hold; the reason where it does not.
fn from_text(kind: &Kind, text: String) -> Result<Value, String> {
    match kind {
        Kind::Words { min, max } => words(text, *min, *max),
        Kind::Label { max } => label(&text, *max).map(|()| Value::Text(text)),
        Kind::Text { max } => plain(text, 0, *max).map(Value::Text),
        Kind::Filename { max } => filename(text, *max),
        // No database keeps NUL: it is shown to be missing, as HTML does it.
        Kind::Content => Ok(Value::Text(text.replace('\0', "\u{fffd}"))),
        Kind::Sha256 if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(Value::Text(text.to_ascii_lowercase()))
        }
        Kind::Id => match Uuid::try_parse(&text) {
            Ok(id) if id.as_hyphenated().to_string() == text.to_lowercase() => Ok(Value::Id(id)),
            Ok(_) | Err(_) => Err(mismatch_reason(kind)),
        },
        Kind::Time => Timestamp::parse(&text).map(Value::Time).ok_or_else(|| mismatch_reason(kind)),
        Kind::Choice(names) => {
            let name = names.iter().copied().find(|name| *name == text);
            name.map(Value::Name).ok_or_else(|| mismatch_reason(kind))
        }
        Kind::Sha256
        | Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::Flag
        | Kind::List { .. }
        | Kind::Record(_)
        | Kind::Either { .. }
        | Kind::Open(_) => Err(mismatch_reason(kind)),
    }
}

/// The reason of a value that is not of this kind.
fn mismatch_reason(kind: &Kind) -> String {
    match kind {
        Kind::Words { .. }
        | Kind::Label { .. }
        | Kind::Text { .. }
        | Kind::Filename { .. }
        | Kind::Content => "must be a string".to_owned(),
        Kind::Sha256 => "must be 64 hexadecimal digits".to_owned(),
        Kind::Integer { min, max } => bounds(*min, *max),
        Kind::Number { min, max } => number_bounds(*min, *max),
        Kind::Flag => "must be true or false".to_owned(),
        Kind::Id => "must be an id (a UUID)".to_owned(),
        Kind::Time => "must be a time like 2024-05-06T07:08:09.000Z".to_owned(),
        Kind::Choice(names) => format!("must be one of {}", names.join(", ")),
        Kind::List { .. } => "must be an array".to_owned(),
        Kind::Record(_) | Kind::Either { .. } | Kind::Open(_) => "must be an object".to_owned(),
    }
}

fn words(text: String, min: usize, max: usize) -> Result<Value, String> {
    if text.trim().is_empty() && min > 0 {
        return Err(if text.is_empty() { "must not be empty" } else { "must not be blank" }.to_owned());
    }
    plain(text, min, max).map(Value::Text)
}

/// Whether a text is a [`Kind::Label`]; the reason where it is not.
///
/// # Errors
/// It is blank, too long, or holds a character that a label must not hold.
pub fn label(text: &str, max: usize) -> Result<(), String> {
    let length = text.chars().count();
    let is_blank = text.chars().all(|c| c.is_whitespace() || is_joiner(c));
    if is_blank || length > max {
        Err(format!("must have 1 to {max} characters and must not be blank"))
    } else if text.chars().any(|c| is_deceptive(c) && !is_joiner(c)) {
        Err("must not contain control characters or invisible characters".to_owned())
    } else {
        Ok(())
    }
}

fn filename(text: String, max: usize) -> Result<Value, String> {
    let name = plain(text, 1, max)?;
    if name.trim().is_empty() {
        Err("must not be blank".to_owned())
    } else if name.contains(['/', '\\']) || matches!(name.as_str(), "." | "..") {
        Err("must be a file name without a path".to_owned())
    } else if name.chars().any(char::is_control) {
        Err("must not contain control characters".to_owned())
    } else {
        Ok(Value::Text(name))
    }
}

fn plain(text: String, min: usize, max: usize) -> Result<String, String> {
    let length = text.chars().count();
    if length < min || length > max {
        return Err(format!("must have {min} to {max} characters"));
    }
    if text.contains('\0') { Err("must not contain the character NUL".to_owned()) } else { Ok(text) }
}

fn integer(number: i64, min: i64, max: i64) -> Result<Value, String> {
    if (min..=max).contains(&number) { Ok(Value::Integer(number)) } else { Err(bounds(min, max)) }
}

fn number(number: f64, min: f64, max: f64) -> Result<Value, String> {
    if (min..=max).contains(&number) { Ok(Value::Number(number)) } else { Err(number_bounds(min, max)) }
}

fn number_bounds(min: f64, max: f64) -> String {
    format!("must be a number from {min} to {max}")
}

fn bounds(min: i64, max: i64) -> String {
    if max == i64::MAX {
        format!("must be a whole number of at least {min}")
    } else {
        format!("must be a whole number from {min} to {max}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_holds_joiners_and_no_other_unseen_characters() {
        for good in ["my laptop", "Größe 5", "مفتاح", "می\u{200c}خواهم", "ක්\u{200d}ෂ", "👩\u{200d}🔬 lab"]
        {
            assert_eq!(label(good, 300), Ok(()), "{good}");
        }
        for bad in [
            "a\nb",
            "a\tb",
            "a\u{1b}[31m",
            "a\0",
            "a\u{85}",
            "a\u{2028}b",
            "\u{202e}gpj.exe",
            "a\u{2066}b",
            "a\u{200f}",
            "a\u{200b}b",
            "a\u{ad}b",
            "a\u{2060}b",
            "\u{feff}a",
            "a\u{fff9}b",
            "\u{600}1",
            "a\u{e0041}",
            "a\u{1d173}",
        ] {
            assert!(label(bad, 300).is_err(), "{bad:?}");
        }
        for bad in ["", " ", "\u{200d} \u{200c}"] {
            assert!(label(bad, 300).is_err(), "{bad:?}");
        }
        assert!(label("abc", 2).is_err());
    }
}
