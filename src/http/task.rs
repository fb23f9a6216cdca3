//! Runs a request to its end.

use actix_web::{HttpRequest, HttpResponse};
use errors::Error;
use tracing::Instrument;

use super::context::operation_context;
use super::envelope;

/// Runs `work` to its end even if the client disconnects: what was begun is completed and recorded. A panic in it is an internal
/// error of this request alone.
pub async fn run_to_end(
    request: HttpRequest,
    work: impl Future<Output = HttpResponse> + 'static,
) -> HttpResponse {
    // A client that disconnects drops this future, and with it only the handle of the task. A task does not inherit
    // the span, which gives its log lines the request id.
    match actix_web::rt::spawn(work.in_current_span()).await {
        Ok(response) => response,
        // Nothing aborts the task, so it ended by a panic.
        Err(_) => match operation_context(&request) {
            Ok(ctx) => envelope::failure(&request, &ctx, &Error::internal("the request's task panicked")),
            Err(response) => response,
        },
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;
    use actix_web::test::TestRequest;
    use tracing::{info_span, warn};

    use super::*;
    use crate::log::tests::Sink;

    fn panicking_handler() -> HttpResponse {
        panic!("a bug")
    }

    /// Covers the fault table (row 29).
    #[actix_web::test]
    async fn panic_of_a_handler_is_a_500_of_its_request_alone() {
        let request = TestRequest::default().to_http_request();

        let panicked = run_to_end(request.clone(), async { panicking_handler() }).await;
        let next = run_to_end(request, async { HttpResponse::Ok().finish() }).await;

        assert_eq!(panicked.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(next.status(), StatusCode::OK);
    }

    #[actix_web::test]
    async fn log_lines_of_a_request_carry_its_id() {
        let writer = Sink::default();
        let lines = writer.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let _log = tracing::subscriber::set_default(log);
        let work = async {
            warn!("something to look at");
            HttpResponse::Ok().finish()
        };

        let request = TestRequest::default().to_http_request();
        let response = run_to_end(request, work).instrument(info_span!("request", request.id = "r-42")).await;

        assert_eq!(response.status(), StatusCode::OK);
        let written = lines.written();
        assert!(written.contains("something to look at") && written.contains("r-42"), "{written}");
    }
}
