//! How a surface mounts its tables of routes.

use actix_web::http::Method;
use actix_web::web::{self, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource};
use actors::operation::FromRequest;

use super::route::{ReplyStatus, Route};
use super::route_meter::RouteMeter;

/// A surface that serves tables of routes.
pub trait RouteSurface: 'static {
    /// Handles a request by the operation of a route.
    fn handle<O: FromRequest>(
        route: &'static Route,
        success: ReplyStatus<O::Reply>,
        request: HttpRequest,
        payload: Payload,
    ) -> impl Future<Output = HttpResponse> + 'static;

    /// Responds to a request for a path that has no route, or has none with this method. `methods` lists the methods of the path; it
    /// is empty if there is no such path.
    fn refuse(request: HttpRequest, methods: Vec<String>) -> impl Future<Output = HttpResponse> + 'static;
}

/// Mounts a table: each pattern once, with all its methods. Other methods are refused.
pub fn mount<S: RouteSurface>(config: &mut ServiceConfig, routes: impl IntoIterator<Item = &'static Route>) {
    let routes: Vec<&'static Route> = routes.into_iter().collect();
    // In the order of the table: the router takes the first pattern that matches, so
    // `/bookmarks/exists` must come before `/bookmarks/{id}`.
    let mut patterns: Vec<&'static str> = Vec::new();
    for route in &routes {
        if !patterns.contains(&route.pattern) {
            patterns.push(route.pattern);
        }
    }
    for pattern in patterns {
        let mut resource = Resource::new(pattern);
        let mut methods = Vec::new();
        for route in routes.iter().copied().filter(|route| route.pattern == pattern) {
            methods.push(route.method.to_string());
            // `http::head` handles HEAD as GET, so it belongs in `Allow`.
            if route.method == Method::GET {
                methods.push(Method::HEAD.to_string());
            }
            let meter = RouteMeter::default();
            let handler = move |request: HttpRequest, payload: Payload| {
                meter.attach_to(&request);
                (route.handle)(route, request, payload)
            };
            resource = resource.route(web::method(route.method.clone()).to(handler));
        }
        // The fallback is that of the resource: the router would otherwise respond with 405 by
        // itself, without key and envelope.
        config.service(resource.default_service(refuse::<S>(methods)));
    }
}

/// Returns the fallback of a path with these methods ([`RouteSurface::refuse`]).
pub fn refuse<S: RouteSurface>(methods: Vec<String>) -> actix_web::Route {
    web::to(move |request: HttpRequest| S::refuse(request, methods.clone()))
}
