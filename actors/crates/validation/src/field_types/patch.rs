//! Changes of values that can be cleared.

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::faults::{Faults, ReadMode};

/// A change of a value that can be cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The field is absent: the value stays as it is.
    #[default]
    Absent,
    /// The field is `null`: the value is cleared.
    Null,
    /// The field has a value, which replaces the old one.
    Value(T),
}

impl<T> Patch<T> {
    /// Returns `None` if the value stays as it is, `Some(None)` if it is cleared.
    pub fn into_change(self) -> Option<Option<T>> {
        match self {
            Patch::Absent => None,
            Patch::Null => Some(None),
            Patch::Value(value) => Some(Some(value)),
        }
    }

    /// Converts the new value; keeps `Absent` and `Null`.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Patch<U> {
        self.and_then(|value| Some(convert(value)))
    }

    /// Converts the new value, or clears the value if `convert` returns `None`.
    pub fn and_then<U>(self, convert: impl FnOnce(T) -> Option<U>) -> Patch<U> {
        match self {
            Patch::Absent => Patch::Absent,
            Patch::Null => Patch::Null,
            Patch::Value(value) => convert(value).map_or(Patch::Null, Patch::Value),
        }
    }
}

impl<M: ReadMode, T: Deserr<Faults<M>>> Deserr<Faults<M>> for Patch<T> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        Option::<T>::deserialize_from_value(value, location)
            .map(|value| value.map_or(Patch::Null, Patch::Value))
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}
