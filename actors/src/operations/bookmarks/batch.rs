//! Many changes of bookmarks in one request (contract.md, section 6: POST /bookmarks/batch).
//!
//! Each operation is done by itself, in its turn: what is wrong with one stands in its own result, and the others go on.

use entity::id::BookmarkId;
use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tracing::error;

use super::view::BookmarkView;
use super::{ChangeBookmark, CreateBookmark, DeleteBookmark};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::{Error, ErrorBody};
use validation::Values;
use validation::{self, Field, Kind, Shape, joined};
use crate::operations::target::Target;
use crate::pipeline::Operation;

const ID: Field = Field::required("id", Kind::Id, "The bookmark.");
const CREATE: &[Field] =
    &joined::<{ CreateBookmark::FIELDS.len() + 1 }>(&[op(&["create"])], CreateBookmark::FIELDS);
const UPDATE: &[Field] =
    &joined::<{ ChangeBookmark::FIELDS.len() + 2 }>(&[op(&["update"]), ID], ChangeBookmark::FIELDS);
const DELETE: &[Field] = &[op(&["delete"]), ID];
const SHAPES: &[Shape] = &[
    Shape { name: "create", fields: CREATE },
    Shape { name: "update", fields: UPDATE },
    Shape { name: "delete", fields: DELETE },
];

const fn op(name: &'static [&'static str]) -> Field {
    Field::required("op", Kind::Choice(name), "The operation.")
}

/// The operations, each as far as it could be read.
#[derive(Debug)]
pub struct BatchBookmarks {
    steps: Vec<Result<Step, Error>>,
}

#[derive(Debug)]
enum Step {
    Create(Box<CreateBookmark>),
    Update(Box<ChangeBookmark>),
    Delete(DeleteBookmark),
}

impl BatchBookmarks {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[Field::required(
        "operations",
        Kind::List { of: &Kind::Open(SHAPES), min: 1, max: 100 },
        "The operations, carried out in this order.",
    )];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let operations = values.opens("operations").unwrap_or_default();
        Ok(Self { steps: operations.into_iter().map(Step::read).collect() })
    }
}

impl Step {
    fn read(members: Map<String, Json>) -> Result<Self, Error> {
        let op = members.get("op").and_then(Json::as_str);
        let Some(shape) = SHAPES.iter().find(|shape| Some(shape.name) == op) else {
            return Err(Error::invalid("op", "must be one of create, update, delete"));
        };
        let mut values = fields::read_map(members, shape.fields)?;
        let id = values.id("id").map(BookmarkId);
        match (shape.name, id) {
            ("update", Some(id)) => Ok(Self::Update(Box::new(ChangeBookmark::of(id, values)))),
            ("delete", Some(id)) => Ok(Self::Delete(DeleteBookmark(id))),
            _ => CreateBookmark::from_values(values).map(|create| Self::Create(Box::new(create))),
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
        let slots = ctx.batch_slots.get_or_default(caller.user);
        let _slot = slots.acquire().await?;
        let mut results = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.into_iter().enumerate() {
            let came = match step {
                Ok(step) => step.run(caller, ctx).await,
                Err(faulty) => Err(faulty),
            };
            results.push(match came {
                Ok(bookmark) => BatchResult { index, ok: true, bookmark, error: None },
                Err(error) => failed(index, error),
            });
        }
        Ok(BatchBookmarksResponse { results })
    }
}

/// The result of an operation that failed. The cause of an internal error is logged here: the answer as a whole is a success.
fn failed(index: usize, error: Error) -> BatchResult {
    if let Error::Internal(_) = error {
        error!(cause = error.chain(), "an operation of a batch failed inside");
    }
    let error = error.within(&format!("operations[{index}]"));
    BatchResult { index, ok: false, bookmark: None, error: Some(ErrorBody::from(&error)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(operation: Json) -> Result<Step, Vec<String>> {
        let Json::Object(members) = operation else { panic!("no object") };
        Step::read(members).map_err(|error| {
            let Error::Invalid(invalid) = error else { panic!("{error:?}") };
            invalid.faults.into_iter().map(|fault| fault.field).collect()
        })
    }

    #[test]
    fn each_operation_is_read_by_the_fields_of_its_own() {
        let id = "01890000-0000-7000-8000-000000000000";

        assert!(matches!(read(json!({ "op": "create", "url": "https://a.example" })), Ok(Step::Create(_))));
        assert!(matches!(read(json!({ "op": "update", "id": id, "progress": 1 })), Ok(Step::Update(_))));
        assert!(matches!(read(json!({ "op": "delete", "id": id })), Ok(Step::Delete(_))));
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
