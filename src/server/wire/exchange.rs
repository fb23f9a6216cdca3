//! State that a connection shares with the answers on it: whether an answer is still being sent, how much of it is in memory and
//! for whom, and whether the service drains.

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

use crate::http::budget::Sender;

/// A body is handed to the connection in pieces of this size. The connection copies what it is handed, so a larger piece
/// would stand in memory twice while its reader is slow.
const PIECE_BYTES: usize = 16 << 10;

/// The state that a connection shares with the answers on it. It never leaves the connection's worker.
#[derive(Debug)]
pub struct Exchange {
    is_answering: Cell<bool>,
    has_ended: Cell<bool>,
    unsent: Cell<usize>,
    caller: Cell<Sender>,
    drain: CancellationToken,
}

impl Exchange {
    /// The state of a connection without a request; `drain` is cancelled when the service stops.
    pub fn new(drain: CancellationToken) -> Rc<Self> {
        Rc::new(Self {
            is_answering: Cell::new(false),
            has_ended: Cell::new(false),
            unsent: Cell::new(0),
            caller: Cell::new(Sender::stranger(None)),
            drain,
        })
    }

    /// A request has come whose answer is not encoded yet.
    pub fn begin(&self) {
        self.is_answering.set(true);
    }

    /// The answer is encoded, or was given up.
    pub fn end(&self) {
        self.is_answering.set(false);
        self.unsent.set(0);
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

    /// Bytes of the answer that are not encoded yet and whose memory it does not share.
    pub fn unsent(&self) -> usize {
        self.unsent.get()
    }

    /// The caller that the answer is for.
    pub fn caller(&self) -> Sender {
        self.caller.get()
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
    if let Some(exchange) = &exchange {
        exchange.caller.set(Sender::of(response.request()));
    }
    // After 408 the rest of the body may still come: nothing behind it can be told apart from it.
    if response.status() == StatusCode::REQUEST_TIMEOUT
        || exchange.is_some_and(|exchange| exchange.is_draining())
    {
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    Ok(response.map_body(|_, body| TrackedBody::new(body, guard)))
}

/// A body in pieces, which tells the connection when it ends.
struct TrackedBody {
    body: BoxBody,
    /// What of the body's last chunk was not handed on yet.
    rest: Bytes,
    /// Whether the chunk's memory is shared, such as that of the OpenAPI document.
    is_shared: bool,
    guard: Option<AnswerGuard>,
}

impl TrackedBody {
    fn new(body: BoxBody, guard: Option<AnswerGuard>) -> Self {
        Self { body, rest: Bytes::new(), is_shared: false, guard }
    }
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
                Some(Ok(chunk)) => {
                    this.is_shared = !chunk.is_unique();
                    this.rest = chunk;
                }
                end @ (Some(Err(_)) | None) => return Poll::Ready(end),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        if let Some(AnswerGuard(exchange)) = &this.guard {
            exchange.unsent.set(if this.is_shared { 0 } else { this.rest.len() });
        }
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
        let body = TrackedBody::new(BoxBody::new("a heron"), Some(guard));
        assert!(exchange.is_answering() && !exchange.take_ended());

        drop(body);

        assert!(!exchange.is_answering() && exchange.take_ended() && !exchange.take_ended());
    }

    /// Returns the unsent bytes of this body after its first piece, and after its end.
    async fn unsent(whole: Bytes) -> [usize; 2] {
        let exchange = Exchange::new(CancellationToken::new());
        let mut body = Box::pin(TrackedBody::new(BoxBody::new(whole), Some(AnswerGuard(exchange.clone()))));
        poll_fn(|context| body.as_mut().poll_next(context)).await.unwrap().unwrap();
        let after_piece = exchange.unsent();
        drop(body);
        [after_piece, exchange.unsent()]
    }

    #[actix_web::test]
    async fn rest_of_a_body_is_unsent_unless_shared() {
        let own = Bytes::from(vec![b'x'; 40_000]);
        let shared = own.clone();

        assert_eq!(unsent(Bytes::from(vec![b'x'; 40_000])).await, [40_000 - PIECE_BYTES, 0]);
        assert_eq!(unsent(shared).await, [0, 0]);
        drop(own);
    }

    #[actix_web::test]
    async fn long_body_comes_in_pieces() {
        let whole = BoxBody::new(vec![b'x'; 40_000]);
        let mut body = pin!(TrackedBody::new(whole, None));

        let mut lengths = Vec::new();
        while let Some(piece) = poll_fn(|context| body.as_mut().poll_next(context)).await {
            lengths.push(piece.unwrap().len());
        }

        assert_eq!(lengths, [16_384, 16_384, 7_232]);
    }
}
