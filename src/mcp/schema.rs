//! JSON Schemas of the tools: inputs from the tables of fields, outputs from the types of the replies. They use only common
//! keywords of JSON Schema, with an object at the root, because clients differ in what else they support.

use actors::operation::Operation;
use serde_json::Value;
use validation::Field;

use crate::schema::{self, Reader};

/// The input schema of a tool with these fields.
pub fn input(fields: &[Field]) -> Value {
    schema::record(fields, Reader::Model)
}

/// The output schema of a tool that runs this operation.
pub fn output<O: Operation>() -> Value {
    schema::plain::<O::Reply>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use validation::Kind;

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
}
