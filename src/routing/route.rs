//! Tables of routes: one row names a method, a pattern, an operation and how it is read. The same rows stand behind REST
//! with a key and behind the web app with a session, so both have the same operations.

use std::future::Future;
use std::pin::Pin;

use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource};
use errors::Error;
use validation::{Field, Values};
use actors::operations::target::Target;
use actors::pipeline::Operation;
use entity::scope::Scope;
use schemars::{Schema, SchemaGenerator};

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
    /// What it does beyond what its names say, for people; often nothing.
    pub about: &'static str,
    /// What it takes, by the query for GET and DELETE and by the body otherwise.
    pub fields: &'static [Field],
    /// What a key needs for any call of it.
    pub scopes: &'static [Scope],
    /// The name of its operation.
    pub operation: fn() -> &'static str,
    /// The statuses of its replies.
    pub statuses: &'static [StatusCode],
    /// The shape of its reply.
    pub reply: fn(&mut SchemaGenerator) -> Schema,
    /// Answers a request.
    pub answer: fn(Door, &'static Route, HttpRequest, Payload) -> Answered,
}

/// A row: `GET "/pattern/{id}" as "GET /pattern/:id" => Operation`, then `read` and how it is read where that is not
/// `Operation::read`, then `status` and the status of its reply where that is not 200: `|_| StatusCode::CREATED`, or a
/// function that chooses between 200 and 201. Doc comments before the row say more of it in the API's description.
macro_rules! route {
    (@read $op:ty) => { <$op>::read };
    (@read $op:ty, read $read:expr) => { $read };
    (@read $op:ty, read $read:expr, status $($status:tt)+) => { $read };
    (@read $op:ty, status $($status:tt)+) => { <$op>::read };
    (@status) => { |_| actix_web::http::StatusCode::OK };
    (@status read $read:expr) => { |_| actix_web::http::StatusCode::OK };
    (@status read $read:expr, status $status:expr) => { $status };
    (@status status $status:expr) => { $status };
    (@statuses) => { &[actix_web::http::StatusCode::OK] };
    (@statuses read $read:expr) => { &[actix_web::http::StatusCode::OK] };
    (@statuses read $read:expr, status $($status:tt)+) => { $crate::http::table::route!(@statuses status $($status)+) };
    (@statuses status |_| StatusCode::$status:ident) => { &[actix_web::http::StatusCode::$status] };
    (@statuses status $status:expr) => {
        &[actix_web::http::StatusCode::OK, actix_web::http::StatusCode::CREATED]
    };
    ($(#[doc = $about:literal])* $method:ident $pattern:literal as $name:literal => $op:ty $(, $($how:tt)+)?) => {
        $crate::http::table::Route {
            method: actix_web::http::Method::$method,
            pattern: $pattern,
            name: $name,
            about: concat!($($about),*),
            fields: <$op>::FIELDS,
            scopes: <$op as actors::pipeline::Operation>::SCOPES,
            operation: || std::any::type_name::<$op>(),
            statuses: $crate::http::table::route!(@statuses $($($how)+)?),
            reply: |generator| generator.subschema_for::<<$op as actors::pipeline::Operation>::Reply>(),
            answer: |door, route, request, payload| {
                Box::pin($crate::http::table::operation::<$op>(
                    door,
                    route,
                    request,
                    payload,
                    $crate::http::table::route!(@read $op $(, $($how)+)?),
                    $crate::http::table::route!(@status $($($how)+)?),
                ))
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
            if route.method == Method::GET {
                methods.push(Method::HEAD.to_string());
            }
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
