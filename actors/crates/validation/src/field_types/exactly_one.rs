//! Objects that must have exactly one of some fields.

use std::ops::ControlFlow;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};

use super::inline_schema;
use crate::faults::RequestError;
use crate::request::Request;
use crate::schema::{self, titled};

/// A request of which exactly one of some optional fields must be given.
pub trait Alternatives: Request {
    /// The names of these fields, as in the JSON object.
    const NAMES: &'static [&'static str];
}

/// An object with exactly one of the [`Alternatives`] of `T`. An alternative that is `null` does not count as given.
#[derive(Debug)]
pub struct ExactlyOne<T>(T);

impl<T> ExactlyOne<T> {
    /// Returns the object.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<E: RequestError, T: Alternatives + Deserr<E>> Deserr<E> for ExactlyOne<T> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        let Value::Map(members) = value else { return Err(E::fault(location, "must be an object")) };
        // The alternatives are counted before the object is read: one with an invalid value is given too.
        let json = Json::from(Value::<V>::Map(members));
        let is_given = |name: &&&str| json.get(**name).is_some_and(|json| !json.is_null());
        let given = T::NAMES.iter().filter(is_given).count();
        let read = T::deserialize_from_value(json.into_value(), location);
        if given == 1 {
            return read.map(Self);
        }
        let fault = E::fault(location, format!("must have exactly one of {}", T::NAMES.join(", ")));
        match read {
            Ok(_) => Err(fault),
            Err(faults) => match E::merge(Some(fault), faults, location) {
                ControlFlow::Continue(faults) | ControlFlow::Break(faults) => Err(faults),
            },
        }
    }
}

impl<T: Alternatives> JsonSchema for ExactlyOne<T> {
    inline_schema!("ExactlyOne", |generator| one_of_schema::<T>(generator));
}

/// A shape for each of the alternatives: the others may only be `null` in it.
fn one_of_schema<T: Alternatives>(generator: &mut SchemaGenerator) -> Schema {
    let whole = T::json_schema(generator);
    let shapes = T::NAMES.iter().map(|chosen| {
        let mut shape = whole.clone();
        if let Some(properties) = shape.get_mut("properties").and_then(Json::as_object_mut) {
            restrict(properties, T::NAMES, chosen);
        }
        let mut required = shape.get("required").and_then(Json::as_array).cloned().unwrap_or_default();
        required.insert(0, json!(chosen));
        shape.insert("required".to_owned(), json!(required));
        titled(shape, chosen)
    });
    schemars::json_schema!({ "oneOf": shapes.collect::<Vec<_>>() })
}

fn restrict(properties: &mut Map<String, Json>, alternatives: &[&str], chosen: &str) {
    for name in alternatives {
        if let Some(property) = properties.get_mut(*name) {
            if *name == chosen {
                schema::remove_null(property);
            } else {
                *property = json!({ "type": "null" });
            }
        }
    }
}
