//! Builds the rows of a table: `Route::post::<Rest, CreateCollection>("/collections").created()`.

use actix_web::http::{Method, StatusCode};
use actors::operation::{CreatesIfAbsent, FromRequest};

use super::route::{DescribedRoute, ReplyStatus, RequestType, Route};
use super::route_name::RouteName;
use super::surface::RouteSurface;

impl Route {
    /// Builds a GET route that runs an operation.
    pub const fn get<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::GET, "GET", pattern)
    }

    /// Builds a POST route that runs an operation.
    pub const fn post<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::POST, "POST", pattern)
    }

    /// Builds a POST route that runs an operation which may find that its item exists already. The status of a successful response
    /// is 201 if the operation created the item, and 200 if it existed.
    pub const fn post_if_absent<S: RouteSurface, O: FromRequest + CreatesIfAbsent>(
        pattern: &'static str,
    ) -> Self {
        let mut route = Self::new::<S, O>(Method::POST, "POST", pattern);
        route.success = StatusCode::CREATED;
        route.finds_existing = true;
        route.handle = |route, request, payload| {
            Box::pin(S::handle::<O>(route, ReplyStatus::CreatedOrOk(O::has_created), request, payload))
        };
        route
    }

    /// Builds a PUT route that runs an operation.
    pub const fn put<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::PUT, "PUT", pattern)
    }

    /// Builds a PATCH route that runs an operation.
    pub const fn patch<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::PATCH, "PATCH", pattern)
    }

    /// Builds a DELETE route that runs an operation.
    pub const fn delete<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::DELETE, "DELETE", pattern)
    }

    /// `method_name` is the name of the method: that of a [`Method`] is not known when the program is compiled.
    const fn new<S: RouteSurface, O: FromRequest>(
        method: Method,
        method_name: &str,
        pattern: &'static str,
    ) -> Self {
        Self {
            method,
            pattern,
            name: RouteName::new(method_name, pattern),
            request: RequestType::of::<O::Request>(),
            scopes: O::SCOPES,
            errors: O::ERRORS,
            success: StatusCode::OK,
            finds_existing: false,
            reply: |generator| generator.subschema_for::<O::Reply>(),
            // The types of the operation end here: a table holds plain function pointers.
            handle: |route, request, payload| {
                Box::pin(S::handle::<O>(route, ReplyStatus::Always(route.success), request, payload))
            },
        }
    }

    /// Describes the route for the OpenAPI document: by the id of the operation, its title, and what it does.
    #[must_use]
    pub const fn described(
        self,
        operation_id: &'static str,
        summary: &'static str,
        about: &'static str,
    ) -> DescribedRoute {
        DescribedRoute { route: self, operation_id, summary, about }
    }

    /// Sets the status of successful responses to 201.
    #[must_use]
    pub const fn created(mut self) -> Self {
        self.success = StatusCode::CREATED;
        self
    }

    /// Sets the status of successful responses to 202.
    #[must_use]
    pub const fn accepted(mut self) -> Self {
        self.success = StatusCode::ACCEPTED;
        self
    }
}
