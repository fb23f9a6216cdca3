//! The responses of operations: the reply in its envelope, and the errors, which operations share as components.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use errors::{ErrorBody, HeaderRule};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::codes::{self, Code};
use super::example;
use crate::routing::Route;
use crate::schema;

/// The error responses of all operations, by the names of their components. Responses with the same codes are one component, because
/// client generators create a type for each response that is defined in an operation itself.
#[derive(Default)]
pub struct ErrorResponses(BTreeMap<String, Value>);

impl ErrorResponses {
    /// Returns a reference to the response with these codes, all of which have this status.
    fn reference(&mut self, codes: &[&Code]) -> Value {
        let name = component_name(codes);
        let reference = json!({ "$ref": format!("#/components/responses/{name}") });
        self.0.entry(name).or_insert_with(|| error_response(codes));
        reference
    }

    /// Returns the responses as the components of the document.
    pub fn into_components(self) -> Value {
        Value::Object(self.0.into_iter().collect())
    }
}

/// Names a response by its codes: `ScopeRequired`, `ConflictOrProjectArchived`.
fn component_name(codes: &[&Code]) -> String {
    let names = codes.iter().map(|code| code.name.split('_').map(capitalized).collect::<String>());
    names.collect::<Vec<_>>().join("Or")
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().chain(chars.map(|c| c.to_ascii_lowercase())).collect()
}

/// Returns the description of a reply's type.
pub fn reply_description(reply: &Value, generator: &SchemaGenerator) -> String {
    let named = reply["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let whole = named.and_then(|name| generator.definitions().get(name)).unwrap_or(reply);
    schema::described_by(whole).unwrap_or("The request succeeded.").to_owned()
}

/// Describes all responses of an operation, by status.
pub fn describe(
    route: &'static Route,
    reply: &Value,
    description: &str,
    errors: &mut ErrorResponses,
) -> Value {
    let mut all = Map::new();
    for status in route.success_statuses() {
        all.insert(status.as_u16().to_string(), success(status, reply, description));
    }
    let mut by_status: BTreeMap<u16, Vec<&Code>> = BTreeMap::new();
    for code in codes::codes_of_route(route) {
        by_status.entry(code.status).or_default().push(code);
    }
    for (status, codes) in by_status {
        all.insert(status.to_string(), errors.reference(&codes));
    }
    Value::Object(all)
}

fn success(status: StatusCode, reply: &Value, description: &str) -> Value {
    let outcome = match status {
        StatusCode::CREATED => "Created. ",
        StatusCode::ACCEPTED => "Accepted; processing continues in the background. ",
        _ => "",
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "success": { "const": true },
            "data": reply,
            "meta": { "$ref": "#/components/schemas/ResponseMeta" },
        },
        "required": ["success", "data", "meta"],
        "additionalProperties": false,
    });
    json!({
        "description": format!("{outcome}{description}"),
        "headers": headers(&[LIMIT, REMAINING, RESET]),
        "content": { "application/json": { "schema": schema } },
    })
}

fn error_response(codes: &[&Code]) -> Value {
    let lines: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.name, code.about)).collect();
    let names: Vec<&str> = codes.iter().map(|code| code.name).collect();
    let rules = codes.iter().flat_map(|code| &code.headers);
    let mut more: Vec<HeaderText> = Vec::new();
    for header in rules.flat_map(|rule| described_headers(*rule)) {
        // The codes of one status may have the same header, such as the challenge of 401.
        if !more.contains(header) {
            more.push(*header);
        }
    }
    // Not every response of such a code has the header: of 409 only one for an Idempotency-Key whose request still runs.
    if codes.iter().any(|code| code.has_retry_after) {
        more.push(RETRY);
    }
    let first = codes.first().and_then(|code| example::error(code.name));
    json!({
        "description": lines.join("\n\n"),
        // All errors have one schema, so that clients have one type. The codes of this response are listed for readers and tests.
        "x-error-codes": names,
        "headers": headers(&more),
        "content": {
            "application/json": { "schema": { "$ref": "#/components/schemas/ErrorResponse" }, "example": first },
        },
    })
}

/// The name, the type and the description of a header.
type HeaderText = (&'static str, &'static str, &'static str);

const CHALLENGE: HeaderText = ("WWW-Authenticate", "string", "`Bearer`.");
const LIMIT: HeaderText = ("X-RateLimit-Limit", "integer", "The limit that is nearest to exhaustion.");
const REMAINING: HeaderText =
    ("X-RateLimit-Remaining", "integer", "Requests that remain within that limit, after this one.");
const RESET: HeaderText =
    ("X-RateLimit-Reset", "integer", "Seconds until that limit is fully available again.");
const RETRY: HeaderText = ("Retry-After", "integer", "Seconds to wait before a retry.");

/// Returns the headers that the document describes for a rule of the table of errors.
fn described_headers(rule: HeaderRule) -> &'static [HeaderText] {
    match rule {
        HeaderRule::BearerChallenge => &[CHALLENGE],
        HeaderRule::RateLimit => &[LIMIT, REMAINING, RESET],
        // `Allow` and the challenge of the MCP server are of requests without a route of the document, and `Connection` is not of
        // the API but of one connection.
        HeaderRule::None | HeaderRule::Allow | HeaderRule::McpScopeChallenge | HeaderRule::Close => &[],
    }
}

fn headers(more: &[HeaderText]) -> Value {
    let id = (
        "X-Request-Id",
        json!({ "type": "string", "format": "uuid" }),
        "Identifies the request in the server's log.",
        true,
    );
    let more = more.iter().map(|(name, kind, about)| (*name, json!({ "type": kind }), *about, false));
    let all = std::iter::once(id).chain(more).map(|(name, schema, about, required)| {
        (name.to_owned(), json!({ "description": about, "required": required, "schema": schema }))
    });
    Value::Object(all.collect())
}

/// Returns the schemas of the types that the generator has met, and of what all responses share.
pub fn schemas(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let meta = json!({
        "type": "object",
        "description": "The request that a response belongs to.",
        "properties": {
            "timestamp": { "type": "string", "format": "date-time" },
            "path": { "type": "string", "description": "Path of the request, without the query." },
            "method": { "type": "string" },
            "statusCode": { "type": "integer" },
        },
        "required": ["timestamp", "path", "method", "statusCode"],
        "additionalProperties": false,
    });
    let response = json!({
        "type": "object",
        "description": "The body of every error response.",
        "properties": {
            "success": { "const": false },
            "data": { "type": "null" },
            "error": generator.subschema_for::<ErrorBody>(),
            "meta": { "$ref": "#/components/schemas/ResponseMeta" },
        },
        "required": ["success", "data", "error", "meta"],
        "additionalProperties": false,
    });
    let mut schemas = generator.take_definitions(true);
    // The description of the codes is made from the table of errors, which the doc comment of a field cannot be.
    if let Some(code) = schemas.get_mut("ErrorBody").and_then(|body| body.pointer_mut("/properties/code")) {
        *code = codes::schema();
    }
    for (name, schema) in [("ErrorResponse", response), ("ResponseMeta", meta)] {
        let replaced = schemas.insert(name.to_owned(), schema);
        debug_assert!(replaced.is_none(), "a type of a reply is named {name} too");
    }
    schemas
}

#[cfg(test)]
mod tests {
    use errors::Error;
    use serde_json::json;

    use crate::openapi::document;

    #[test]
    fn error_has_one_schema_which_describes_its_codes() {
        let document = document("https://carrel.example");
        let schemas = &document["components"]["schemas"];

        let body = &schemas["ErrorBody"];
        assert_eq!(
            (&body["required"], &body["additionalProperties"]),
            (&json!(["code", "message"]), &json!(false))
        );
        assert!(body["properties"]["code"]["description"].as_str().unwrap().contains("`NOT_FOUND`"));
        let field = json!({ "$ref": "#/components/schemas/FieldError" });
        assert_eq!(body["properties"]["details"]["properties"]["fields"]["items"], field);
        assert_eq!(schemas["FieldError"]["required"], json!(["field", "reason"]));
        let response = &schemas["ErrorResponse"]["properties"];
        assert_eq!(response["error"], json!({ "$ref": "#/components/schemas/ErrorBody" }));
    }

    #[test]
    fn errors_have_headers_and_examples_of_the_server() {
        let document = document("https://carrel.example");
        let responses = document["components"]["responses"].as_object().unwrap();

        for (name, response) in responses {
            let example = &response["content"]["application/json"]["example"];
            let error = Error::examples()
                .into_iter()
                .find(|error| error.to_string() == example["error"]["message"].as_str().unwrap())
                .unwrap_or_else(|| panic!("no error has the message of {name}"));
            assert_eq!(example["error"]["code"], error.spec().code, "{name}");
            assert_eq!(example["meta"]["statusCode"], error.spec().status, "{name}");
            let has_header = response["headers"]["Retry-After"].is_object();
            assert!(has_header || error.retry_after().is_none(), "{name}");
            let has_challenge = response["headers"]["WWW-Authenticate"].is_object();
            assert_eq!(has_challenge, error.spec().status == 401, "{name}");
            let has_limit = response["headers"]["X-RateLimit-Limit"].is_object();
            assert_eq!(has_limit, error.spec().status == 429, "{name}");
        }
        for (name, is_expected) in [("StorageFull", true), ("RateLimited", true), ("Internal", false)] {
            assert_eq!(responses[name]["headers"]["Retry-After"].is_object(), is_expected, "{name}");
        }
    }
}
