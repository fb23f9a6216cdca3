//! One row of a table of routes.

use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use actors::operation::Operation;
use actors::target::Target;
use entity::scope::Scope;
use errors::{Error, Invalid};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use validation::{Request, read_json, read_query, schema_of};

/// The response that a route is making.
pub type PendingResponse = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// One row of a table: everything that mounting, the OpenAPI document and the activity view need of a route.
pub struct Route {
    /// The method. HEAD is not listed: it is handled as GET.
    pub method: Method,
    /// The pattern of the path within the table's scope, in the syntax of actix-web.
    pub pattern: &'static str,
    /// The name in the activity view: the method and the pattern, with variable parts as `:id`.
    pub name: &'static str,
    /// What the operation does beyond what its name says, for the API's description; often empty.
    pub about: &'static str,
    /// The type of a request: of the query for GET and DELETE, of the body otherwise.
    pub request: RequestType,
    /// The scopes that every call needs. Some requests need more, which the operation itself decides.
    pub scopes: &'static [Scope],
    /// Returns the name of the operation's type, from which the API's description derives an operation id.
    pub operation: fn() -> &'static str,
    /// The statuses of successful responses: one, or 200 and 201.
    pub statuses: &'static [StatusCode],
    /// Returns the schema of the reply, as a reference to a component of the generator.
    pub reply: fn(&mut SchemaGenerator) -> Schema,
    /// Answers a request, as the surface of the table does.
    pub answer: fn(&'static Route, HttpRequest, Payload) -> PendingResponse,
}

/// Makes an operation from the path and the fields of a request.
pub type ReadOperation<O, R> = fn(&Target, R) -> Result<O, Error>;

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
    /// Returns the type of the requests that `read` takes. Only the type of `read` matters.
    pub const fn of<O: Operation, R: Request>(_read: ReadOperation<O, R>) -> Self {
        Self {
            schema: schema_of::<R>,
            check_query: |query| read_query::<R>(query).map(drop),
            check_json: |body| read_json::<R>(body).map(drop),
        }
    }
}

impl Route {
    /// Whether the fields of a request come in its body, not in its query.
    pub fn takes_body(&self) -> bool {
        !matches!(self.method, Method::GET | Method::DELETE)
    }
}
