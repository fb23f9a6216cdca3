//! Members that some versions of a program leave out or give as `null`, and rows that are not what they should be.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::row::Found;

/// A row of a list, or something else in its place, which costs no other row.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum OneOf<T> {
    /// As it should be.
    Known(T),
    /// Anything else.
    Odd(IgnoredAny),
}

impl<T> OneOf<T> {
    /// What is found in it.
    pub fn found(self, read: impl FnOnce(T) -> Found) -> Found {
        match self {
            OneOf::Known(row) => read(row),
            OneOf::Odd(_) => Found::Passed("cannot be read".to_owned()),
        }
    }
}

/// The value, or the one that says nothing.
pub fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
