//! State that a connection shares with the responses on it: whether a response is still being sent, how much of it is in memory and
//! for whom, and whether the server drains.

use std::cell::{Cell, RefCell};
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

use super::unsent::{UnsentResponse, UnsentResponses, long_head_bytes};
use crate::http::budget::Sender;
use crate::http::response_slots::release_slot;

/// A long body is handed to the connection in pieces of this size. The connection copies each piece, so a larger one would be in
/// memory twice while its reader is slow. Together with a response head of the usual length, a piece fits into the 8 KiB
/// with which actix-http begins to write.
const PIECE_BYTES: usize = 7 << 10;
/// A body up to this length is handed on as a whole, because each piece is a system call and wakes its reader. The body is freed then, and
/// its copy with a head of the usual length takes 16 KiB. A page of 12,000 ASCII characters is not longer.
const MAX_WHOLE_BYTES: usize = 14 << 10;

/// The state that a connection shares with the responses on it. It never leaves the connection's worker.
#[derive(Debug)]
pub struct Exchange {
    is_responding: Cell<bool>,
    has_ended: Cell<bool>,
    /// The caller that the response is for. Known only once the request is authenticated.
    caller: Cell<Sender>,
    /// Memory of the head of its request, if that is long. It is kept at least until the response is encoded.
    long_head_bytes: Cell<usize>,
    unsent: UnsentResponses,
    /// The part of the response, and of the head of its request, that counts as unsent.
    response: RefCell<Option<UnsentResponse>>,
    drain: CancellationToken,
}

impl Exchange {
    /// The state of a connection without a request, whose responses are counted by `unsent`; `drain`
    /// is cancelled when the server stops.
    pub fn new(unsent: UnsentResponses, drain: CancellationToken) -> Rc<Self> {
        Rc::new(Self {
            is_responding: Cell::new(false),
            has_ended: Cell::new(false),
            caller: Cell::new(Sender::anonymous(None)),
            long_head_bytes: Cell::new(0),
            unsent,
            response: RefCell::new(None),
            drain,
        })
    }

    /// Records that a request has arrived with a head of this length, and that its response is not encoded yet.
    pub fn begin(&self, head_bytes: usize) {
        self.is_responding.set(true);
        self.long_head_bytes.set(long_head_bytes(head_bytes));
    }

    /// Records that the response is encoded, or was given up.
    pub fn end(&self) {
        self.is_responding.set(false);
        drop(self.response.take());
        self.has_ended.set(true);
    }

    /// Returns whether there is a request whose response is not encoded yet.
    pub fn is_responding(&self) -> bool {
        self.is_responding.get()
    }

    /// Returns whether a response has been encoded since this was asked last.
    pub fn take_ended(&self) -> bool {
        self.has_ended.replace(false)
    }

    /// Counts this part of the response until the response ends, and a long head with it. The part's memory is freed as a whole, so it
    /// counts whole, unless it is shared, such as that of the OpenAPI document. Parts before it are freed already; what they counted
    /// is kept for this one, so that a slow reader does not lose its share in the middle of a response.
    fn count(&self, part: &Bytes) {
        let part_bytes = if part.is_unique() { part.len() } else { 0 };
        let bytes = part_bytes + self.long_head_bytes.get();
        let counted = self.response.borrow().as_ref().map_or(0, UnsentResponse::bytes);
        if bytes > counted {
            // Released first, so that the part does not count in addition to the one before it.
            drop(self.response.take());
            let response = self.unsent.count(self.caller.get(), bytes);
            *self.response.borrow_mut() = response;
        }
    }

    /// Returns whether the response may stay in memory while its reader is slow.
    pub fn may_stay(&self) -> bool {
        self.response.borrow_mut().as_mut().is_none_or(UnsentResponse::is_allowed)
    }

    /// Returns whether connections are to be closed after their responses.
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }
}

/// Lives until the response is encoded, or was given up.
struct ResponseGuard(Rc<Exchange>);

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Counts a response as unsent and releases its slot, tells the connection when it has been encoded, and closes the connection
/// after it while the server drains.
pub async fn track(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let exchange = request.conn_data::<Rc<Exchange>>().cloned();
    // Made before the handler runs, so that a response that is given up also ends.
    let guard = exchange.clone().map(ResponseGuard);
    let mut response = next.call(request).await?.map_into_boxed_body();
    if let Some(exchange) = &exchange {
        // After the handler, which notes the account.
        exchange.caller.set(Sender::of(response.request()));
    }
    // After 408 the rest of the body may still arrive, so the start of a next request could not be found.
    if response.status() == StatusCode::REQUEST_TIMEOUT
        || exchange.is_some_and(|exchange| exchange.is_draining())
    {
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    let response = response.map_body(|_, body| TrackedBody::new(body, guard));
    // Not earlier: a response in memory counts either as being built or as unsent.
    release_slot(response.request());
    Ok(response)
}

/// A body in pieces, which tells the connection when it ends.
struct TrackedBody {
    size: BodySize,
    /// `None` if the whole body was in memory.
    stream: Option<BoxBody>,
    /// The part of the body's last chunk that was not handed on yet.
    rest: Bytes,
    /// Length of the pieces of that chunk.
    piece_bytes: usize,
    guard: Option<ResponseGuard>,
}

impl TrackedBody {
    fn new(body: BoxBody, guard: Option<ResponseGuard>) -> Self {
        let size = body.size();
        let (stream, rest) = match body.try_into_bytes() {
            Ok(whole) => (None, whole),
            Err(stream) => (Some(stream), Bytes::new()),
        };
        let mut tracked = Self { size, stream, rest, piece_bytes: PIECE_BYTES, guard };
        tracked.begin_chunk();
        tracked
    }

    /// Counts the chunk, and chooses the length of its pieces.
    fn begin_chunk(&mut self) {
        self.piece_bytes = if self.rest.len() <= MAX_WHOLE_BYTES { MAX_WHOLE_BYTES } else { PIECE_BYTES };
        if let Some(ResponseGuard(exchange)) = &self.guard {
            exchange.count(&self.rest);
        }
    }
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
            match ready!(Pin::new(stream).poll_next(context)) {
                Some(Ok(chunk)) => this.rest = chunk,
                end @ (Some(Err(_)) | None) => return Poll::Ready(end),
            }
            this.begin_chunk();
        }
        let piece = this.rest.split_to(this.rest.len().min(this.piece_bytes));
        Poll::Ready(Some(Ok(piece)))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_fn;

    use super::*;
    use crate::http::response_slots::ResponseSlots;

    fn exchange() -> Rc<Exchange> {
        Exchange::new(UnsentResponses::new(ResponseSlots::default()), CancellationToken::new())
    }

    /// A body on this connection.
    fn tracked(exchange: &Rc<Exchange>, whole: impl MessageBody + 'static) -> TrackedBody {
        TrackedBody::new(BoxBody::new(whole), Some(ResponseGuard(exchange.clone())))
    }

    #[actix_web::test]
    async fn response_is_over_once_its_body_is_dropped() {
        let exchange = exchange();
        exchange.begin(100);
        let body = tracked(&exchange, "a heron");
        assert!(exchange.is_responding() && !exchange.take_ended());

        drop(body);

        assert!(!exchange.is_responding() && exchange.take_ended() && !exchange.take_ended());
    }

    #[actix_web::test]
    async fn body_counts_as_unsent_until_it_is_dropped() {
        let exchange = exchange();
        let mut body = Box::pin(tracked(&exchange, vec![b'x'; 40_000]));
        assert!(exchange.response.borrow().is_some());

        poll_fn(|context| body.as_mut().poll_next(context)).await.unwrap().unwrap();
        assert!(exchange.response.borrow().is_some());
        drop(body);

        assert!(exchange.response.borrow().is_none());
    }

    #[actix_web::test]
    async fn body_just_over_the_free_size_counts() {
        let exchange = exchange();

        let _body = tracked(&exchange, vec![b'x'; 25_000]);

        assert!(exchange.response.borrow().is_some());
    }

    #[actix_web::test]
    async fn long_head_counts_with_a_short_body() {
        let exchange = exchange();
        exchange.begin(20_000);

        let _body = tracked(&exchange, vec![b'x'; 1_000]);

        assert!(exchange.response.borrow().is_some());
    }

    #[actix_web::test]
    async fn shared_and_short_bodies_do_not_count() {
        let exchange = exchange();
        let shared = Bytes::from(vec![b'x'; 40_000]);

        for body in [tracked(&exchange, shared.clone()), tracked(&exchange, vec![b'x'; 20_000])] {
            assert!(exchange.response.borrow().is_none());
            drop(body);
        }
    }

    #[actix_web::test]
    async fn long_body_comes_in_pieces() {
        let whole = BoxBody::new(vec![b'x'; 40_000]);
        let mut body = pin!(TrackedBody::new(whole, None));

        let mut lengths = Vec::new();
        while let Some(piece) = poll_fn(|context| body.as_mut().poll_next(context)).await {
            lengths.push(piece.unwrap().len());
        }

        assert_eq!(lengths, [7_168, 7_168, 7_168, 7_168, 7_168, 4_160]);
    }
}
