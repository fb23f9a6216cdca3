//! Lists.

use std::ops::ControlFlow;

use deserr::{Deserr, IntoValue, MergeWithError, Sequence, Value, ValuePointerRef};
use schemars::JsonSchema;

use super::inline_schema;
use crate::faults::{Faults, ReadMode};

/// A list of `MIN` to `MAX` items. In imports a longer list is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

impl<T, const MIN: usize, const MAX: usize> List<T, MIN, MAX> {
    /// Returns the items, in the order of the request.
    pub fn into_inner(self) -> Vec<T> {
        self.0
    }

    /// Converts each item, in the order of the request.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> Vec<U> {
        self.0.into_iter().map(convert).collect()
    }
}

impl<M: ReadMode, T: Deserr<Faults<M>>, const MIN: usize, const MAX: usize> Deserr<Faults<M>>
    for List<T, MIN, MAX>
{
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        let Value::Sequence(items) = value else { return Err(Faults::new(location, "must be an array")) };
        let count = if M::CUTS { items.len().min(MAX) } else { items.len() };
        // A list that is too long is one fault; its items are not read.
        if count < MIN || count > MAX {
            return Err(Faults::new(location, format!("must have {MIN} to {MAX} items")));
        }
        let (mut read, mut faults) = (Vec::with_capacity(count), None);
        for (index, item) in items.into_iter().take(count).enumerate() {
            let location = location.push_index(index);
            match T::deserialize_from_value(item.into_value(), location) {
                Ok(item) => read.push(item),
                Err(found) => match Faults::<M>::merge(faults, found, location) {
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
