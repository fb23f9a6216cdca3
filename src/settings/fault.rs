//! What is wrong with the settings, one fault a line. No line holds a password or a key.

use std::fmt;
use std::io;
use std::path::PathBuf;

use figment::error::Kind;
use figment::value::{Num, Value};

/// Settings that hold a secret as a whole.
const SECRETS: [&str; 3] = ["ai.chat.key", "files.access_key", "files.secret_key"];

/// What the name of an unknown setting has when its value may be a secret that went astray. The section of `ai.chat.key`
/// is among them, for its misspellings.
const SECRET_MARKS: [&str; 5] = ["ai.chat.", "key", "pass", "secret", "token"];

/// A value longer than this is cut: it is there to be recognised.
const SHOWN: usize = 120;

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is not there, or may not be read.
    #[error("could not read the settings of {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The file is no TOML.
    #[error("could not read the settings of {}, line {line}: {why}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the reader of TOML said, without the line itself, which may hold a secret.
        why: String,
    },
    /// Names that are unknown and values that are wrong.
    #[error("{}", lines(.0))]
    Wrong(Vec<Fault>),
}

/// One unknown name or one wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    setting: String,
    message: String,
}

impl Fault {
    /// A name that is no setting; `allowed` are the names that stand where it was looked for.
    pub(super) fn unknown(setting: String, value: &Value, allowed: &[&str], from: &str) -> Self {
        let names = allowed.join(", ");
        let shown = shown_unknown(&setting, value);
        let message = format!("unknown setting {setting} = {shown}: expected one of {names} (from {from})");
        Self { setting, message }
    }

    /// A value that is not allowed.
    pub(super) fn wrong(setting: String, value: &Value, expected: &str, from: &str) -> Self {
        let shown = shown_known(&setting, value);
        let message = format!("setting {setting} = {shown}: expected {expected} (from {from})");
        Self { setting, message }
    }

    /// A value that is not there although another setting needs it.
    pub(super) fn missing(setting: &str, expected: &str) -> Self {
        Self::refused(setting, "", expected)
    }

    /// A value that is allowed in itself, and cannot be had here.
    pub(super) fn refused(setting: &str, value: &str, expected: &str) -> Self {
        let message = format!("setting {setting} = {value:?}: expected {expected}");
        Self { setting: setting.to_owned(), message }
    }

    /// The dotted name.
    pub fn setting(&self) -> &str {
        &self.setting
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What would have been right, in words that follow "expected".
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

/// What serde calls by the name of a type.
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

fn shown_known(setting: &str, value: &Value) -> String {
    if SECRETS.contains(&setting) {
        return "(hidden)".to_owned();
    }
    cut(written(value))
}

fn shown_unknown(setting: &str, value: &Value) -> String {
    if SECRET_MARKS.iter().any(|mark| setting.contains(mark)) {
        return "(hidden)".to_owned();
    }
    cut(written(value))
}

/// The value as it would stand in a file.
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

/// The text without what may be a password: whatever stands before the last `@` of an address, its query, and all of
/// a text that speaks of a password.
fn without_secrets(text: &str) -> String {
    if text.to_ascii_lowercase().contains("password") {
        return "(hidden)".to_owned();
    }
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let rest = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("***@{host}"));
    match rest.split_once('?') {
        Some((place, _)) => format!("{scheme}://{place}?***"),
        None => format!("{scheme}://{rest}"),
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
