//! Many changes of bookmarks in one request (contract.md, section 6: POST /bookmarks/batch).
//!
//! The operations are carried out one after the other. A failed one is reported in its own result; the others are carried out.

use std::borrow::Cow;

use deserr::{Deserr, IntoValue, Value, ValuePointerRef};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use tracing::error;
use values::id::BookmarkId;
use values::scope::Scope;

use super::change::{ChangeBookmark, ChangeBookmarkRequest};
use super::create::CreateBookmark;
use super::remove::DeleteBookmark;
use super::view::BookmarkView;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, ErrorBody};
use library::bookmarks::{CreateBookmarkRequest, NewBookmark};
use validation::reasons::must_be_one_of;
use validation::{Faults, Id, Invalid, List, ReadMode, read_object, request};

/// The operations of the request; those that could not be read with their faults.
#[derive(Debug)]
pub struct BatchBookmarks {
    operations: Vec<Result<BatchOperation, Error>>,
}

#[derive(Debug)]
enum BatchOperation {
    Create(Box<CreateBookmark>),
    Update(Box<ChangeBookmark>),
    Delete(DeleteBookmark),
}

request! {
    /// Operations on bookmarks. Each succeeds or fails by itself.
    pub struct BatchBookmarksRequest {
        /// The operations, carried out in this order.
        pub operations: List<OperationObject, 1, 100>,
    }
}

request! {
    /// The bookmark that an operation changes or deletes.
    pub struct BatchTargetRequest {
        /// The bookmark.
        pub id: Id<BookmarkId>,
    }
}

/// An operation whose members are not read yet.
// The members are read only after the whole request: a fault in one operation must not refuse the others.
#[derive(Debug)]
pub struct OperationObject(Map<String, Json>);

impl<M: ReadMode> Deserr<Faults<M>> for OperationObject {
    fn deserialize_from_value<V: IntoValue>(
        value: Value<V>,
        location: ValuePointerRef<'_>,
    ) -> Result<Self, Faults<M>> {
        match Json::from(value) {
            Json::Object(members) => Ok(Self(members)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(Faults::new(location, "must be an object"))
            }
        }
    }
}

impl JsonSchema for OperationObject {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OperationObject".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let create = CreateBookmarkRequest::json_schema(generator);
        let change = ChangeBookmarkRequest::json_schema(generator);
        let target = BatchTargetRequest::json_schema(generator);
        json_schema!({ "oneOf": [
            operation_schema("create", "creates a bookmark", &[&create]),
            operation_schema("update", "changes the given fields of a bookmark", &[&target, &change]),
            operation_schema("delete", "deletes a bookmark", &[&target]),
        ] })
    }
}

/// Returns the schema of an operation: an object with its name as `op`, and the fields of these requests.
fn operation_schema(op: &str, effect: &str, requests: &[&Schema]) -> Schema {
    let name = json!({ "type": "string", "enum": [op], "description": "The operation." });
    let mut properties = Map::from_iter([("op".to_owned(), name)]);
    let mut required = vec![json!("op")];
    for request in requests {
        let fields = request.get("properties").and_then(Json::as_object);
        properties.extend(fields.into_iter().flatten().map(|(name, field)| (name.clone(), field.clone())));
        required.extend(request.get("required").and_then(Json::as_array).into_iter().flatten().cloned());
    }
    json_schema!({
        "title": op,
        "description": format!("The operation `{op}` of a batch: {effect}."),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

impl FromRequest for BatchBookmarks {
    type Request = BatchBookmarksRequest;

    fn from_request(_: &Target, request: BatchBookmarksRequest) -> Result<Self, Error> {
        Ok(Self { operations: request.operations.map(|operation| BatchOperation::read(operation.0)) })
    }
}

impl BatchOperation {
    fn read(members: Map<String, Json>) -> Result<Self, Error> {
        let (op, fields) = take_member(members, "op");
        match op.get("op").and_then(Json::as_str) {
            Some("create") => {
                let request: CreateBookmarkRequest = read_object(fields)?;
                Ok(Self::Create(Box::new(CreateBookmark(NewBookmark::from_fields(request)))))
            }
            Some("update") => {
                let (target, changes) = read_update(fields)?;
                Ok(Self::Update(Box::new(ChangeBookmark::new(target.id.into_inner(), changes))))
            }
            Some("delete") => {
                let target: BatchTargetRequest = read_object(fields)?;
                Ok(Self::Delete(DeleteBookmark(target.id.into_inner())))
            }
            // Which fields are allowed depends on the operation, so no other fault is known.
            Some(_) | None => Err(Invalid::new("op", must_be_one_of(&["create", "update", "delete"])).into()),
        }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<Option<BookmarkView>, Error> {
        match self {
            Self::Create(create) => Ok(Some(create.run(caller, ctx).await?.bookmark)),
            Self::Update(change) => Ok(Some(change.run(caller, ctx).await?.bookmark)),
            Self::Delete(delete) => delete.run(caller, ctx).await.map(|_| None),
        }
    }
}

/// Reads the bookmark that an update changes, and the changes.
fn read_update(fields: Map<String, Json>) -> Result<(BatchTargetRequest, ChangeBookmarkRequest), Invalid> {
    let (target, changes) = take_member(fields, "id");
    let (changes, target) = Invalid::together(read_object(changes), read_object(target))?;
    Ok((target, changes))
}

/// Splits an object into the member with this name and the others.
fn take_member(members: Map<String, Json>, name: &str) -> (Map<String, Json>, Map<String, Json>) {
    // `Map::remove` would put the last member in the place of the removed one, and faults are reported in the order of members.
    members.into_iter().partition(|(member, _)| member == name)
}

/// The result of each operation, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchBookmarksResponse {
    results: Vec<BatchResult>,
}

/// The result of one operation.
#[derive(Debug, Serialize, JsonSchema)]
struct BatchResult {
    /// Index of the operation in the request, from 0.
    index: usize,
    /// Whether the operation succeeded. If not, it changed nothing.
    ok: bool,
    /// The bookmark after the operation; absent after a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    bookmark: Option<BookmarkView>,
    /// Why the operation failed; absent if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

impl Operation for BatchBookmarks {
    // No `ERRORS`: an operation of the batch that meets a limit of the plan has the error in its result.
    type Reply = BatchBookmarksResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    fn count(reply: &BatchBookmarksResponse) -> Option<usize> {
        Some(reply.results.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BatchBookmarksResponse, Error> {
        // Held until the response is built, which can be large.
        let _permit = ctx.user_slots.batches.acquire(caller.user).await?;
        let mut results = Vec::with_capacity(self.operations.len());
        for (index, operation) in self.operations.into_iter().enumerate() {
            let outcome = match operation {
                Ok(operation) => operation.run(caller, ctx).await,
                Err(fault) => Err(fault),
            };
            results.push(match outcome {
                Ok(bookmark) => BatchResult { index, ok: true, bookmark, error: None },
                Err(error) => failed(index, error),
            });
        }
        Ok(BatchBookmarksResponse { results })
    }
}

/// Returns the result of a failed operation.
fn failed(index: usize, error: Error) -> BatchResult {
    // The response as a whole is a success, so the cause is logged nowhere else.
    if error.spec().is_logged {
        error!(cause = error.chain(), "an operation of a batch failed");
    }
    let error = error.within(&format!("operations[{index}]"));
    BatchResult { index, ok: false, bookmark: None, error: Some(ErrorBody::from(&error)) }
}

#[cfg(test)]
mod tests {
    use validation::schema_of;

    use super::*;

    fn read(operation: Json) -> Result<BatchOperation, Vec<String>> {
        let Json::Object(members) = operation else { panic!("no object") };
        BatchOperation::read(members).map_err(|error| {
            let Error::Invalid(invalid) = error else { panic!("{error:?}") };
            invalid.faults.into_iter().map(|fault| fault.field).collect()
        })
    }

    #[test]
    fn operations_are_checked_by_their_own_fields() {
        let id = "01890000-0000-7000-8000-000000000000";

        assert!(matches!(
            read(json!({ "op": "create", "url": "https://a.example" })),
            Ok(BatchOperation::Create(_))
        ));
        assert!(matches!(
            read(json!({ "op": "update", "id": id, "progress": 1 })),
            Ok(BatchOperation::Update(_))
        ));
        assert!(matches!(read(json!({ "op": "delete", "id": id })), Ok(BatchOperation::Delete(_))));
        assert_eq!(
            read(json!({ "op": "create", "id": id, "title": 7 })).unwrap_err(),
            ["id", "title", "url"]
        );
        assert_eq!(read(json!({ "op": "update", "progress": 2 })).unwrap_err(), ["progress", "id"]);
        assert_eq!(
            read(json!({ "favorite": 1, "id": "x", "op": "update", "progress": 2, "zap": 1 })).unwrap_err(),
            ["favorite", "progress", "zap", "id"]
        );
        assert_eq!(read(json!({ "op": "delete", "id": id, "title": "x" })).unwrap_err(), ["title"]);
        assert_eq!(read(json!({ "op": "explode" })).unwrap_err(), ["op"]);
        assert_eq!(read(json!({})).unwrap_err(), ["op"]);
    }

    #[test]
    fn schema_has_a_shape_for_each_operation() {
        let schema = schema_of::<BatchBookmarksRequest>();
        let operations = &schema["properties"]["operations"];
        let [create, update, delete] = operations["items"]["oneOf"].as_array().unwrap().as_slice() else {
            panic!("{operations}")
        };

        assert_eq!((&operations["minItems"], &operations["maxItems"]), (&json!(1), &json!(100)));
        assert_eq!((&create["title"], &create["required"]), (&json!("create"), &json!(["op", "url"])));
        assert_eq!(create["properties"]["op"]["enum"], json!(["create"]));
        assert_eq!(create["properties"]["id"], Json::Null);
        assert_eq!((&update["title"], &update["required"]), (&json!("update"), &json!(["op", "id"])));
        assert_eq!(update["properties"].as_object().unwrap().len(), 10);
        assert_eq!(update["properties"]["archived"]["anyOf"][0], json!({ "type": "boolean" }));
        let expected = json!({
            "title": "delete",
            "description": "The operation `delete` of a batch: deletes a bookmark.",
            "type": "object",
            "properties": {
                "op": { "type": "string", "enum": ["delete"], "description": "The operation." },
                "id": { "type": "string", "format": "uuid", "description": "The bookmark." },
            },
            "required": ["op", "id"],
            "additionalProperties": false,
        });
        assert_eq!(*delete, expected);
    }
}
