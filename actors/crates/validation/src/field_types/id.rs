//! Ids and times.

use std::fmt;
use std::str::FromStr;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::JsonSchema;
use values::time::Timestamp;

use super::inline_schema;
use super::text::text_of;
use crate::faults::{Faults, ReadMode};

/// An id: a UUID with hyphens, in upper or lower case. `T` is one of the types of [`values::id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id<T>(T);

/// A time in the format of RFC 3339, such as `2024-05-06T07:08:09.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(Timestamp);

impl<T> Id<T> {
    /// Returns the id. Whether the object exists, and whose it is, is not known yet.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Time {
    /// Returns the time, in whole milliseconds.
    pub fn into_inner(self) -> Timestamp {
        self.0
    }
}

impl<T: fmt::Display> fmt::Display for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<M: ReadMode, T: FromStr> Deserr<Faults<M>> for Id<T> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        const REASON: &str = "must be an id (a UUID)";
        let text = text_of(value, location, REASON)?;
        // The types of ids read only lower case.
        text.to_ascii_lowercase().parse().map(Self).map_err(|_| Faults::new(location, REASON))
    }
}

impl<M: ReadMode> Deserr<Faults<M>> for Time {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        const REASON: &str = "must be a time like 2024-05-06T07:08:09.000Z";
        let text = text_of(value, location, REASON)?;
        Timestamp::parse(&text).map(Self).ok_or_else(|| Faults::new(location, REASON))
    }
}

impl<T> JsonSchema for Id<T> {
    inline_schema!("Id", { "type": "string", "format": "uuid" });
}

impl JsonSchema for Time {
    inline_schema!("Time", { "type": "string", "format": "date-time" });
}
