//! Lists.

use std::ops::ControlFlow;

use deserr::{Deserr, IntoValue, Sequence, Value, ValuePointerRef};
use schemars::JsonSchema;

use super::inline_schema;
use crate::faults::RequestError;

/// A list of `MIN` to `MAX` items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> List<T, MIN, MAX> {
    /// Returns the items.
    pub fn into_inner(self) -> Vec<T> {
        self.0
    }

    /// Converts each item.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Vec<U> {
        self.0.into_iter().map(convert).collect()
    }
}

impl<E: RequestError, T: Deserr<E>, const MIN: usize, const MAX: usize> Deserr<E> for List<T, MIN, MAX> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        let Value::Sequence(items) = value else { return Err(E::fault(location, "must be an array")) };
        let count = if E::CUTS { items.len().min(MAX) } else { items.len() };
        if count < MIN || count > MAX {
            return Err(E::fault(location, format!("must have {MIN} to {MAX} items")));
        }
        let (mut read, mut faults) = (Vec::with_capacity(count), None);
        for (index, item) in items.into_iter().take(count).enumerate() {
            let location = location.push_index(index);
            match T::deserialize_from_value(item.into_value(), location) {
                Ok(item) => read.push(item),
                Err(found) => match E::merge(faults, found, location) {
                    ControlFlow::Continue(merged) => faults = Some(merged),
                    ControlFlow::Break(merged) => return Err(merged),
                },
            }
        }
        faults.map_or(Ok(Self(read)), Err)
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    inline_schema!("List", |generator| {
        let items = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "array", "items": items, "minItems": MIN, "maxItems": MAX })
    });
}
