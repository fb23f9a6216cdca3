//! Runs a request to its end.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use actix_web::{HttpRequest, HttpResponse};
use errors::Error;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tracing::{Instrument, Span};

use super::context::operation_context;
use super::envelope;

/// Runs `work` to its end even if the client disconnects: what was begun is completed and recorded. A panic in it is an internal
/// error of this request alone.
pub async fn run_to_end(
    request: HttpRequest,
    work: impl Future<Output = HttpResponse> + 'static,
) -> HttpResponse {
    let work = AssertUnwindSafe(work).catch_unwind().boxed_local();
    let ended = DetachOnDrop { work: Some(work), span: Span::current() }.await;
    ended.unwrap_or_else(|_panicked| match operation_context(&request) {
        Ok(ctx) => envelope::failure(&request, &ctx, &Error::internal("the work of a request panicked")),
        Err(response) => response,
    })
}

/// Work that is polled by the task of its connection. If the client disconnects, the connection drops it, and the rest of the work runs
/// in a task of its own. If each request had a task from the beginning, it would need one more allocation and wake-up, and requests that
/// arrive together would wait for each other's response slots.
struct DetachOnDrop {
    /// `None` once it has ended.
    work: Option<LocalBoxFuture<'static, thread::Result<HttpResponse>>>,
    /// The span of the request, which gives its log lines the request id. A task does not inherit it.
    span: Span,
}

impl Future for DetachOnDrop {
    type Output = thread::Result<HttpResponse>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let ended = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(ended)
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            drop(actix_web::rt::spawn(work.instrument(self.span.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;
    use actix_web::test::TestRequest;
    use futures_util::poll;
    use tokio::sync::oneshot;
    use tokio::task::yield_now;
    use tracing::{info_span, warn};

    use super::*;
    use crate::log::tests::capture_log;

    fn panicking_handler() -> HttpResponse {
        panic!("a bug")
    }

    /// Covers the fault table (row 29).
    #[actix_web::test]
    async fn panic_of_a_handler_is_a_500_of_its_request_alone() {
        let request = TestRequest::default().to_http_request();

        let panicked = run_to_end(request.clone(), async { panicking_handler() }).await;
        let panicked_later = run_to_end(request.clone(), async {
            yield_now().await;
            panicking_handler()
        });
        let panicked_later = panicked_later.await;
        let next = run_to_end(request, async { HttpResponse::Ok().finish() }).await;

        assert_eq!(panicked.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(panicked_later.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(next.status(), StatusCode::OK);
    }

    #[actix_web::test]
    async fn work_ends_although_its_client_disconnects() {
        let (lines, _log) = capture_log();
        let request = TestRequest::default().to_http_request();
        let (ended, has_ended) = oneshot::channel();
        let work = async move {
            yield_now().await;
            warn!("the client has disconnected");
            ended.send(()).unwrap();
            HttpResponse::Ok().finish()
        };

        let mut response =
            Box::pin(run_to_end(request, work).instrument(info_span!("request", request.id = "r-43")));
        assert!(poll!(&mut response).is_pending());
        drop(response);

        has_ended.await.unwrap();
        let written = lines.written();
        assert!(written.contains("the client has disconnected") && written.contains("r-43"), "{written}");
    }

    #[actix_web::test]
    async fn log_lines_of_a_request_carry_its_id() {
        let (lines, _log) = capture_log();
        let work = async {
            warn!("something to look at");
            yield_now().await;
            warn!("something else");
            HttpResponse::Ok().finish()
        };

        let request = TestRequest::default().to_http_request();
        let response = run_to_end(request, work).instrument(info_span!("request", request.id = "r-42")).await;

        assert_eq!(response.status(), StatusCode::OK);
        let written = lines.written();
        assert_eq!(written.matches("r-42").count(), 2, "{written}");
        assert!(written.contains("something to look at") && written.contains("something else"), "{written}");
    }
}
