//! The answers of an operation: its reply in the envelope, and every failure with its codes.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::codes::{self, Code};
use crate::http::table::Route;
use crate::schema;

/// The words that a reply's type was documented with.
pub fn words_of(reply: &Value, generator: &SchemaGenerator) -> String {
    let named = reply["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let whole = named.and_then(|name| generator.definitions().get(name)).unwrap_or(reply);
    schema::described_by(whole).unwrap_or("Done.").to_owned()
}

/// Every answer, by status.
pub fn of(route: &'static Route, reply: &Value, told: &str) -> Value {
    let mut all = Map::new();
    for status in route.statuses {
        all.insert(status.as_u16().to_string(), success(*status, reply, told));
    }
    let mut failures: BTreeMap<u16, Vec<&Code>> = BTreeMap::new();
    for code in codes::of(route) {
        failures.entry(code.status).or_default().push(code);
    }
    for (status, codes) in failures {
        all.insert(status.to_string(), failure(status, &codes));
    }
    Value::Object(all)
}

fn success(status: StatusCode, reply: &Value, told: &str) -> Value {
    let how = match status {
        StatusCode::CREATED => "Made. ",
        StatusCode::ACCEPTED => "Taken on; it goes on in the background. ",
        _ => "",
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "success": { "const": true },
            "data": reply,
            "meta": { "$ref": "#/components/schemas/Meta" },
        },
        "required": ["success", "data", "meta"],
        "additionalProperties": false,
    });
    json!({
        "description": format!("{how}{told}"),
        "headers": headers(&[LIMIT, REMAINING, RESET]),
        "content": { "application/json": { "schema": schema } },
    })
}

fn failure(status: u16, codes: &[&Code]) -> Value {
    let lines: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.name, code.about)).collect();
    let names: Vec<&str> = codes.iter().map(|code| code.name).collect();
    let schema = json!({
        "allOf": [
            { "$ref": "#/components/schemas/Failure" },
            { "properties": { "error": { "properties": { "code": { "enum": names } } } } },
        ],
    });
    let more: &[(&str, &str, &str)] = match status {
        401 => &[("WWW-Authenticate", "string", "`Bearer`.")],
        429 => &[RETRY, LIMIT, REMAINING, RESET],
        409 | 503 => &[RETRY],
        _ => &[],
    };
    json!({
        "description": lines.join("\n\n"),
        "headers": headers(more),
        "content": { "application/json": { "schema": schema } },
    })
}

const LIMIT: (&str, &str, &str) = ("X-RateLimit-Limit", "integer", "The limit that is nearest to its end.");
const REMAINING: (&str, &str, &str) =
    ("X-RateLimit-Remaining", "integer", "What is left of it, this call taken out.");
const RESET: (&str, &str, &str) = ("X-RateLimit-Reset", "integer", "Seconds until it is whole again.");
const RETRY: (&str, &str, &str) = ("Retry-After", "integer", "Seconds to wait before the next try.");

fn headers(more: &[(&str, &str, &str)]) -> Value {
    let id = (
        "X-Request-Id",
        json!({ "type": "string", "format": "uuid" }),
        "Names the request in the log.",
        true,
    );
    let more = more.iter().map(|(name, kind, about)| (*name, json!({ "type": kind }), *about, false));
    let all = std::iter::once(id).chain(more).map(|(name, schema, about, required)| {
        (name.to_owned(), json!({ "description": about, "required": required, "schema": schema }))
    });
    Value::Object(all.collect())
}

/// The shapes that every answer shares.
pub fn shapes() -> Map<String, Value> {
    let text = json!({ "type": "string" });
    let meta = json!({
        "type": "object",
        "description": "What the answer is to.",
        "properties": {
            "timestamp": { "type": "string", "format": "date-time" },
            "path": { "type": "string", "description": "The path without the query." },
            "method": text,
            "statusCode": { "type": "integer" },
        },
        "required": ["timestamp", "path", "method", "statusCode"],
        "additionalProperties": false,
    });
    let fault = json!({
        "type": "object",
        "properties": {
            "field": { "type": "string", "description": "A parameter's name, or a path in the body like `items[2].bookmarkId`." },
            "reason": text,
        },
        "required": ["field", "reason"],
    });
    let error = json!({
        "type": "object",
        "properties": {
            "code": codes::schema(),
            "message": { "type": "string", "description": "For people." },
            "details": {
                "type": "object",
                "properties": {
                    "fields": { "type": "array", "items": { "$ref": "#/components/schemas/Fault" } },
                    "scopes": { "type": "array", "items": text },
                },
            },
        },
        "required": ["code", "message"],
        "additionalProperties": false,
    });
    let failure = json!({
        "type": "object",
        "description": "What every failure looks like.",
        "properties": {
            "success": { "const": false },
            "data": { "type": "null" },
            "error": error,
            "meta": { "$ref": "#/components/schemas/Meta" },
        },
        "required": ["success", "data", "error", "meta"],
        "additionalProperties": false,
    });
    let named = [("Meta", meta), ("Fault", fault), ("Failure", failure)];
    named.into_iter().map(|(name, shape)| (name.to_owned(), shape)).collect()
}
