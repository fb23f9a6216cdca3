//! The texts of the web app: one catalogue for each language, in Fluent syntax, embedded in the program.
//!
//! A part of the app has a file of the same name for each language, listed in `catalogues!`. Tests compare the languages with each other
//! and with the keys that templates and handlers use.

#[cfg(test)]
mod check;

use std::borrow::Cow;
use std::sync::LazyLock;

use fluent_bundle::bundle::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use intl_memoizer::concurrent::IntlLangMemoizer;
use tracing::error;
use unic_langid::LanguageIdentifier;
use values::kind::AppLanguage;

use super::numbers::number_text;

type Bundle = FluentBundle<FluentResource, IntlLangMemoizer>;

/// A file of the catalogues: its name, and its texts in each language.
struct CatalogueFile {
    name: &'static str,
    english: &'static str,
    german: &'static str,
}

macro_rules! catalogues {
    ($($name:literal),+ $(,)?) => {
        &[$(CatalogueFile {
            name: $name,
            english: include_str!(concat!("strings/en/", $name, ".ftl")),
            german: include_str!(concat!("strings/de/", $name, ".ftl")),
        }),+]
    };
}

/// One file for each part of the app, in alphabetical order.
static FILES: &[CatalogueFile] = catalogues![
    "account",
    "add",
    "ask",
    "assistants",
    "collections",
    "consent",
    "control",
    "errors",
    "export",
    "extension",
    "feeds",
    "formats",
    "gate",
    "highlights",
    "home",
    "import",
    "install",
    "keys",
    "library",
    "notices",
    "palette",
    "pdf",
    "places",
    "projects",
    "reader",
    "recording",
    "search",
    "shell",
    "tags",
    "uploads"
];

static ENGLISH: LazyLock<Bundle> =
    LazyLock::new(|| load(AppLanguage::English, |file| file.english, format_english));
static GERMAN: LazyLock<Bundle> =
    LazyLock::new(|| load(AppLanguage::German, |file| file.german, format_german));

/// A value that a text names in braces.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageValue {
    /// A text, which is inserted as it is.
    Text(String),
    /// A number, which is written as the language writes it and selects a plural form.
    Number(i64),
}

/// What converts to a [`MessageValue`], for filters of templates, which get references.
pub trait ToMessageValue {
    /// Returns the value.
    fn to_message_value(&self) -> MessageValue;
}

impl<T: ToMessageValue + ?Sized> ToMessageValue for &T {
    fn to_message_value(&self) -> MessageValue {
        (**self).to_message_value()
    }
}

impl ToMessageValue for MessageValue {
    fn to_message_value(&self) -> MessageValue {
        self.clone()
    }
}

impl ToMessageValue for str {
    fn to_message_value(&self) -> MessageValue {
        MessageValue::Text(self.to_owned())
    }
}

impl ToMessageValue for String {
    fn to_message_value(&self) -> MessageValue {
        MessageValue::Text(self.clone())
    }
}

impl ToMessageValue for Cow<'_, str> {
    fn to_message_value(&self) -> MessageValue {
        MessageValue::Text(self.clone().into_owned())
    }
}

macro_rules! number_values {
    ($($number:ty),+) => {$(
        impl ToMessageValue for $number {
            fn to_message_value(&self) -> MessageValue {
                // A greater number than an `i64` holds does not occur.
                MessageValue::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )+};
}

number_values!(i32, i64, u16, u32, u64, usize);

/// Returns the text of a key in a language, with these values. A key that is missing is logged and returned itself; tests find it before.
pub fn message(language: AppLanguage, key: &str, values: &[(&str, MessageValue)]) -> String {
    let bundle = bundle(language);
    let Some(pattern) = bundle.get_message(key).and_then(|message| message.value()) else {
        error!(key, "a text of the web app is missing");
        return key.to_owned();
    };
    let args: FluentArgs<'_> = values
        .iter()
        .map(|(name, value)| {
            let value = match value {
                MessageValue::Text(text) => FluentValue::String(Cow::Borrowed(text.as_str())),
                MessageValue::Number(number) => FluentValue::from(*number),
            };
            (Cow::Borrowed(*name), value)
        })
        .collect();
    let mut faults = Vec::new();
    let text = bundle.format_pattern(pattern, Some(&args), &mut faults);
    if !faults.is_empty() {
        error!(key, faults = faults.len(), "a text of the web app lacks a value");
    }
    text.into_owned()
}

/// Returns whether there is a text with this key.
pub fn has_message(key: &str) -> bool {
    ENGLISH.has_message(key)
}

fn bundle(language: AppLanguage) -> &'static Bundle {
    match language {
        AppLanguage::English => &ENGLISH,
        AppLanguage::German => &GERMAN,
    }
}

fn load(
    language: AppLanguage,
    texts: fn(&CatalogueFile) -> &'static str,
    format: fn(&FluentValue<'_>, &IntlLangMemoizer) -> Option<String>,
) -> Bundle {
    let tag: LanguageIdentifier = language.name().parse().unwrap_or_default();
    let mut bundle = FluentBundle::new_concurrent(vec![tag]);
    // Names within a sentence stand in `bdi` elements instead of invisible characters.
    bundle.set_use_isolating(false);
    bundle.set_formatter(Some(format));
    for file in FILES {
        let resource =
            FluentResource::try_new(texts(file).to_owned()).unwrap_or_else(|(resource, faults)| {
                error!(file = file.name, faults = faults.len(), "a catalogue has texts that cannot be read");
                resource
            });
        if let Err(faults) = bundle.add_resource(resource) {
            error!(file = file.name, faults = faults.len(), "a catalogue repeats keys of another one");
        }
    }
    bundle
}

fn format_english(value: &FluentValue<'_>, _: &IntlLangMemoizer) -> Option<String> {
    format_number(AppLanguage::English, value)
}

fn format_german(value: &FluentValue<'_>, _: &IntlLangMemoizer) -> Option<String> {
    format_number(AppLanguage::German, value)
}

/// Formats whole numbers as the language does. Other values are formatted by Fluent.
fn format_number(language: AppLanguage, value: &FluentValue<'_>) -> Option<String> {
    if let FluentValue::Number(number) = value {
        Some(number_text(language, number.value as i64))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_form_and_number_follow_the_language() {
        let pages = |language, count: i64| {
            message(language, "shell-notices-new", &[("count", MessageValue::Number(count))])
        };

        assert_eq!(pages(AppLanguage::English, 1), "Notices, 1 new");
        assert_eq!(pages(AppLanguage::German, 1234), "Mitteilungen, 1.234 neue");
    }
}
