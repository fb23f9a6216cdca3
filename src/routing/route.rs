//! One row of a table of routes.

use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use validation::{Invalid, Request, read_json, read_query, schema_of};
use values::scope::Scope;

use super::route_name::RouteName;

/// The response that a route is making.
pub type PendingResponse = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// One row of a table: what mounting and the activity view need of a route, and what the OpenAPI document reads of its types.
pub struct Route {
    /// The method. HEAD is not listed: it is handled as GET.
    pub method: Method,
    /// The pattern of the path within the table's scope, in the syntax of actix-web. Its variables are named as in the OpenAPI
    /// document.
    pub pattern: &'static str,
    pub(super) name: RouteName,
    /// The type of a request: of the query for GET and DELETE, of the body otherwise.
    pub request: RequestType,
    /// The scopes that every call needs. Some requests need more, which the operation itself decides.
    pub scopes: &'static [Scope],
    /// The codes of the errors that only some operations return ([`ERRORS`](actors::operation::Operation::ERRORS)).
    pub errors: &'static [&'static str],
    /// The status of successful responses.
    pub success: StatusCode,
    /// Whether the item may exist already, so that nothing is created and the status is 200.
    pub finds_existing: bool,
    /// Returns the schema of the reply, as a reference to a component of the generator.
    pub reply: fn(&mut SchemaGenerator) -> Schema,
    /// Handles a request, as the surface of the table does.
    pub handle: fn(&'static Route, HttpRequest, Payload) -> PendingResponse,
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

/// The status of the successful responses of a route, by their replies.
pub enum ReplyStatus<R> {
    /// The same status for every reply.
    Always(StatusCode),
    /// 201 if the operation created an item, 200 if the item existed already
    /// ([`has_created`](actors::operation::CreatesIfAbsent::has_created)).
    CreatedOrOk(fn(&R) -> bool),
}

impl<R> ReplyStatus<R> {
    /// Returns the status of a response with this reply.
    pub fn for_reply(&self, reply: &R) -> StatusCode {
        match self {
            Self::Always(status) => *status,
            Self::CreatedOrOk(has_created) if has_created(reply) => StatusCode::CREATED,
            Self::CreatedOrOk(_) => StatusCode::OK,
        }
    }
}

/// A route with its description in the OpenAPI document.
pub struct DescribedRoute {
    /// The route itself.
    pub route: Route,
    /// The id of the operation, in camel case. Generated clients name their functions by it.
    pub operation_id: &'static str,
    /// The title of the operation.
    pub summary: &'static str,
    /// What the operation does beyond what its name says.
    pub about: &'static str,
}

/// Returns the routes of a table without their descriptions.
pub fn undescribed(table: &'static [DescribedRoute]) -> impl Iterator<Item = &'static Route> {
    table.iter().map(|described| &described.route)
}

impl Route {
    /// Returns all statuses that a successful response may have, in ascending order.
    pub fn success_statuses(&self) -> Vec<StatusCode> {
        if self.finds_existing { vec![StatusCode::OK, self.success] } else { vec![self.success] }
    }

    /// Returns the name in the activity view: the method and the pattern, with variables as `:id`.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }
}
