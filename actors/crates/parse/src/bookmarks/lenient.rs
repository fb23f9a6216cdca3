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
    /// Anything else, which is skipped without being kept.
    Invalid(IgnoredAny),
}

impl<T> Lenient<T> {
    /// Converts a row of the expected shape with `read`; anything else is skipped with a reason.
    pub fn content(self, read: impl FnOnce(T) -> RowContent) -> RowContent {
        match self {
            Lenient::Valid(row) => read(row),
            Lenient::Invalid(_) => RowContent::Skipped("cannot be read".to_owned()),
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
