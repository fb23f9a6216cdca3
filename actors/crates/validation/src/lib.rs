//! # Validation of requests
//!
//! Reads a query string, a JSON body or the arguments of a tool by one table of fields, and reports all faults together.
//!
//! | To | Use |
//! |---|---|
//! | declare the fields of a request | [`Field`], [`Kind`]; [`joined`] for two tables |
//! | read a query string | [`read_query`] |
//! | read a JSON body, or an object that was parsed before | [`read_json`], [`read_map`] |
//! | parse any JSON without repeated members | [`parse_json`] |
//! | take the values out by name | [`Values`] |
//! | check a name outside of a request | [`label`] |
//!
//! The surfaces make their schemas from the same tables, so each bound is written in one place. A fault names its field by
//! the path in the request and never repeats the value. Unknown and repeated names are faults.
//!
//! | Bound | |
//! |---|---|
//! | faults that are reported | 100 |
//! | values and members of a JSON body | 50,000 |

mod json;
mod query;
mod values;

use entity::time::Timestamp;
use errors::{Fault, Invalid};
use text::{is_deceptive, is_joiner};
use uuid::Uuid;

pub use json::{parse as parse_json, read as read_json, read_map};
pub use query::read as read_query;
pub use values::{Value, Values};

/// A field of a request.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in the query string or in the JSON object.
    pub name: &'static str,
    /// The values that are valid.
    pub kind: Kind,
    /// Whether its absence is a fault.
    pub required: bool,
    /// The meaning, for the documentation and for models.
    pub about: &'static str,
}

/// Joins two tables at compile time. `N` must be the sum of their lengths; other values do not compile.
#[expect(clippy::indexing_slicing, reason = "it is evaluated at compile time, where indexes are checked")]
pub const fn joined<const N: usize>(first: &[Field], second: &[Field]) -> [Field; N] {
    assert!(first.len() + second.len() == N);
    let mut all = [first[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < first.len() { first[index] } else { second[index - first.len()] };
        index += 1;
    }
    all
}

/// The values that are valid for a field.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A string that is not blank. Its length is in characters (Unicode scalar values), as in all kinds below.
    Words {
        /// Minimum length in characters.
        min: usize,
        /// Maximum length in characters.
        max: usize,
    },
    /// A name for display: not blank, without control characters and invisible characters. Joiners are allowed, because some
    /// scripts need them.
    Label {
        /// Maximum length in characters.
        max: usize,
    },
    /// A string, which may be empty.
    Text {
        /// Maximum length in characters.
        max: usize,
    },
    /// The name of a file, without a path.
    Filename {
        /// Maximum length in characters.
        max: usize,
    },
    /// A string of any length that the limit of the body allows. NUL is replaced by U+FFFD, because no database stores it.
    Content,
    /// A SHA-256 in hexadecimal digits; the value is in lower case.
    Sha256,
    /// A whole number.
    Integer {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// A number.
    Number {
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// `true` or `false`.
    Flag,
    /// A UUID.
    Id,
    /// A time of RFC 3339.
    Time,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list.
    List {
        /// The kind of the items.
        of: &'static Kind,
        /// Minimum number of items.
        min: usize,
        /// Maximum number of items.
        max: usize,
    },
    /// An object with these fields.
    Record(&'static [Field]),
    /// An object that has exactly one field of one table, and any fields of another table.
    Either {
        /// Exactly one of these.
        one: &'static [Field],
        /// Any of these.
        beside: &'static [Field],
    },
    /// An object of one of these shapes that is read later with [`read_map`], so that a fault in it does not refuse the whole
    /// body.
    Open(&'static [Shape]),
}

/// One of the shapes that an object may have.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The name of its schema.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

impl Field {
    /// Declares a field that must be present.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, required: true, about }
    }

    /// Declares a field that may be absent.
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, required: false, about }
    }
}

/// Faults that are reported for one request. More would only make the answer large.
const MAX_FAULTS: usize = 100;

/// The faults that were found so far, one for each field.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, field: impl Into<String>, reason: impl Into<String>) {
        let field = field.into();
        if self.0.len() < MAX_FAULTS && !self.0.iter().any(|fault| fault.field == field) {
            self.0.push(Fault { field, reason: reason.into() });
        }
    }

    fn into_result<T>(self, value: T) -> Result<T, Invalid> {
        if self.0.is_empty() { Ok(value) } else { Err(Invalid { faults: self.0 }) }
    }
}

/// Reads a string as a value of this kind. The error is the reason of the fault.
fn from_text(kind: &Kind, text: String) -> Result<Value, String> {
    match kind {
        Kind::Words { min, max } => words(text, *min, *max),
        Kind::Label { max } => label(&text, *max).map(|()| Value::Text(text)),
        Kind::Text { max } => plain(text, 0, *max).map(Value::Text),
        Kind::Filename { max } => filename(text, *max),
        // No database stores NUL. It is replaced as in HTML.
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

/// The reason of the fault when a value is not of this kind.
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

/// Checks whether a string is a valid [`Kind::Label`].
///
/// # Errors
/// The reason when it is blank, is too long, or contains a character that is not allowed.
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
    fn label_may_contain_joiners_but_no_other_invisible_characters() {
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
