//! The id of a request and its line in the log: method, pattern, status, time; never the actual path, the query or a header.
//!
//! The crate tracing-actix-web does not fit: its root span has the path, the host and the IP address of the client.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use tracing::{Instrument, debug, info_span};
use uuid::Uuid;

use crate::routing::RouteMeter;

/// The header with the id of a request, which the log has too.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, which it carries for the page of an error.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives each request an id, in its response and in the log.
pub async fn request(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let (started_at, method) = (Instant::now(), method_label(request.method()));
    let id = Uuid::new_v4().to_string();
    let span = info_span!("request", request.id = %id);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.call(request).instrument(span.clone()).await?;
    if let Ok(value) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let (served, status) = (response.request(), response.status().as_u16());
    let meter = RouteMeter::of(served);
    meter.record(served, method, status, started_at.elapsed().as_secs_f64());
    // The path itself has ids and the tokens of callbacks, which belong in no log, and each would be a time series of
    // its own.
    let pattern = meter.pattern(served);
    span.in_scope(|| {
        debug!(method, pattern, status, duration_ms = started_at.elapsed().as_millis(), "request finished")
    });
    Ok(response)
}

/// The method for the log and for metrics. Unknown methods are `other`: each would create a permanent time series as a label, and
/// put text of the client into the log.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpResponse, middleware, web};
    use tracing::Level;

    use super::*;
    use crate::log::tests::Sink;

    #[actix_web::test]
    async fn meter_of_a_route_has_the_pattern_of_its_path() {
        let meter = RouteMeter::default();
        let attached = meter.clone();
        let handler = move |request: actix_web::HttpRequest| {
            attached.attach_to(&request);
            async { HttpResponse::Ok().finish() }
        };
        let scope = web::scope("/rest").route("/documents/{id}", web::get().to(handler));
        let service = init_service(App::new().wrap(middleware::from_fn(request)).service(scope)).await;

        for path in ["/rest/documents/1", "/rest/documents/2"] {
            let response = call_service(&service, TestRequest::get().uri(path).to_request()).await;
            assert!(response.headers().contains_key(REQUEST_ID));
            assert_eq!(meter.pattern(response.request()), "/rest/documents/{id}");
        }
    }

    /// Covers the threat table (row H6).
    #[actix_web::test]
    async fn unknown_method_is_logged_as_a_constant() {
        let sink = Sink::default();
        let lines = sink.clone();
        let log = tracing_subscriber::fmt().with_max_level(Level::DEBUG).with_ansi(false);
        let log = log.with_writer(move || sink.clone()).finish();
        let _log = tracing::subscriber::set_default(log);
        let response = web::to(async || HttpResponse::Ok().finish());
        let service = init_service(App::new().wrap(middleware::from_fn(request)).default_service(response));
        let service = service.await;

        for method in ["GET", "CANARY"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            call_service(&service, TestRequest::default().method(method).to_request()).await;
        }

        let written = lines.written();
        assert!(written.contains("method=\"GET\"") && written.contains("method=\"other\""), "{written}");
        assert!(!written.contains("CANARY"), "{written}");
    }
}
