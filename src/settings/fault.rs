//! The faults of the settings, one per line. No line holds a password or a key.

use std::fmt;
use std::io;
use std::path::PathBuf;

use figment::error::Kind;
use figment::value::{Num, Value};

use super::value::{Secret, Text};

/// What the value is replaced by where it may be a secret.
const HIDDEN: &str = "(hidden)";

/// Sections with a setting that holds a key or a password. The values of unknown names in them are hidden, because such a name may
/// be that of the secret, misspelled.
const SECTIONS_WITH_SECRETS: [&str; 5] = ["ai", "database", "files", "mail", "vectors"];

/// Parts of the names of unknown settings whose values may be misplaced secrets, in whatever section.
const SECRET_MARKS: [&str; 4] = ["key", "pass", "secret", "token"];

/// A longer value is truncated: it is shown only to be recognised.
const MAX_SHOWN_CHARS: usize = 120;

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file does not exist or cannot be read.
    #[error("could not read the settings of {}: {cause}", path.display())]
    Unreadable {
        /// Path of the settings file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The file is not valid TOML.
    #[error("could not read the settings of {}, line {line}: {why}", path.display())]
    NotToml {
        /// Path of the settings file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The message of the TOML parser, without the line itself, which may hold a secret.
        why: String,
    },
    /// Unknown names and invalid values.
    #[error("{}", lines(.0))]
    Wrong(Vec<Fault>),
}

/// One unknown name or one invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    setting: String,
    message: String,
}

impl Fault {
    /// Reports an unknown name; `allowed` are the known names of the section in which it was looked up.
    pub(super) fn unknown(setting: String, value: &Value, allowed: &[&str], from: &str) -> Self {
        let names = allowed.join(", ");
        let shown = shown_unknown(&setting, value);
        let message = format!("unknown setting {setting} = {shown}: expected one of {names} (from {from})");
        Self { setting, message }
    }

    /// Reports a value that is not allowed for its setting.
    pub(super) fn wrong(setting: String, value: &Value, expected: &str, from: &str) -> Self {
        let shown = shown_known(&setting, value, expected);
        let message = format!("setting {setting} = {shown}: expected {expected} (from {from})");
        Self { setting, message }
    }

    /// Reports a value in the place of a section.
    pub(super) fn no_section(section: String, value: &Value, from: &str) -> Self {
        let shown = shown_unknown(&section, value);
        let message = format!("setting {section} = {shown}: expected a section of settings (from {from})");
        Self { setting: section, message }
    }

    /// Reports a missing value that another setting requires.
    pub(super) fn missing(setting: &str, expected: &str) -> Self {
        Self::refused(setting, "", expected)
    }

    /// Reports a value that is valid in itself but is not supported here.
    pub(super) fn refused(setting: &str, value: &str, expected: &str) -> Self {
        let message = format!("setting {setting} = {value:?}: expected {expected}");
        Self { setting: setting.to_owned(), message }
    }

    /// Returns the dotted name of the setting.
    pub fn setting(&self) -> &str {
        &self.setting
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Describes the allowed values, to follow "expected".
pub(super) fn expected(kind: &Kind) -> String {
    match kind {
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) => in_words(expected),
        Kind::UnknownVariant(_, names) => format!("one of {}", names.join(", ")),
        Kind::Message(words) => words.clone(),
        Kind::InvalidLength(..)
        | Kind::UnknownField(..)
        | Kind::MissingField(_)
        | Kind::DuplicateField(_)
        | Kind::ISizeOutOfRange(_)
        | Kind::USizeOutOfRange(_)
        | Kind::Unsupported(_)
        | Kind::UnsupportedKey(..) => format!("another value: {kind}"),
    }
}

/// Describes a type that serde names in its messages.
fn in_words(expected: &str) -> String {
    match expected {
        "a boolean" => "true or false".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" => "a whole number, 0 or more".to_owned(),
        words => words.to_owned(),
    }
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}

/// Formats the value of a setting that exists. A secret is recognised by its type, whose description is what is expected; the name
/// covers a secret of another type.
fn shown_known(setting: &str, value: &Value, expected: &str) -> String {
    if expected.contains(Secret::EXPECTED) || setting.ends_with("key") {
        return HIDDEN.to_owned();
    }
    truncated(written(value))
}

fn shown_unknown(setting: &str, value: &Value) -> String {
    let section = setting.split_once('.').map_or(setting, |(section, _)| section);
    if SECTIONS_WITH_SECRETS.contains(&section) || SECRET_MARKS.iter().any(|mark| setting.contains(mark)) {
        return HIDDEN.to_owned();
    }
    truncated(written(value))
}

/// Formats the value as in a settings file.
fn written(value: &Value) -> String {
    match value {
        Value::String(_, text) => format!("{:?}", without_secrets(text)),
        Value::Char(_, letter) => format!("{letter:?}"),
        Value::Bool(_, truth) => truth.to_string(),
        Value::Num(_, number) => number_written(*number),
        Value::Empty(..) => "\"\"".to_owned(),
        Value::Dict(..) => "{...}".to_owned(),
        Value::Array(_, items) => {
            format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
        }
    }
}

fn number_written(number: Num) -> String {
    match (number.to_i128(), number.to_u128(), number.to_f64()) {
        (Some(whole), _, _) => whole.to_string(),
        (None, Some(whole), _) => whole.to_string(),
        (None, None, Some(broken)) => broken.to_string(),
        (None, None, None) => "a number".to_owned(),
    }
}

/// Removes what may be a password from a text: the part of a URL before its last `@`, the query of a URL, and the whole text if it
/// contains the word "password". A colon before an `@` is read as a URL without its scheme.
fn without_secrets(text: &str) -> String {
    if text.to_ascii_lowercase().contains("password") {
        return HIDDEN.to_owned();
    }
    // From the last `@`: a password may contain one that is not encoded.
    let has_credentials = |text: &str| text.rsplit_once('@').is_some_and(|(before, _)| before.contains(':'));
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None if has_credentials(text) => (String::new(), text),
        // Also a URL, such as `sqlite:PATH?mode=rwc`.
        None => return without_query(text),
    };
    let rest = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}{}", without_query(&rest))
}

fn without_query(text: &str) -> String {
    text.split_once('?').map_or_else(|| text.to_owned(), |(place, _)| format!("{place}?***"))
}

fn truncated(text: String) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
