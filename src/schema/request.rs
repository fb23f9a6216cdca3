//! Schemas of requests, generated from the types that parse them ([`validation::schema_of`]).

use serde_json::{Value, json};
use validation::{Request, remove_null, schema_of};

/// Returns the schema of a request for a model that fills in the arguments of a tool: without `null`, patterns and bounds that
/// restrict nothing, because clients differ in which other keywords they support.
pub fn for_model<R: Request>() -> Value {
    let mut schema = schema_of::<R>();
    simplify(&mut schema);
    schema
}

fn simplify(schema: &mut Value) {
    remove_null(schema);
    let Some(members) = schema.as_object_mut() else { return };
    members.remove("pattern");
    // The largest integer stands for "no maximum".
    if members.get("maximum").is_some_and(|maximum| *maximum == json!(i64::MAX)) {
        members.remove("maximum");
    }
    if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = members.get_mut("items") {
        simplify(items);
    }
}

/// Returns the schema of a query parameter, without its description, and the description. An empty parameter is invalid,
/// whatever its type.
pub fn for_query(mut property: Value) -> (Value, String) {
    let description = property.as_object_mut().and_then(|members| members.remove("description"));
    remove_null(&mut property);
    if let Some(members) = property.as_object_mut()
        && members.get("type").is_some_and(|kind| kind == "string")
        && !["enum", "format", "minLength"].iter().any(|keyword| members.contains_key(*keyword))
    {
        members.insert("minLength".to_owned(), json!(1));
    }
    (property, description.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default())
}

/// Returns whether a request has a field of this kind, including fields within lists and objects. `is` takes the name and the schema of
/// a field.
pub fn has_field(schema: &Value, is: &dyn Fn(&str, &Value) -> bool) -> bool {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|keyword| schema[keyword].as_array());
    properties.into_iter().any(|(name, part)| is(name, part) || has_field(part, is))
        || schema.get("items").is_some_and(|items| has_field(items, is))
        || alternatives.any(|shapes| shapes.iter().any(|shape| has_field(shape, is)))
}

/// Returns whether a field holds an id, or a list of ids.
pub fn is_id(schema: &Value) -> bool {
    schema["format"] == "uuid"
        || schema.get("items").is_some_and(is_id)
        || schema["anyOf"].as_array().is_some_and(|choices| choices.iter().any(is_id))
}

#[cfg(test)]
mod tests {
    use validation::{Choice, Flag, Id, List, Text, choices, request};
    use values::id::BookmarkId;

    use super::*;

    choices! {
        /// A role.
        pub enum QueryRole {
            /// A source.
            Source = "source",
        }
    }

    request! {
        struct IdsRequest {
            /// A folder.
            folder?: Text<9>,
            role?: Choice<QueryRole>,
            ids?: List<Id<BookmarkId>, 1, 9>,
        }
    }

    request! {
        struct OuterRequest {
            flag: Flag,
            parts: List<IdsRequest, 1, 9>,
        }
    }

    #[test]
    fn text_parameter_must_not_be_empty() {
        let schema = schema_of::<IdsRequest>();

        let (folder, description) = for_query(schema["properties"]["folder"].clone());
        let (role, _) = for_query(schema["properties"]["role"].clone());

        assert_eq!(description, "A folder.");
        assert_eq!((&folder["minLength"], &folder["maxLength"]), (&json!(1), &json!(9)));
        assert_eq!(role, json!({ "type": "string", "enum": ["source"] }));
    }

    #[test]
    fn fields_are_found_within_lists_and_objects() {
        let schema = schema_of::<OuterRequest>();

        assert!(has_field(&schema, &|_, part| is_id(part)));
        assert!(has_field(&schema, &|name, _| name == "folder"));
        assert!(!has_field(&schema, &|name, _| name == "url"));
    }
}
