//! Lenient deserialisation: members that some versions of a program omit or set to `null`, and rows of another shape.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::row::RowContent;

/// A row of a list, or something else in its place, which does not affect other rows.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Lenient<T> {
    /// A row of the expected shape.
    Valid(T),
    /// An object of another shape, of which only the name is kept.
    Named(ObjectName),
    /// Anything else, which is skipped without being kept.
    Invalid(IgnoredAny),
}

/// What names an object in a list, whatever its other members are.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ObjectName {
    title: Option<LenientText>,
    name: Option<LenientText>,
    url: Option<LenientText>,
}

/// A text, or something else in its place.
#[derive(Deserialize)]
#[serde(untagged)]
enum LenientText {
    Text(String),
    Other(IgnoredAny),
}

impl ObjectName {
    /// Returns the title, or else the name or the URL: the first that is a text and not blank.
    pub fn into_text(self) -> Option<String> {
        [self.title, self.name, self.url].into_iter().flatten().find_map(|member| match member {
            LenientText::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
            LenientText::Other(_) => None,
        })
    }
}

impl<T> Lenient<T> {
    /// Converts a row of the expected shape with `read`; anything else is skipped with a reason.
    pub fn content(self, read: impl FnOnce(T) -> RowContent) -> RowContent {
        match self {
            Lenient::Valid(row) => read(row),
            Lenient::Named(object) => RowContent::skipped_with_name("cannot be read", object.into_text()),
            Lenient::Invalid(_) => RowContent::skipped("cannot be read"),
        }
    }
}

/// Deserialises `null` as the default value; `serde(default)` alone covers only a missing member.
pub fn null_as_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
