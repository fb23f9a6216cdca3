//! Many changes of bookmarks in one request (contract.md, section 6: POST /bookmarks/batch).
//!
//! The operations are carried out one after the other. A failed one is reported in its own result; the others are carried out.

use entity::id::BookmarkId;
use entity::scope::Scope;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tracing::error;

use super::change::{ChangeBookmark, ChangeBookmarkRequest};
use super::view::BookmarkView;
use super::{CreateBookmark, DeleteBookmark};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, ErrorBody};
use library::bookmarks::{CreateBookmarkRequest, NewBookmark};
use validation::{Choice, Id, JoinedRequest, List, OpenObject, Shapes, choices, read_object, request};

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

choices! {
    /// The name of the operation `create`.
    pub enum CreateOp {
        /// Creates a bookmark.
        Create = "create",
    }
}

choices! {
    /// The name of the operation `update`.
    pub enum UpdateOp {
        /// Changes a bookmark.
        Update = "update",
    }
}

choices! {
    /// The name of the operation `delete`.
    pub enum DeleteOp {
        /// Deletes a bookmark.
        Delete = "delete",
    }
}

request! {
    /// The operation `create` of a batch: creates a bookmark.
    pub struct CreateOpRequest {
        /// The operation.
        pub op: Choice<CreateOp>,
    }
}

request! {
    /// The operation `update` of a batch: changes the given fields of a bookmark.
    pub struct UpdateOpRequest {
        /// The operation.
        pub op: Choice<UpdateOp>,
        /// The bookmark.
        pub id: Id<BookmarkId>,
    }
}

request! {
    /// The operation `delete` of a batch: deletes a bookmark.
    pub struct DeleteOpRequest {
        /// The operation.
        pub op: Choice<DeleteOp>,
        /// The bookmark.
        pub id: Id<BookmarkId>,
    }
}

type CreateShape = JoinedRequest<CreateOpRequest, CreateBookmarkRequest>;
type UpdateShape = JoinedRequest<UpdateOpRequest, ChangeBookmarkRequest>;

/// The shapes that an operation of a batch may have.
#[derive(Debug)]
pub enum BatchShapes {}

impl Shapes for BatchShapes {
    fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
        vec![
            ("create", CreateShape::json_schema(generator)),
            ("update", UpdateShape::json_schema(generator)),
            ("delete", DeleteOpRequest::json_schema(generator)),
        ]
    }
}

request! {
    /// Operations on bookmarks.
    pub struct BatchBookmarksRequest {
        /// The operations, carried out in this order.
        pub operations: List<OpenObject<BatchShapes>, 1, 100>,
    }
}

impl FromRequest for BatchBookmarks {
    type Request = BatchBookmarksRequest;

    fn from_request(_: &Target, request: BatchBookmarksRequest) -> Result<Self, Error> {
        let read = |operation: OpenObject<BatchShapes>| BatchOperation::read(operation.into_inner());
        Ok(Self { operations: request.operations.map(read) })
    }
}

impl BatchOperation {
    fn read(members: Map<String, Json>) -> Result<Self, Error> {
        match members.get("op").and_then(Json::as_str) {
            Some("create") => {
                let shape: CreateShape = read_object(members)?;
                Ok(Self::Create(Box::new(CreateBookmark(NewBookmark::from_fields(shape.second)?))))
            }
            Some("update") => {
                let shape: UpdateShape = read_object(members)?;
                Ok(Self::Update(Box::new(ChangeBookmark::new(shape.first.id.into_inner(), shape.second))))
            }
            Some("delete") => {
                let shape: DeleteOpRequest = read_object(members)?;
                Ok(Self::Delete(DeleteBookmark(shape.id.into_inner())))
            }
            Some(_) | None => Err(Error::invalid("op", "must be one of create, update, delete")),
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
    /// Whether the operation succeeded.
    ok: bool,
    /// The bookmark after the operation; absent after a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    bookmark: Option<BookmarkView>,
    /// Why the operation failed; absent if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

impl Operation for BatchBookmarks {
    type Reply = BatchBookmarksResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    fn count(reply: &BatchBookmarksResponse) -> Option<usize> {
        Some(reply.results.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BatchBookmarksResponse, Error> {
        let _permit = ctx.batch_slots.acquire(caller.user).await?;
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

/// Returns the result of a failed operation. Logs the cause of an internal error: the response as a whole is a success, so that
/// nothing else logs it.
fn failed(index: usize, error: Error) -> BatchResult {
    if let Error::Internal(_) = error {
        error!(cause = error.chain(), "an operation of a batch failed");
    }
    let error = error.within(&format!("operations[{index}]"));
    BatchResult { index, ok: false, bookmark: None, error: Some(ErrorBody::from(&error)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert_eq!(read(json!({ "op": "delete", "id": id, "title": "x" })).unwrap_err(), ["title"]);
        assert_eq!(read(json!({ "op": "explode" })).unwrap_err(), ["op"]);
        assert_eq!(read(json!({})).unwrap_err(), ["op"]);
    }
}
