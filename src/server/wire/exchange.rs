//! What a connection and the answers on it know of each other: whether an answer is still being sent, and whether the
//! service drains.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_web::Error;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use tokio_util::sync::CancellationToken;

/// A body is handed to the connection in pieces of this size. The connection copies what it is handed, so a larger piece
/// would stand in memory twice while its reader is slow.
const PIECE_BYTES: usize = 16 << 10;

/// The state that a connection shares with the answers on it. It never leaves the connection's worker.
#[derive(Debug)]
pub struct Exchange {
    is_answering: Cell<bool>,
    has_ended: Cell<bool>,
    drain: CancellationToken,
}

impl Exchange {
    /// The state of a connection without a request; `drain` is cancelled when the service stops.
    pub fn new(drain: CancellationToken) -> Rc<Self> {
        Rc::new(Self { is_answering: Cell::new(false), has_ended: Cell::new(false), drain })
    }

    /// A request has come whose answer is not encoded yet.
    pub fn begin(&self) {
        self.is_answering.set(true);
    }

    /// The answer is encoded, or was given up.
    pub fn end(&self) {
        self.is_answering.set(false);
        self.has_ended.set(true);
    }

    /// Whether there is such a request.
    pub fn is_answering(&self) -> bool {
        self.is_answering.get()
    }

    /// Whether an answer has been encoded since this was asked last.
    pub fn take_ended(&self) -> bool {
        self.has_ended.replace(false)
    }

    /// Whether connections are to be closed after their answers.
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }
}

/// Lives until the answer is encoded, or was given up.
struct AnswerGuard(Rc<Exchange>);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Tells the connection when an answer has been encoded, and closes the connection after it while the service drains.
///
/// # Errors
/// Those of the service behind it.
pub async fn track(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let exchange = request.conn_data::<Rc<Exchange>>().cloned();
    let guard = exchange.clone().map(AnswerGuard);
    let mut response = next.call(request).await?.map_into_boxed_body();
    // After 408 the rest of the body may still come: nothing behind it can be told apart from it.
    if response.status() == StatusCode::REQUEST_TIMEOUT
        || exchange.is_some_and(|exchange| exchange.is_draining())
    {
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    Ok(response.map_body(|_, body| TrackedBody { body, rest: Bytes::new(), _guard: guard }))
}

/// A body in pieces, which tells the connection when it ends.
struct TrackedBody {
    body: BoxBody,
    /// What of the body's last chunk was not handed on yet.
    rest: Bytes,
    _guard: Option<AnswerGuard>,
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_next(context)) {
                Some(Ok(chunk)) => this.rest = chunk,
                end @ (Some(Err(_)) | None) => return Poll::Ready(end),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(piece)))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_fn;

    use super::*;

    #[actix_web::test]
    async fn answer_is_over_once_its_body_is_dropped() {
        let exchange = Exchange::new(CancellationToken::new());
        exchange.begin();
        let guard = AnswerGuard(exchange.clone());
        let body = TrackedBody { body: BoxBody::new("a heron"), rest: Bytes::new(), _guard: Some(guard) };
        assert!(exchange.is_answering() && !exchange.take_ended());

        drop(body);

        assert!(!exchange.is_answering() && exchange.take_ended() && !exchange.take_ended());
    }

    #[actix_web::test]
    async fn long_body_comes_in_pieces() {
        let whole = BoxBody::new(vec![b'x'; 40_000]);
        let mut body = pin!(TrackedBody { body: whole, rest: Bytes::new(), _guard: None });

        let mut lengths = Vec::new();
        while let Some(piece) = poll_fn(|context| body.as_mut().poll_next(context)).await {
            lengths.push(piece.unwrap().len());
        }

        assert_eq!(lengths, [16_384, 16_384, 7_232]);
    }
}
