//! JSON Schemas of the tools: inputs from the types of the arguments, outputs from the types of the replies. They use only common
//! keywords of JSON Schema, with an object at the root, because clients differ in what else they support.

use actors::operation::Operation;
use serde_json::Value;
use validation::Request;

use crate::schema;

/// Returns the input schema of a tool with these arguments.
pub fn input<R: Request>() -> Value {
    schema::for_model::<R>()
}

/// Returns the output schema of a tool that runs this operation.
pub fn output<O: Operation>() -> Value {
    schema::plain::<O::Reply>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use validation::{Choice, Fraction, Id, Integer, List, Words, request};
    use values::id::BookmarkId;
    use values::kind::ProjectStatus;

    use super::*;

    request! {
        struct ItemArguments {
            bookmark_id?: Id<BookmarkId>,
        }
    }

    request! {
        struct EveryArguments {
            /// What to look for.
            query: Words<1, 500>,
            limit?: Integer<1, 20>,
            offset?: Integer<0, { i64::MAX }>,
            share?: Fraction,
            status?: Choice<ProjectStatus>,
            items?: List<ItemArguments, 1, 3>,
        }
    }

    #[test]
    fn every_kind_of_field_has_its_bounds_in_the_schema() {
        let schema = input::<EveryArguments>();

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
