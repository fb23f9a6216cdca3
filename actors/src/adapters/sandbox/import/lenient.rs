//! Members that some versions of a program leave out or give as `null`.

use serde::{Deserialize, Deserializer};

/// The value, or the one that says nothing.
pub fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}
