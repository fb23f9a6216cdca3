//! Schemas of replies, generated from the types that are serialized.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use validation::separate_null;

/// Removes references to documents of the design from descriptions: clients do not have those documents.
fn without_sources(schema: &mut Schema) {
    let Some(Value::String(words)) = schema.get_mut("description") else { return };
    // A reference stands in parentheses, such as ` (spec.md: Limits)`.
    for begins in [" (spec.md", " (contract.md"] {
        while let Some(at) = words.find(begins) {
            let end = words.get(at..).and_then(|rest| rest.find(')')).map_or(words.len(), |end| at + end + 1);
            words.replace_range(at..end, "");
        }
    }
}

/// Creates a generator whose schemas refer to named types as components of an API's description.
pub fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings.with_transform(RecursiveTransform(without_sources)).into_generator()
}

/// Returns the complete schema of a type without references, with `anyOf` for nullable values: clients differ in which other keywords
/// they support.
pub fn plain<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| {
            // A client can use the schema of a tool without resolving `$ref`.
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(RecursiveTransform(without_sources))
        .with_transform(RecursiveTransform(simplify));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        // The names of the types of this program mean nothing to a client.
        members.remove("title");
    }
    schema
}

/// Returns the description of a schema, which is the doc comment of its type.
pub fn described_by(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

/// Replaces `type: [x, null]` by `anyOf`, and removes number formats such as `uint32`, which mean nothing to clients.
fn simplify(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    if members
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|format| !matches!(format, "uuid" | "date-time"))
    {
        members.remove("format");
    }
    separate_null(schema);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct InnerType {
        /// How many (spec.md: Limits, rule 3), at most.
        count: u32,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct OuterType {
        /// Words, or none.
        words: Option<String>,
        part: Option<InnerType>,
    }

    #[test]
    fn plain_schema_has_no_references_and_null_by_any_of() {
        let schema = plain::<OuterType>();

        assert!(!schema.to_string().contains("$ref") && !schema.to_string().contains("uint32"), "{schema}");
        assert_eq!(
            schema["properties"]["words"],
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "Words, or none." })
        );
        assert_eq!(schema["required"], json!(["words", "part"]));
        assert!(schema.to_string().contains("How many, at most."), "{schema}");
    }
}
