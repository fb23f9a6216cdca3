//! Examples, generated from the schemas, so that every example is valid for its schema.

use errors::{Error, ErrorBody};
use serde_json::{Map, Value, json};

const ID: &str = "01920c4e-7a10-7c3e-9d52-3b1f6a7c8e90";
const TIME: &str = "2024-05-06T07:08:09.000Z";

/// The example of a string field of this name.
const TEXT_EXAMPLES: &[(&str, &str)] = &[
    ("answer", "Ants find the shortest way by the scent that each leaves behind [1]."),
    ("author", "Ada Example"),
    ("bodyMd", "Read **this** first."),
    ("color", "yellow"),
    ("contentType", "audio/mpeg"),
    ("email", "reader@example.com"),
    ("filename", "lecture.mp3"),
    ("language", "en"),
    ("name", "ants"),
    ("note", "Bees do it otherwise."),
    ("notes", "To be read again in winter."),
    (
        "opml",
        r#"<opml version="2.0"><body><outline type="rss" text="Ants" xmlUrl="https://example.com/feed"/></body></opml>"#,
    ),
    ("q", "how do ants find their way"),
    ("question", "How do ants find their way?"),
    ("quote", "the shortest way is found by scent"),
    ("sha256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ("siteName", "Example Journal"),
    ("snippet", "... and so the shortest way is found by scent alone ..."),
    ("tag", "biology"),
    ("tags", "biology"),
    ("text", "the shortest way is found by scent"),
    ("title", "The ways of ants"),
];

/// The example of an integer field of this name. Offsets and lengths match the example text of the same object.
const INTEGER_EXAMPLES: &[(&str, i64)] = &[
    ("endOffset", 34),
    ("offset", 0),
    ("ordinal", 0),
    ("quoteEnd", 34),
    ("quoteStart", 0),
    ("startOffset", 0),
    ("totalChars", 34),
    ("wordCount", 7),
];

/// Fields that are null in the example, which is a completely read saved page that did not fail.
const NULL_FIELDS: &[&str] = &[
    "correctedQuery",
    "deletedAt",
    "endSeconds",
    "entryId",
    "error",
    "feedId",
    "highlightId",
    "nextOffset",
    "noteId",
    "page",
    "projectId",
    "startSeconds",
];

/// The states that examples have, if their schema allows one of them.
const EXAMPLE_STATES: &[&str] = &["ready", "active"];

/// The request that a response belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The path, with its variables.
    pub path: &'a str,
    /// The method, in lower case.
    pub method: &'a str,
    /// The status of the response.
    pub status: &'a str,
}

/// Returns an example of a success response with data of this schema.
pub fn success(schema: &Value, request: Request<'_>, schemas: &Map<String, Value>) -> Value {
    let data = schema.pointer("/properties/data").map(|data| build_example(data, "data", schemas));
    let meta = json!({
        "timestamp": TIME,
        "path": path(request.path),
        "method": request.method.to_ascii_uppercase(),
        "statusCode": request.status.parse::<u16>().unwrap_or_default(),
    });
    json!({ "success": true, "data": data, "meta": meta })
}

/// Returns an example of an error response with this code; `None` if no error has the code.
pub fn error(code: &str) -> Option<Value> {
    let error = Error::examples().into_iter().find(|error| error.spec().code == code)?;
    let status = error.spec().status;
    Some(json!({
        "success": false,
        "data": null,
        "error": ErrorBody::from(&error),
        "meta": { "timestamp": TIME, "path": "/rest/v1/bookmarks", "method": "POST", "statusCode": status },
    }))
}

/// Returns a path with example values for its variables.
fn path(pattern: &str) -> String {
    let parts = pattern.split('/').map(|part| match part {
        "{name}" => "biology",
        variable if variable.starts_with('{') => ID,
        plain => plain,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Returns an example of a request: its required fields, or the first optional one if none is required.
pub fn request(schema: &Value, schemas: &Map<String, Value>) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let chosen = properties.iter().filter(|(name, _)| required.contains(&name.as_str()));
    let mut shown: Map<String, Value> =
        chosen.map(|(name, part)| (name.clone(), build_example(part, name, schemas))).collect();
    // An empty object would be a valid example of such a request, and show nothing.
    if let (true, Some((name, part))) = (shown.is_empty(), properties.iter().next()) {
        shown.insert(name.clone(), build_example(part, name, schemas));
    }
    Value::Object(shown)
}

/// Returns an example of a value of this schema, for a field of this name.
pub fn build_example(schema: &Value, name: &str, schemas: &Map<String, Value>) -> Value {
    if let Some(named) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return schemas.get(named).map_or(Value::Null, |schema| build_example(schema, name, schemas));
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[choice].get(0) {
            let is_record = choice == "oneOf" && first["properties"].is_object();
            return if is_record { request(first, schemas) } else { build_example(first, name, schemas) };
        }
    }
    if let Some(value) = schema.get("const").or_else(|| state(schema)).or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    match kind(schema) {
        "object" => {
            let members = schema["properties"].as_object().into_iter().flatten();
            let shown = |name: &String, part: &Value| {
                let is_null = is_nullable(part) && NULL_FIELDS.contains(&name.as_str());
                if is_null { Value::Null } else { build_example(part, name, schemas) }
            };
            Value::Object(members.map(|(name, part)| (name.clone(), shown(name, part))).collect())
        }
        "array" => json!([build_example(&schema["items"], name, schemas)]),
        "integer" => json!(pick_integer(schema, name)),
        "number" => json!(0.5),
        "boolean" => json!(name != "truncated"),
        "string" => json!(pick_text(schema, name)),
        _ => Value::Null,
    }
}

/// Returns the most common state that the schema allows.
fn state(schema: &Value) -> Option<&Value> {
    let states = schema["enum"].as_array()?;
    states.iter().find(|state| state.as_str().is_some_and(|state| EXAMPLE_STATES.contains(&state)))
}

/// Returns whether a member may be null.
fn is_nullable(schema: &Value) -> bool {
    let is_null = |schema: &Value| schema["type"] == "null";
    schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
        || schema["anyOf"].as_array().is_some_and(|choices| choices.iter().any(is_null))
}

fn pick_integer(schema: &Value, name: &str) -> i64 {
    let least = schema["minimum"].as_i64().unwrap_or(0);
    let example = INTEGER_EXAMPLES.iter().find(|(of, _)| *of == name).map(|(_, number)| *number);
    example.filter(|number| *number >= least).unwrap_or(least.max(1))
}

/// Returns a different id for each kind of object.
fn id(name: &str) -> String {
    // Derived from the name, so that the document is the same at each build.
    let kind = name.bytes().fold(0x90_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    ID.strip_suffix("90")
        .filter(|_| name != "id")
        .map_or_else(|| ID.to_owned(), |head| format!("{head}{kind:02x}"))
}

/// Returns the first type that is not null.
fn kind(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "null",
    }
}

fn pick_text(schema: &Value, name: &str) -> String {
    match schema["format"].as_str() {
        Some("uuid") => return id(name),
        Some("date-time") => return TIME.to_owned(),
        Some(_) | None => {}
    }
    if name.to_ascii_lowercase().ends_with("url") {
        return "https://example.com/ants".to_owned();
    }
    TEXT_EXAMPLES
        .iter()
        .find(|(of, _)| *of == name)
        .map_or_else(|| "words".to_owned(), |(_, text)| (*text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_is_valid_for_its_schema() {
        let schemas = Map::from_iter([(
            "Part".to_owned(),
            json!({ "type": "object", "properties": { "id": { "type": "string", "format": "uuid" } } }),
        )]);
        let schema = json!({
            "type": "object",
            "properties": {
                "title": { "type": ["string", "null"] },
                "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Part" } },
                "kind": { "enum": ["page", "upload"] },
            },
            "required": ["title"],
        });

        let shown = build_example(&schema, "", &schemas);
        assert_eq!(build_example(&json!({ "enum": ["processing", "ready"] }), "status", &schemas), "ready");
        assert_eq!(shown, json!({ "title": "The ways of ants", "parts": [{ "id": ID }], "kind": "page" }));
        assert_eq!(request(&schema, &schemas), json!({ "title": "The ways of ants" }));
    }

    #[test]
    fn example_of_a_document_is_consistent() {
        let described = crate::openapi::document("https://carrel.example");
        let path =
            "/paths/~1rest~1v2~1documents~1{id}/get/responses/200/content/application~1json/example/data";

        let shown = described.pointer(path).unwrap();

        let text = shown["text"].as_str().unwrap();
        assert_eq!(shown["totalChars"], text.chars().count());
        assert_eq!(
            [&shown["offset"], &shown["nextOffset"], &shown["error"]],
            [&json!(0), &Value::Null, &Value::Null]
        );
        assert_eq!((&shown["entryId"], &shown["status"]), (&Value::Null, &json!("ready")));
        assert_eq!(shown["truncated"], false);
        assert_ne!(shown["documentId"], shown["bookmarkId"]);
    }
}
