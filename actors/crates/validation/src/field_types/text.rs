//! Texts. Lengths are in characters (Unicode scalar values).

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::JsonSchema;
use text::{is_deceptive, is_joiner, without_controls};
use values::url::MAX_URL_CHARS;

use super::{inline_schema, patterns};
use crate::faults::{Faults, ReadMode};
use crate::reasons;

/// A string of `MIN` to `MAX` characters that is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<const MIN: usize, const MAX: usize>(String);

/// A name for display of 1 to `MAX` characters: not blank, without control characters and invisible characters. Joiners are
/// allowed, because some scripts need them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<const MAX: usize>(String);

/// A name that a user gives, of `MIN` to `MAX` characters: not blank unless `MIN` is 0, and without control characters, which imports
/// replace by spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayName<const MIN: usize, const MAX: usize>(String);

/// The title of a page or a file, of `MIN` to `MAX` characters, and not blank unless `MIN` is 0. Control characters are replaced by
/// spaces rather than refused, because titles of pages contain line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTitle<const MIN: usize, const MAX: usize>(String);

/// A string of up to `MAX` characters, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<const MAX: usize>(String);

/// The name of a file of 1 to `MAX` characters, without a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName<const MAX: usize>(String);

/// A URL of 1 to [`MAX_URL_CHARS`] characters. It is only checked as text. It is never cut: a cut one would be another URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlText(String);

/// A string of any length that the limit of the body allows. NUL is replaced by U+FFFD as in HTML, because no database stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content(String);

/// A SHA-256 in hexadecimal digits, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sha256Hex(String);

/// Implements the reader of a type of texts. `cut` is the text to which it is changed where texts are cut.
macro_rules! read_text {
    ([$($generics:tt)*] $type:ty, $(cut $cut:expr,)? |$text:ident| $read:expr) => {
        impl<M: ReadMode, $($generics)*> Deserr<Faults<M>> for $type {
            fn deserialize_from_value<V: IntoValue>(
                value: Value<V>,
                location: ValuePointerRef<'_>,
            ) -> Result<Self, Faults<M>> {
                let $text = text_of(value, location, "must be a string")?;
                $(let $text = if M::CUTS { $cut } else { $text };)?
                Self::try_from($text).map_err(|reason| Faults::new(location, reason))
            }
        }

        impl<$($generics)*> TryFrom<String> for $type {
            /// What is wrong with the text, as a phrase that follows the name of its field.
            type Error = String;

            fn try_from($text: String) -> Result<Self, String> {
                let read: Result<String, String> = $read;
                read.map(Self)
            }
        }

        impl<$($generics)*> $type {
            /// Returns the text, which keeps the rules of its type.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the text, which keeps the rules of its type.
            pub fn into_inner(self) -> String {
                self.0
            }
        }

        impl<$($generics)*> From<$type> for String {
            fn from(field: $type) -> Self {
                field.0
            }
        }
    };
}

read_text!([const MIN: usize, const MAX: usize] Words<MIN, MAX>, cut cut(text, MAX), |text| words(text, MIN, MAX));
read_text!([const MAX: usize] Label<MAX>, |text| label(&text, MAX).map(|()| text));
read_text!(
    [const MIN: usize, const MAX: usize] DisplayName<MIN, MAX>,
    cut cut(without_controls(&text), MAX),
    |text| display_name(text, MIN, MAX)
);
read_text!(
    [const MIN: usize, const MAX: usize] PageTitle<MIN, MAX>,
    cut cut(text, MAX),
    |text| page_title(text, MIN, MAX)
);
read_text!([const MAX: usize] Text<MAX>, cut cut(text, MAX), |text| plain(text, 0, MAX));
read_text!([const MAX: usize] FileName<MAX>, |text| file_name(text, MAX));
read_text!([] UrlText, |text| words(text, 1, MAX_URL_CHARS));
read_text!([] Content, |text| Ok(text.replace('\0', "\u{fffd}")));

impl<M: ReadMode> Deserr<Faults<M>> for Sha256Hex {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        const REASON: &str = "must be 64 hexadecimal digits";
        let text = text_of(value, location, REASON)?;
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(Faults::new(location, REASON))
        }
    }
}

impl Sha256Hex {
    /// Returns the 64 digits, in lower case.
    pub fn into_inner(self) -> String {
        self.0
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Words<MIN, MAX> {
    inline_schema!("Words", { "type": "string", "minLength": MIN, "maxLength": MAX, "pattern": patterns::WORDS });
}

impl<const MAX: usize> JsonSchema for Label<MAX> {
    inline_schema!("Label", { "type": "string", "minLength": 1, "maxLength": MAX, "pattern": patterns::LABEL });
}

impl<const MIN: usize, const MAX: usize> JsonSchema for DisplayName<MIN, MAX> {
    inline_schema!("DisplayName", {
        "type": "string", "minLength": MIN, "maxLength": MAX,
        "pattern": if MIN == 0 { patterns::NAME_OR_EMPTY } else { patterns::NAME }
    });
}

impl<const MIN: usize, const MAX: usize> JsonSchema for PageTitle<MIN, MAX> {
    inline_schema!("PageTitle", {
        "type": "string", "minLength": MIN, "maxLength": MAX,
        "pattern": if MIN == 0 { patterns::TEXT } else { patterns::PAGE_TITLE }
    });
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    inline_schema!("Text", { "type": "string", "maxLength": MAX, "pattern": patterns::TEXT });
}

impl<const MAX: usize> JsonSchema for FileName<MAX> {
    inline_schema!("FileName", {
        "type": "string", "minLength": 1, "maxLength": MAX, "pattern": patterns::FILE_NAME
    });
}

impl JsonSchema for UrlText {
    inline_schema!("UrlText", {
        "type": "string", "minLength": 1, "maxLength": MAX_URL_CHARS, "pattern": patterns::WORDS
    });
}

impl JsonSchema for Content {
    inline_schema!("Content", { "type": "string" });
}

impl JsonSchema for Sha256Hex {
    inline_schema!("Sha256Hex", {
        "type": "string", "minLength": 64, "maxLength": 64, "pattern": patterns::SHA_256
    });
}

/// Returns the text of a value. `mismatch` is the reason of the fault if it has none.
pub(super) fn text_of<V: IntoValue, M: ReadMode>(
    value: Value<V>,
    location: ValuePointerRef<'_>,
    mismatch: &str,
) -> Result<String, Faults<M>> {
    let Value::String(text) = value else { return Err(Faults::new(location, mismatch)) };
    if M::FROM_TEXT && text.is_empty() {
        return Err(Faults::new(location, "must not be empty"));
    }
    Ok(text)
}

/// Removes NUL and everything after `max` characters.
fn cut(mut text: String, max: usize) -> String {
    text.retain(|c| c != '\0');
    if let Some((end, _)) = text.char_indices().nth(max) {
        text.truncate(end);
    }
    text
}

fn words(text: String, min: usize, max: usize) -> Result<String, String> {
    if text.trim().is_empty() && min > 0 {
        return Err(if text.is_empty() { "must not be empty" } else { "must not be blank" }.to_owned());
    }
    plain(text, min, max)
}

fn display_name(text: String, min: usize, max: usize) -> Result<String, String> {
    let text = words(text, min, max)?;
    if text.chars().any(char::is_control) { Err(reasons::CONTROL_CHARACTERS.to_owned()) } else { Ok(text) }
}

fn page_title(text: String, min: usize, max: usize) -> Result<String, String> {
    // First, so that NUL is refused as in every other text.
    let text = words(text, min, max)?;
    words(without_controls(&text), min, max)
}

/// Checks whether a string is a valid [`Label`] of up to `max` characters.
///
/// # Errors
/// The reason, as a [`String`], when it is blank, is too long, or contains a character that is not allowed.
pub fn label(text: &str, max: usize) -> Result<(), String> {
    let length = text.chars().count();
    let is_blank = text.chars().all(|c| c.is_whitespace() || is_joiner(c));
    if is_blank || length > max {
        Err(format!("must have 1 to {max} characters and must not be blank"))
    } else if text.chars().any(|c| is_deceptive(c) && !is_joiner(c)) {
        Err(reasons::DECEPTIVE_TEXT.to_owned())
    } else {
        Ok(())
    }
}

fn file_name(text: String, max: usize) -> Result<String, String> {
    let name = plain(text, 1, max)?;
    if name.trim().is_empty() {
        Err("must not be blank".to_owned())
    } else if name.contains(['/', '\\']) || matches!(name.as_str(), "." | "..") {
        Err("must be a file name without a path".to_owned())
    } else if name.chars().any(char::is_control) {
        Err("must not contain control characters".to_owned())
    } else {
        Ok(name)
    }
}

fn plain(text: String, min: usize, max: usize) -> Result<String, String> {
    let length = text.chars().count();
    if length < min || length > max {
        return Err(format!("must have {min} to {max} characters"));
    }
    if text.contains('\0') { Err("must not contain the character NUL".to_owned()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use deserr::deserialize;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::faults::{ImportMode, JsonMode};

    fn read<T: Deserr<Faults<JsonMode>>>(json: Json) -> Result<T, String> {
        deserialize::<T, _, Faults<JsonMode>>(json)
            .map_err(|faults| faults.into_list().into_invalid().faults.swap_remove(0).reason)
    }

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

    #[test]
    fn names_refuse_control_characters_and_imports_replace_them() {
        let reason = || "must not contain control characters".to_owned();
        for bad in ["a\nb", "a\u{1b}[31m", "a\u{9b}31m"] {
            assert_eq!(read::<DisplayName<1, 9>>(json!(bad)), Err(reason()), "{bad:?}");
            assert_eq!(read::<DisplayName<0, 9>>(json!(bad)), Err(reason()), "{bad:?}");
        }
        assert_eq!(read::<DisplayName<1, 9>>(json!("")), Err("must not be empty".to_owned()));
        assert_eq!(read::<DisplayName<1, 9>>(json!(" ")), Err("must not be blank".to_owned()));
        assert_eq!(read::<DisplayName<1, 2>>(json!("abc")), Err("must have 1 to 2 characters".to_owned()));
        assert_eq!(read::<DisplayName<0, 9>>(json!("")), Ok(DisplayName(String::new())));
        let persian = "می\u{200c}خواهم";
        assert_eq!(read::<DisplayName<1, 9>>(json!(persian)), Ok(DisplayName(persian.to_owned())));

        let imported = deserialize::<DisplayName<1, 5>, _, Faults<ImportMode>>(json!("a\nbcde"));
        assert_eq!(imported.map(DisplayName::into_inner).ok().as_deref(), Some("a bcd"));
    }

    #[test]
    fn titles_of_pages_lose_control_characters() {
        assert_eq!(read::<PageTitle<1, 9>>(json!("a\n\u{7}b")), Ok(PageTitle("a  b".to_owned())));
        assert_eq!(read::<PageTitle<1, 9>>(json!("\u{7}")), Err("must not be blank".to_owned()));
        assert_eq!(read::<PageTitle<1, 9>>(json!(" ")), Err("must not be blank".to_owned()));
        assert_eq!(read::<PageTitle<0, 9>>(json!("")), Ok(PageTitle(String::new())));
        assert_eq!(
            read::<PageTitle<0, 9>>(json!("a\0")),
            Err("must not contain the character NUL".to_owned())
        );
    }

    #[test]
    fn reasons_say_what_a_text_must_be() {
        assert_eq!(read::<Words<1, 3>>(json!("")), Err("must not be empty".to_owned()));
        assert_eq!(read::<Words<1, 3>>(json!(" ")), Err("must not be blank".to_owned()));
        assert_eq!(read::<Words<1, 3>>(json!("abcd")), Err("must have 1 to 3 characters".to_owned()));
        assert_eq!(read::<Words<1, 3>>(json!(7)), Err("must be a string".to_owned()));
        assert_eq!(read::<Words<1, 3>>(Json::Null), Err("must be a string".to_owned()));
        assert_eq!(read::<Text<3>>(json!("a\0")), Err("must not contain the character NUL".to_owned()));
        assert_eq!(read::<Text<3>>(json!("")), Ok(Text(String::new())));
        assert_eq!(
            read::<Label<3>>(json!("")),
            Err("must have 1 to 3 characters and must not be blank".to_owned())
        );
        assert_eq!(read::<FileName<9>>(json!("a/b")), Err("must be a file name without a path".to_owned()));
        assert_eq!(read::<FileName<9>>(json!(" ")), Err("must not be blank".to_owned()));
        assert_eq!(read::<FileName<9>>(json!("a\tb")), Err("must not contain control characters".to_owned()));
        assert_eq!(read::<Sha256Hex>(json!("ab")), Err("must be 64 hexadecimal digits".to_owned()));
        assert_eq!(read::<Sha256Hex>(json!("aB".repeat(32))), Ok(Sha256Hex("ab".repeat(32))));
        assert_eq!(read::<Content>(json!("a\0b")), Ok(Content("a\u{fffd}b".to_owned())));
    }

    #[test]
    fn imports_cut_texts_but_no_urls() {
        let cut = |json| deserialize::<Text<2>, _, Faults<ImportMode>>(json).map(Text::into_inner).ok();
        assert_eq!(cut(json!("ä\0öü")).as_deref(), Some("äö"));
        let long = json!("u".repeat(MAX_URL_CHARS + 1));
        assert!(deserialize::<UrlText, _, Faults<ImportMode>>(long).is_err());
    }
}
