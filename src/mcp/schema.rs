//! JSON Schemas of the tools: what they take is made from their tables of fields, what they answer is put together here.
//!
//! Only plain words of JSON Schema are used: `anyOf` for what may be null, and an object at the root, since clients
//! differ in what else they read.

use actors::fields::Field;
use serde_json::{Map, Value, json};

use crate::schema::{self, Reader};

/// What a tool takes.
pub fn input(fields: &[Field]) -> Value {
    schema::record(fields, Reader::Model)
}

/// An object that has all of these; more may come with later versions.
pub fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let required: Vec<_> = properties.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut schema = record(properties.into_iter());
    schema.insert("required".to_owned(), json!(required));
    Value::Object(schema)
}

/// The object, which may have this too.
pub fn optional(mut object: Value, name: &str, schema: Value) -> Value {
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(name.to_owned(), schema);
    }
    object
}

fn record<'a>(properties: impl Iterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let properties: Map<_, _> = properties.map(|(name, schema)| (name.to_owned(), schema)).collect();
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
    ])
}

/// A list.
pub fn list(of: Value) -> Value {
    json!({ "type": "array", "items": of })
}

/// This, or null.
pub fn maybe(of: Value) -> Value {
    json!({ "anyOf": [of, { "type": "null" }] })
}

/// A text.
pub fn text() -> Value {
    json!({ "type": "string" })
}

/// A whole number from 0.
pub fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

/// A number.
pub fn number() -> Value {
    json!({ "type": "number" })
}

/// True or false.
pub fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// An id.
pub fn id() -> Value {
    json!({ "type": "string", "format": "uuid" })
}

/// A moment.
pub fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// One of these names.
pub fn one_of(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

/// The same schema with words for people and models.
pub fn about(mut schema: Value, words: &str) -> Value {
    if let (Some(members), false) = (schema.as_object_mut(), words.is_empty()) {
        members.insert("description".to_owned(), json!(words));
    }
    schema
}

#[cfg(test)]
mod tests {
    use actors::fields::Kind;

    use super::*;

    const ITEM: Kind = Kind::Record(&[Field::optional("bookmarkId", Kind::Id, "")]);

    #[test]
    fn every_kind_of_field_has_its_bounds_in_the_schema() {
        let schema = input(&[
            Field::required("query", Kind::Words { min: 1, max: 500 }, "What to look for."),
            Field::optional("limit", Kind::Integer { min: 1, max: 20 }, ""),
            Field::optional("offset", Kind::Integer { min: 0, max: i64::MAX }, ""),
            Field::optional("share", Kind::Number { min: 0.0, max: 1.0 }, ""),
            Field::optional("status", Kind::Choice(&["active", "archived"]), ""),
            Field::optional("items", Kind::List { of: &ITEM, min: 1, max: 3 }, ""),
        ]);

        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "minLength": 1, "maxLength": 500, "description": "What to look for." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 20 },
                    "offset": { "type": "integer", "minimum": 0 },
                    "share": { "type": "number", "minimum": 0.0, "maximum": 1.0 },
                    "status": { "type": "string", "enum": ["active", "archived"] },
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": { "bookmarkId": { "type": "string", "format": "uuid" } },
                            "additionalProperties": false
                        },
                        "minItems": 1,
                        "maxItems": 3
                    }
                },
                "required": ["query"],
                "additionalProperties": false
            })
        );
    }

    #[test]
    fn what_may_be_null_is_said_by_any_of() {
        assert_eq!(
            object([("error", maybe(text()))]),
            json!({
                "type": "object",
                "properties": { "error": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
                "required": ["error"]
            })
        );
    }
}
