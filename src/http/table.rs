//! Tables of routes: one row names a method, a pattern, an operation and how it is read. The same rows stand behind REST
//! with a key and behind the web app with a session, so both have the same operations.

use std::future::Future;
use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource};
use actors::error::Error;
use actors::fields::{Field, Values};
use actors::ops::target::Target;
use actors::perform::Operation;

use crate::{app, rest};

/// The answer of a handler.
pub type Answered = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// By what a request is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// An API key: REST.
    Key,
    /// A session's cookie: the web app.
    Session,
}

/// One row.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The pattern, in actix-web's spelling.
    pub pattern: &'static str,
    /// Its name in the activity view: method and pattern.
    pub name: &'static str,
    /// What it takes, by the query for GET and DELETE and by the body otherwise.
    pub fields: &'static [Field],
    /// Answers a request.
    pub answer: fn(Door, &'static Route, HttpRequest, Payload) -> Answered,
}

/// A row: `GET "/pattern/{id}" as "GET /pattern/:id" => Operation`, then how it is read where that is not
/// `Operation::read`, and the status of its reply where that is not 200.
macro_rules! route {
    ($method:ident $pattern:literal as $name:literal => $op:ty) => {
        $crate::http::table::route!($method $pattern as $name => $op, read <$op>::read, status |_| actix_web::http::StatusCode::OK)
    };
    ($method:ident $pattern:literal as $name:literal => $op:ty, read $read:expr) => {
        $crate::http::table::route!($method $pattern as $name => $op, read $read, status |_| actix_web::http::StatusCode::OK)
    };
    ($method:ident $pattern:literal as $name:literal => $op:ty, status $status:expr) => {
        $crate::http::table::route!($method $pattern as $name => $op, read <$op>::read, status $status)
    };
    ($method:ident $pattern:literal as $name:literal => $op:ty, read $read:expr, status $status:expr) => {
        $crate::http::table::Route {
            method: actix_web::http::Method::$method,
            pattern: $pattern,
            name: $name,
            fields: <$op>::FIELDS,
            answer: |door, route, request, payload| {
                Box::pin($crate::http::table::operation::<$op>(door, route, request, payload, $read, $status))
            },
        }
    };
}

pub(crate) use route;

/// Mounts a table: each pattern once, with all its methods; other methods are refused with what there is.
pub fn mount(config: &mut ServiceConfig, door: Door, routes: &'static [Route]) {
    let mut patterns: Vec<&'static str> = Vec::new();
    for route in routes {
        if !patterns.contains(&route.pattern) {
            patterns.push(route.pattern);
        }
    }
    for pattern in patterns {
        let mut resource = Resource::new(pattern);
        let mut methods = Vec::new();
        for route in routes.iter().filter(|route| route.pattern == pattern) {
            methods.push(route.method.to_string());
            let handle = move |request, payload| (route.answer)(door, route, request, payload);
            resource = resource.route(web::method(route.method.clone()).to(handle));
        }
        config.service(resource.default_service(refuse(door, methods)));
    }
}

/// Answers where there is no such route, or not with this method.
pub fn refuse(door: Door, methods: Vec<String>) -> actix_web::Route {
    web::to(move |request: HttpRequest| {
        let methods = methods.clone();
        async move {
            match door {
                Door::Key => rest::refuse(request, methods).await,
                Door::Session => app::refuse(&request, methods),
            }
        }
    })
}

/// Answers by this operation: `read` makes it from path and fields, `success` is the status of its reply.
pub async fn operation<O: Operation>(
    door: Door,
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
    success: fn(&O::Reply) -> StatusCode,
) -> HttpResponse {
    match door {
        Door::Key => rest::operation(route, request, payload, read, success).await,
        Door::Session => app::operation(route, request, payload, read, success).await,
    }
}
