//! Objects with the fields of two requests.

use std::ops::ControlFlow;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value as Json};

use super::inline_schema;
use crate::faults::RequestError;
use crate::request::{FieldName, Request};

/// An object with the fields of `A` and those of `B`, which have no name in common.
#[derive(Debug)]
pub struct JoinedRequest<A, B> {
    /// The fields of the first.
    pub first: A,
    /// The fields of the second.
    pub second: B,
}

impl<E: RequestError, A: Request + Deserr<E>, B: Deserr<E>> Deserr<E> for JoinedRequest<A, B> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        let Json::Object(members) = Json::from(value) else {
            return Err(E::fault(location, "must be an object"));
        };
        let (first, second): (Map<_, _>, Map<_, _>) =
            members.into_iter().partition(|(name, _)| A::has_field(name));
        // Unknown fields are among the second, whose faults come first.
        let second = B::deserialize_from_value(Json::Object(second).into_value(), location);
        let first = A::deserialize_from_value(Json::Object(first).into_value(), location);
        match (first, second) {
            (Ok(first), Ok(second)) => Ok(Self { first, second }),
            (Err(faults), Ok(_)) | (Ok(_), Err(faults)) => Err(faults),
            (Err(first), Err(second)) => match E::merge(Some(second), first, location) {
                ControlFlow::Continue(faults) | ControlFlow::Break(faults) => Err(faults),
            },
        }
    }
}

impl<A: Request, B: Request> Request for JoinedRequest<A, B> {
    const FIELD_NAMES: &'static [FieldName] = A::FIELD_NAMES;

    fn has_field(name: &str) -> bool {
        A::has_field(name) || B::has_field(name)
    }
}

impl<A: JsonSchema, B: JsonSchema> JsonSchema for JoinedRequest<A, B> {
    inline_schema!("JoinedRequest", |generator| joined_schema(
        A::json_schema(generator),
        B::json_schema(generator)
    ));
}

fn joined_schema(first: Schema, mut second: Schema) -> Schema {
    let mut joined = first;
    if let (Some(Json::Object(properties)), Some(Json::Object(more))) =
        (joined.get_mut("properties"), second.get_mut("properties"))
    {
        properties.extend(std::mem::take(more));
    }
    let required = |schema: &Schema| schema.get("required").and_then(Json::as_array).cloned();
    let names = [required(&joined), required(&second)].into_iter().flatten().flatten().collect::<Vec<_>>();
    if !names.is_empty() {
        joined.insert("required".to_owned(), Json::Array(names));
    }
    joined
}
