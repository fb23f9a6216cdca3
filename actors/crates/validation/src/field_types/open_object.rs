//! Objects that are read later.

use std::marker::PhantomData;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value as Json};

use super::inline_schema;
use crate::faults::RequestError;
use crate::schema::titled;

/// The shapes that an [`OpenObject`] may have.
pub trait Shapes: 'static {
    /// Returns the name and the schema of each.
    fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)>;
}

/// An object of one of the shapes of `S` that is read later with [`read_object`](crate::read_object), so that a fault in it does
/// not refuse the whole request.
#[derive(Debug)]
pub struct OpenObject<S>(Map<String, Json>, PhantomData<S>);

impl<S> OpenObject<S> {
    /// Returns the members.
    pub fn into_inner(self) -> Map<String, Json> {
        self.0
    }
}

impl<E: RequestError, S> Deserr<E> for OpenObject<S> {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, E> {
        match Json::from(value) {
            Json::Object(members) => Ok(Self(members, PhantomData)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(E::fault(location, "must be an object"))
            }
        }
    }
}

impl<S: Shapes> JsonSchema for OpenObject<S> {
    inline_schema!("OpenObject", |generator| {
        let shapes = S::schemas(generator).into_iter().map(|(name, schema)| titled(schema, name));
        schemars::json_schema!({ "oneOf": shapes.collect::<Vec<_>>() })
    });
}
