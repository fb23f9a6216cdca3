//! One row of a table of routes.

use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use entity::scope::Scope;
use schemars::{Schema, SchemaGenerator};
use validation::Field;

/// The response that a route is making.
pub type PendingResponse = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// One row of a table.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The pattern, in actix-web's syntax.
    pub pattern: &'static str,
    /// The name in the activity view: method and pattern.
    pub name: &'static str,
    /// What the operation does beyond what its name says, for the API's description; often empty.
    pub about: &'static str,
    /// The fields of a request: of the query for GET and DELETE, of the body otherwise.
    pub fields: &'static [Field],
    /// The scopes that every call needs.
    pub scopes: &'static [Scope],
    /// Returns the name of the operation's type.
    pub operation: fn() -> &'static str,
    /// The statuses of successful responses.
    pub statuses: &'static [StatusCode],
    /// Returns the schema of the reply.
    pub reply: fn(&mut SchemaGenerator) -> Schema,
    /// Answers a request.
    pub answer: fn(&'static Route, HttpRequest, Payload) -> PendingResponse,
}

impl Route {
    /// Whether the fields of a request come in its body, not in its query.
    pub fn takes_body(&self) -> bool {
        !matches!(self.method, Method::GET | Method::DELETE)
    }
}
