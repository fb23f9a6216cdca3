//! One row of a table of routes.

use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use actors::operation::Operation;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use validation::{Invalid, Request, read_json, read_query, schema_of};
use values::scope::Scope;

/// The response that a route is making.
pub type PendingResponse = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// One row of a table: everything that mounting, the OpenAPI document and the activity view need of a route.
pub struct Route {
    /// The method. HEAD is not listed: it is handled as GET.
    pub method: Method,
    /// The pattern of the path within the table's scope, in the syntax of actix-web. Its variables are named as in the OpenAPI
    /// document.
    pub pattern: &'static str,
    /// The id of the operation in the OpenAPI document, in camel case. Generated clients name their functions by it. Empty for
    /// routes that are not in the document.
    pub operation_id: &'static str,
    /// The title of the operation in the OpenAPI document; empty for routes that are not in it.
    pub summary: &'static str,
    /// What the operation does beyond what its name says, for the OpenAPI document; empty for routes that are not in it.
    pub about: &'static str,
    /// The type of a request: of the query for GET and DELETE, of the body otherwise.
    pub request: RequestType,
    /// The scopes that every call needs. Some requests need more, which the operation itself decides.
    pub scopes: &'static [Scope],
    /// The codes of the errors that only some operations return ([`Operation::ERRORS`]).
    pub errors: &'static [&'static str],
    /// The status of successful responses.
    pub success: SuccessStatus,
    /// Returns the schema of the reply, as a reference to a component of the generator.
    pub reply: fn(&mut SchemaGenerator) -> Schema,
    /// Answers a request, as the surface of the table does.
    pub answer: fn(&'static Route, HttpRequest, Payload) -> PendingResponse,
}

/// The type of the requests of a route, as values of one table.
pub struct RequestType {
    /// Returns its JSON Schema, for the API's description.
    pub schema: fn() -> Value,
    /// Checks a query string without running the operation. The tests of the schemas use it.
    pub check_query: fn(&str) -> Result<(), Invalid>,
    /// Checks a JSON body without running the operation. The tests of the schemas use it.
    pub check_json: fn(&[u8]) -> Result<(), Invalid>,
}

impl RequestType {
    /// Returns the functions for requests of this type.
    pub const fn of<R: Request>() -> Self {
        Self {
            schema: schema_of::<R>,
            check_query: |query| read_query::<R>(query).map(drop),
            check_json: |body| read_json::<R>(body).map(drop),
        }
    }
}

/// The status of the successful responses of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuccessStatus {
    /// 200, whatever the operation returns.
    Ok,
    /// 201: the operation created what it returns.
    Created,
    /// 202: processing continues in the background.
    Accepted,
    /// 201 if the operation created an item, 200 if the item existed already ([`Operation::has_created`]).
    CreatedOrOk,
}

impl SuccessStatus {
    /// Returns the status of a response with this reply.
    pub fn of_reply<O: Operation>(self, reply: &O::Reply) -> StatusCode {
        match self {
            Self::Ok => StatusCode::OK,
            Self::Created => StatusCode::CREATED,
            Self::Accepted => StatusCode::ACCEPTED,
            Self::CreatedOrOk if O::has_created(reply) => StatusCode::CREATED,
            Self::CreatedOrOk => StatusCode::OK,
        }
    }

    /// Returns all statuses that a response may have, in ascending order.
    pub fn all(self) -> Vec<StatusCode> {
        match self {
            Self::Ok => vec![StatusCode::OK],
            Self::Created => vec![StatusCode::CREATED],
            Self::Accepted => vec![StatusCode::ACCEPTED],
            Self::CreatedOrOk => vec![StatusCode::OK, StatusCode::CREATED],
        }
    }
}

impl Route {
    /// Returns the name in the activity view: the method and the pattern, with variables as `:id`.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.pattern.replace('{', ":").replace('}', ""))
    }
}
