//! A connection as actix-http sees it: a TCP stream with deadlines, that hands on one request at a time.
//!
//! actix-http reads ahead up to 128 KiB and handles up to 16 pipelined requests before the first response is out, and it has
//! no deadline for writing, for heads but the first, or for the rest of a body whose response is out. Here the next request
//! is passed on only when the response before it has been written, so a client that does not read costs one response, which counts
//! towards a budget ([`super::unsent`]).

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::connections::ConnectionPermit;
use super::exchange::Exchange;
use super::scanner::{Position, RequestScanner};
use super::unsent::{MAX_OVER_BUDGET_TIME, UnsentResponses, WriteAllowance};

/// Bytes that are read before other connections have their turn. It bounds what actix-http buffers of a body, whose reader
/// gets its turn then too.
const MAX_BURST_BYTES: usize = 32 << 10;

/// Bytes of a head that are read at a time. Most heads are shorter.
const HEAD_READ_BYTES: usize = 4 << 10;

/// The times for which a connection waits for its peer.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For the end of a head that has begun. actix-http responds to the first head with 408 before.
    pub head: Duration,
    /// For the rest of a body whose response is out.
    pub unread_body: Duration,
    /// For a next request while others need the connection ([`ConnectionPermit::is_crowded`]).
    pub idle: Duration,
    /// For a next request while the server drains.
    pub drain: Duration,
    /// For a peer that blocks writing: the total delay that it may cause while it receives one response.
    pub write: Duration,
}

/// A deadline for the bytes that a peer has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadDeadline {
    Head,
    UnreadBody,
    /// Holds only while the connection is crowded.
    Idle,
    Drain,
}

/// A connection with its deadlines, between actix-http and the TCP stream.
pub struct Transport {
    io: TcpStream,
    deadlines: Deadlines,
    exchange: Rc<Exchange>,
    scanner: RequestScanner,
    /// The bytes of the next requests that were read already.
    read_ahead: Vec<u8>,
    burst: usize,
    reading: Option<(ReadDeadline, Pin<Box<Sleep>>)>,
    /// Since when writing is blocked, and the timer of the remaining allowance.
    writing: Option<(Instant, Pin<Box<Sleep>>)>,
    allowance: WriteAllowance,
    /// The peer has not taken all that was written.
    is_blocked: bool,
    drain: Pin<Box<WaitForCancellationFutureOwned>>,
    is_draining: bool,
    /// Whether a head has ended on this connection.
    has_had_request: bool,
    permit: ConnectionPermit,
}

impl Transport {
    /// A connection that was accepted just now.
    pub fn new(
        io: TcpStream,
        permit: ConnectionPermit,
        deadlines: Deadlines,
        unsent: UnsentResponses,
        drain: CancellationToken,
    ) -> Self {
        Self {
            io,
            deadlines,
            exchange: Exchange::new(unsent, drain.clone()),
            scanner: RequestScanner::default(),
            read_ahead: Vec::new(),
            burst: 0,
            reading: None,
            writing: None,
            allowance: WriteAllowance::new(deadlines.write),
            is_blocked: false,
            drain: Box::pin(drain.cancelled_owned()),
            is_draining: false,
            has_had_request: false,
            permit,
        }
    }

    /// The state that the responses on this connection share with it.
    pub fn exchange(&self) -> Rc<Exchange> {
        self.exchange.clone()
    }

    /// Returns whether the next request has to wait for the response before it.
    fn is_gated(&self) -> bool {
        self.scanner.position() == Position::Boundary && (self.exchange.is_responding() || self.is_blocked)
    }

    /// Fills the buffer from the bytes that were read ahead, or else from the stream.
    fn poll_fill(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read_ahead.is_empty() {
            return match self.scanner.position() {
                Position::Boundary | Position::Head => self.poll_fill_head(context, buffer),
                Position::Body | Position::Opaque => Pin::new(&mut self.io).poll_read(context, buffer),
            };
        }
        let length = self.read_ahead.len().min(buffer.remaining());
        buffer.put_slice(self.read_ahead.get(..length).unwrap_or_default());
        self.read_ahead.drain(..length);
        Poll::Ready(Ok(()))
    }

    /// Reads a part of a head. What comes after its end is kept until its response has left, so little is read at a time.
    fn poll_fill_head(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Not initialised: to clear it would take longer than to read a head.
        let mut bytes = [const { MaybeUninit::uninit() }; HEAD_READ_BYTES];
        let length = buffer.remaining().min(HEAD_READ_BYTES);
        let mut part = ReadBuf::uninit(bytes.get_mut(..length).unwrap_or_default());
        ready!(Pin::new(&mut self.io).poll_read(context, &mut part))?;
        buffer.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }

    /// Keeps the bytes after `before` in the buffer up to the end of the current request, and moves the rest to `read_ahead`.
    fn keep_next_requests(&mut self, before: usize, buffer: &mut ReadBuf<'_>) {
        let Some(fresh) = buffer.filled_mut().get_mut(before..) else { return };
        let scanned = self.scanner.scan(fresh);
        let surplus = fresh.get(scanned.consumed..).unwrap_or_default();
        if surplus.is_empty() && self.read_ahead.is_empty() {
            // Not `clear`: a connection that waits must not keep the memory of earlier requests.
            self.read_ahead = Vec::new();
        } else {
            // While bytes are read ahead, `poll_fill` takes its bytes from their front, so the surplus goes back to the front.
            drop(self.read_ahead.splice(..0, surplus.iter().copied()));
        }
        buffer.set_filled(before + scanned.consumed);
        self.burst += scanned.consumed;
        if let Some(head_bytes) = scanned.head_bytes {
            self.exchange.begin(head_bytes);
            self.has_had_request = true;
            // The deadline of the head is met; the next head has a new one.
            self.reading = None;
        }
    }

    /// Waits for the deadline that applies while nothing arrives. When it has passed, the caller sees the end of the stream.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some((deadline, limit)) = self.read_deadline(context) else {
            self.reading = None;
            return Poll::Pending;
        };
        let timer = match self.reading.take() {
            Some((same, timer)) if same == deadline => timer,
            Some(_) | None => Box::pin(sleep(limit)),
        };
        let (_, timer) = self.reading.insert((deadline, timer));
        ready!(timer.as_mut().poll(context));
        if deadline == ReadDeadline::Idle {
            if !self.permit.is_crowded() {
                // Checked again after the same time. The timer that has elapsed wakes no task any more.
                timer.as_mut().reset(Instant::now() + limit);
                return timer.as_mut().poll(context).map(Ok);
            }
            metrics::counter!("carrel_idle_connections_closed_total").increment(1);
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the deadline that applies while no bytes arrive.
    fn read_deadline(&mut self, context: &mut Context<'_>) -> Option<(ReadDeadline, Duration)> {
        if !self.is_draining {
            self.is_draining = self.drain.as_mut().poll(context).is_ready();
        }
        let is_responding = self.exchange.is_responding();
        match self.scanner.position() {
            Position::Head => Some((ReadDeadline::Head, self.deadlines.head)),
            Position::Body | Position::Opaque if !is_responding => {
                Some((ReadDeadline::UnreadBody, self.deadlines.unread_body))
            }
            Position::Boundary if self.is_draining && !is_responding => {
                Some((ReadDeadline::Drain, self.deadlines.drain))
            }
            // actix-http has a deadline for the first request itself.
            Position::Boundary if self.has_had_request && !is_responding => {
                Some((ReadDeadline::Idle, self.deadlines.idle))
            }
            // While a request is answered nothing is expected of the client but its body, whose
            // deadline is that of `http::body`.
            Position::Boundary | Position::Body | Position::Opaque => None,
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_gated() {
            // `poll_flush` wakes the connection when the response has left.
            return Poll::Pending;
        }
        // A fast sender would otherwise be read until its body is in memory as a whole.
        if this.burst >= MAX_BURST_BYTES {
            this.burst = 0;
            context.waker().wake_by_ref();
            // A body that is not read has its deadline however fast it arrives.
            return this.poll_deadline(context);
        }
        let before = buffer.filled().len();
        match this.poll_fill(context, buffer) {
            Poll::Pending => {
                this.burst = 0;
                return this.poll_deadline(context);
            }
            Poll::Ready(filled) => filled?,
        }
        this.keep_next_requests(before, buffer);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(written) = Pin::new(&mut this.io).poll_write(context, bytes) {
            let blocked = this.writing.take().map_or(Duration::ZERO, |(since, _)| since.elapsed());
            this.allowance.settle(blocked, *written.as_ref().unwrap_or(&0));
            return Poll::Ready(written);
        }
        this.is_blocked = true;
        // A peer over its budget has at most this short time, so that a reader that continues
        // at once keeps its connection.
        let left = this.allowance.left();
        let limit = if this.exchange.may_stay() { left } else { left.min(MAX_OVER_BUDGET_TIME) };
        let (_, timer) = this.writing.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(limit))));
        ready!(timer.as_mut().poll(context));
        metrics::counter!("carrel_slow_readers_closed_total").increment(1);
        // Otherwise the kernel would keep the written bytes until the peer reads them or closes.
        let _ = this.io.set_zero_linger();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// actix-http calls it once all that it has encoded was written.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.io).poll_flush(context))?;
        let was_blocked = std::mem::take(&mut this.is_blocked);
        let has_ended = this.exchange.take_ended();
        if has_ended {
            this.allowance = WriteAllowance::new(this.deadlines.write);
        }
        // `poll_read` has returned `Pending` without a waker of the socket while the next request was held back.
        if has_ended || was_blocked {
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;
    use crate::http::response_slots::ResponseSlots;
    use crate::server::wire::connections::Connections;

    const SHORT_DEADLINE: Duration = Duration::from_millis(20);
    const LONG_DEADLINE: Duration = Duration::from_secs(3600);
    const LONG_DEADLINES: Deadlines = Deadlines {
        head: LONG_DEADLINE,
        unread_body: LONG_DEADLINE,
        idle: LONG_DEADLINE,
        drain: LONG_DEADLINE,
        write: LONG_DEADLINE,
    };
    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    struct Pair {
        transport: Transport,
        peer: TcpStream,
        drain: CancellationToken,
        connections: Arc<Connections>,
    }

    async fn pair(deadlines: Deadlines) -> Pair {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (io, _) = listener.accept().await.unwrap();
        let connections = Connections::new(2, 1, Vec::new());
        let permit = connections.try_acquire(None).unwrap();
        let drain = CancellationToken::new();
        let transport = Transport::new(
            io,
            permit,
            deadlines,
            UnsentResponses::new(ResponseSlots::default()),
            drain.clone(),
        );
        Pair { transport, peer, drain, connections }
    }

    async fn read(transport: &mut Transport) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let length = transport.read(&mut bytes).await.unwrap();
        bytes.truncate(length);
        bytes
    }

    /// Ends the response at hand as actix-http does.
    async fn end_response(transport: &mut Transport) {
        transport.exchange.end();
        transport.flush().await.unwrap();
    }

    #[actix_web::test]
    async fn next_request_waits_for_the_response_before_it() {
        let Pair { mut transport, mut peer, .. } = pair(LONG_DEADLINES).await;
        peer.write_all(&[GET, GET].concat()).await.unwrap();

        assert_eq!(read(&mut transport).await, GET);
        assert!(read(&mut transport).now_or_never().is_none());
        end_response(&mut transport).await;
        assert_eq!(read(&mut transport).await, GET);
    }

    #[actix_web::test]
    async fn body_is_handed_on_while_its_request_is_answered() {
        let Pair { mut transport, mut peer, .. } = pair(LONG_DEADLINES).await;
        peer.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n").await.unwrap();
        read(&mut transport).await;

        peer.write_all(&[b"a\nb".as_slice(), GET].concat()).await.unwrap();

        assert_eq!(read(&mut transport).await, b"a\nb");
        assert!(read(&mut transport).now_or_never().is_none());
    }

    #[actix_web::test]
    async fn head_that_does_not_end_times_out() {
        let Pair { mut transport, mut peer, .. } =
            pair(Deadlines { head: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        peer.write_all(b"GET / HT").await.unwrap();

        assert_eq!(read(&mut transport).await, b"GET / HT");
        assert!(read(&mut transport).await.is_empty());
    }

    #[actix_web::test]
    async fn unread_body_times_out_after_its_response() {
        let Pair { mut transport, mut peer, .. } =
            pair(Deadlines { unread_body: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        peer.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        read(&mut transport).await;

        end_response(&mut transport).await;

        assert!(read(&mut transport).await.is_empty());
    }

    #[actix_web::test]
    async fn idle_connection_is_closed_by_a_drain() {
        let Pair { mut transport, peer: _peer, drain, .. } =
            pair(Deadlines { drain: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        assert!(read(&mut transport).now_or_never().is_none());

        drain.cancel();

        assert!(read(&mut transport).await.is_empty());
    }

    #[actix_web::test]
    async fn idle_connection_is_closed_once_it_is_crowded() {
        let Pair { mut transport, mut peer, connections, .. } =
            pair(Deadlines { idle: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        peer.write_all(GET).await.unwrap();
        read(&mut transport).await;
        end_response(&mut transport).await;

        assert!(timeout(SHORT_DEADLINE * 5, read(&mut transport)).await.is_err());
        let _other = connections.try_acquire(None).unwrap();

        assert!(read(&mut transport).await.is_empty());
    }

    #[actix_web::test]
    async fn crowded_connection_waits_for_its_first_request() {
        let Pair { mut transport, mut peer, connections, .. } =
            pair(Deadlines { idle: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        let _other = connections.try_acquire(None).unwrap();

        assert!(timeout(SHORT_DEADLINE * 5, read(&mut transport)).await.is_err());
        peer.write_all(GET).await.unwrap();

        assert_eq!(read(&mut transport).await, GET);
    }

    #[actix_web::test]
    async fn peer_that_does_not_read_times_out() {
        let Pair { mut transport, peer: _peer, .. } =
            pair(Deadlines { write: SHORT_DEADLINE, ..LONG_DEADLINES }).await;
        let chunk = vec![b'x'; 1 << 20];

        let failed = loop {
            if let Err(error) = transport.write_all(&chunk).await {
                break error;
            }
        };

        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }
}
