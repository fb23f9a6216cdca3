//! An error in a JSON response.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;
use validation::Fault;

use super::error::Error;

/// What went wrong, as a member of a JSON response.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ErrorBody {
    /// Code of the error, which stays the same when the message changes.
    pub code: String,
    /// What is wrong and what to do, in words.
    pub message: String,
    /// More, by the code: the faulty fields, the scopes that are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "details_schema")]
    pub details: Option<Value>,
}

/// Returns the schema of [`Error::details`]: each member belongs to some codes.
fn details_schema(generator: &mut SchemaGenerator) -> Schema {
    let field = generator.subschema_for::<Fault>();
    json_schema!({
        "type": "object",
        "properties": {
            "fields": { "type": "array", "items": field },
            "scopes": { "type": "array", "items": { "type": "string" } },
            "usedBytes": { "type": "integer" },
            "limitBytes": { "type": "integer" },
        },
    })
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        let details = Some(error.details()).filter(|details| !details.is_empty());
        Self {
            code: error.spec().code.to_owned(),
            message: error.to_string(),
            details: details.map(Value::Object),
        }
    }
}
