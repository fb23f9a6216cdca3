//! Builds the rows of a table: `Route::post::<Rest, CreateCollection>("/collections").created()`.

use actix_web::http::Method;
use actors::operation::FromRequest;

use super::route::{RequestType, Route, SuccessStatus};
use super::surface::RouteSurface;

impl Route {
    /// Builds a GET route that runs an operation.
    pub const fn get<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::GET, pattern)
    }

    /// Builds a POST route that runs an operation.
    pub const fn post<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::POST, pattern)
    }

    /// Builds a PUT route that runs an operation.
    pub const fn put<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::PUT, pattern)
    }

    /// Builds a PATCH route that runs an operation.
    pub const fn patch<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::PATCH, pattern)
    }

    /// Builds a DELETE route that runs an operation.
    pub const fn delete<S: RouteSurface, O: FromRequest>(pattern: &'static str) -> Self {
        Self::new::<S, O>(Method::DELETE, pattern)
    }

    const fn new<S: RouteSurface, O: FromRequest>(method: Method, pattern: &'static str) -> Self {
        Self {
            method,
            pattern,
            operation_id: "",
            summary: "",
            about: "",
            request: RequestType::of::<O::Request>(),
            scopes: O::SCOPES,
            errors: O::ERRORS,
            success: SuccessStatus::Ok,
            reply: |generator| generator.subschema_for::<O::Reply>(),
            // The types of the operation end here: a table holds plain function pointers.
            answer: |route, request, payload| Box::pin(S::answer::<O>(route, request, payload)),
        }
    }

    /// Describes the route for the OpenAPI document: by the id of the operation, its title, and what it does.
    #[must_use]
    pub const fn described(
        mut self,
        operation_id: &'static str,
        summary: &'static str,
        about: &'static str,
    ) -> Self {
        self.operation_id = operation_id;
        self.summary = summary;
        self.about = about;
        self
    }

    /// Sets the status of successful responses to 201.
    #[must_use]
    pub const fn created(mut self) -> Self {
        self.success = SuccessStatus::Created;
        self
    }

    /// Sets the status of successful responses to 202.
    #[must_use]
    pub const fn accepted(mut self) -> Self {
        self.success = SuccessStatus::Accepted;
        self
    }

    /// Sets the status of successful responses to 201 if the operation created an item, and to 200 if the item existed already.
    #[must_use]
    pub const fn created_or_ok(mut self) -> Self {
        self.success = SuccessStatus::CreatedOrOk;
        self
    }
}
