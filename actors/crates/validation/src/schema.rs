//! JSON Schemas of requests.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::request::Request;

/// Returns the JSON Schema of a request: all rules that a schema can express, without references. Where `null` is allowed, it is
/// one of two alternatives.
pub fn schema_of<R: Request>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings
        .with_transform(RecursiveTransform(join_lines))
        .with_transform(RecursiveTransform(separate_null));
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    // The name of a type of ours says nothing to a client.
    schema.remove("title");
    schema.remove("description");
    let mut schema = schema.to_value();
    if let Some(members) = schema.as_object_mut() {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Makes `type: [x, null]` a choice of two, because clients differ in what else they read.
pub fn separate_null(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    let Some(Value::Array(types)) = members.get("type").cloned() else { return };
    let Some(kind) = types.iter().find(|kind| **kind != "null").filter(|_| types.len() == 2) else { return };
    let description = members.remove("description");
    members.insert("type".to_owned(), kind.clone());
    if let Some(Value::Array(names)) = members.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    let inner = Value::Object(std::mem::take(members));
    members.insert("anyOf".to_owned(), json!([inner, { "type": "null" }]));
    if let Some(description) = description {
        members.insert("description".to_owned(), description);
    }
}

/// Removes `null` from the values that a schema allows, whether it is a second type or a second alternative.
pub fn remove_null(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = types.as_slice() {
            let kind = kind.clone();
            members.insert("type".to_owned(), kind);
        }
        if let Some(Value::Array(names)) = members.get_mut("enum") {
            names.retain(|name| !name.is_null());
        }
    }
    if let Some(Value::Array(choices)) = members.get("anyOf")
        && let [Value::Object(inner), null] = choices.as_slice()
        && *null == json!({ "type": "null" })
    {
        let inner = inner.clone();
        members.remove("anyOf");
        for (name, value) in inner {
            members.entry(name).or_insert(value);
        }
    }
}

/// Replaces the line breaks of a description, which are those of the comment in the source.
fn join_lines(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_types::{Flag, Fraction, Id, List, Text, Words};
    use crate::macros::NoFields;
    use crate::request;
    use uuid::Uuid;

    request! {
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct ItemRequest {
            note_id?: Id<Uuid>,
            url?: Words<1, 9>,
            pinned?: Flag,
        }
    }

    request! {
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct SchemaRequest {
            /// A title
            /// of two lines.
            title: Words<1, 300>,
            /// Progress.
            progress?: Fraction,
            /// A folder.
            folder~: Text<9>,
            items?: List<ItemRequest, 1, 3>,
        }
    }

    #[test]
    fn request_without_fields_has_an_empty_list_of_properties() {
        let expected = json!({ "type": "object", "properties": {}, "additionalProperties": false });

        assert_eq!(schema_of::<NoFields>(), expected);
    }

    #[test]
    fn optional_field_may_be_null() {
        let schema = schema_of::<SchemaRequest>();

        assert_eq!(schema["required"], json!(["title"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["title"]["description"], "A title of two lines.");
        let progress = json!({ "type": "number", "minimum": 0.0, "maximum": 1.0 });
        assert_eq!(
            schema["properties"]["progress"],
            json!({ "anyOf": [progress, { "type": "null" }], "description": "Progress." })
        );
        let folder = json!({ "type": "string", "maxLength": 9, "pattern": r"^[^\u0000]*$" });
        assert_eq!(
            schema["properties"]["folder"],
            json!({ "anyOf": [folder, { "type": "null" }], "description": "A folder." })
        );
        assert_eq!(schema.as_object().unwrap().len(), 4, "{schema}");
    }

    #[test]
    fn items_of_a_list_are_described_in_place() {
        let schema = schema_of::<SchemaRequest>();
        let list = &schema["properties"]["items"]["anyOf"][0];
        let item = &list["items"];

        assert_eq!((&list["minItems"], &list["maxItems"]), (&json!(1), &json!(3)));
        assert_eq!(item["additionalProperties"], false);
        assert_eq!(item["properties"]["noteId"]["anyOf"][0], json!({ "type": "string", "format": "uuid" }));
        assert_eq!(item["properties"]["pinned"]["anyOf"][0], json!({ "type": "boolean" }));
    }
}
