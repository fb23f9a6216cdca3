//! The web server below the routes: actix-http over a transport of our own, which bounds what one client can hold.
//!
//! | What | Bound |
//! |---|---|
//! | connections of one address | `server.max_connections_per_address`, and a quarter of all; further ones are closed at once |
//! | connections of a worker | by the files that the process may open; further ones wait in the socket's queue |
//! | a connection without a request | 60 seconds, and 5 while more than half of all connections or of its address's are open |
//! | a head | 5 seconds and 96 KiB, in a buffer of at most 128 KiB that is kept until the next request; a longer one gets 400 |
//! | a client that does not read | `server.write_timeout_seconds` and 64 KiB; the memory of a longer response, or of a response to a long head, counts towards a budget of 256 MiB for all clients and 48 MiB for each account; beyond it the connection is closed unless the client reads at once |
//! | responses of an account | with 32 MiB of unsent bytes it waits before more are built ([`crate::http::response_slots`]) |
//! | pipelined requests | one is handled; the next when its response has left |
//! | responses buffered by the kernel | 128 KiB for each connection, plus the bytes in flight |
//!
//! Requests buffered by the kernel are added to this; `net.ipv4.tcp_rmem` bounds them.

mod connections;
mod exchange;
mod scanner;
mod transport;
mod unsent;

use std::fmt::Debug;
use std::future::ready;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{Extensions, HttpService, Protocol, Request, Response};
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Server};
use actix_web::rt::net::TcpStream;
use socket2::SockRef;
use tokio_util::sync::CancellationToken;

use crate::http::response_slots::ResponseSlots;
use crate::settings;
use transport::{Deadlines, Transport};
use unsent::UnsentResponses;

pub use connections::Connections;
pub use exchange::track;

/// A client that takes longer for the head of its first request is answered with 408.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Requests in progress have this many seconds to end when the server stops. It leaves time to write what is buffered within
/// the 30 seconds of a stop.
pub const SHUTDOWN_SECONDS: u64 = 20;
/// A client that comes back within this finds its connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// While many connections are open, one without a request for this long is closed. Also the interval at which that is checked.
const CROWDED_KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Time for the rest of a body that is no longer read, so that its sender sees the response before the connection is closed.
const UNREAD_BODY: Duration = Duration::from_secs(1);
/// Time for a next request on an open connection while the server stops. One that was sent before
/// the client could know is answered.
const DRAIN: Duration = Duration::from_millis(300);
/// Encoded bytes after which no more of a response is encoded until they are written.
const WRITE_BUFFER_BYTES: usize = 4 << 10;
/// Bytes of a response that the kernel buffers in addition to those in flight. Without a limit it buffers up to 4 MiB for
/// a peer that does not read.
const MAX_KERNEL_UNSENT_BYTES: u32 = 128 << 10;

/// The state that all workers of the server share.
#[derive(Clone)]
pub struct Wire {
    connections: Arc<Connections>,
    deadlines: Deadlines,
    unsent: UnsentResponses,
    drain: CancellationToken,
}

impl Wire {
    /// Uses the bounds of the settings, and counts connections with others of the process. Once `drain` is cancelled, connections
    /// are closed after their responses.
    pub fn new(settings: &settings::Server, connections: Arc<Connections>, drain: CancellationToken) -> Self {
        let deadlines = Deadlines {
            // Longer than that of actix-http, which responds to the first head of a connection with 408.
            head: HEAD_TIMEOUT + Duration::from_secs(1),
            unread_body: UNREAD_BODY,
            idle: CROWDED_KEEP_ALIVE,
            drain: DRAIN,
            write: settings.write_timeout,
        };
        Self { connections, deadlines, unsent: UnsentResponses::new(ResponseSlots::default()), drain }
    }

    /// Returns the slots of accounts for building responses, which unsent responses delay.
    pub fn response_slots(&self) -> &ResponseSlots {
        self.unsent.slots()
    }

    fn accept(&self, io: TcpStream) -> Result<(Transport, Protocol, Option<SocketAddr>), DispatchError> {
        let peer = io.peer_addr().ok();
        let Some(permit) = self.connections.try_acquire(peer.map(|peer| peer.ip())) else {
            // An error makes the server drop the stream, which closes it without a response.
            return Err(DispatchError::Io(io::ErrorKind::ConnectionRefused.into()));
        };
        // Responses are written in pieces: the last one must not wait until the peer has acknowledged the others.
        let _ = io.set_nodelay(true);
        // The options only improve how it is sent, so a system without them is served all the same.
        let _ = SockRef::from(&io).set_tcp_notsent_lowat(MAX_KERNEL_UNSENT_BYTES);
        let transport = Transport::new(io, permit, self.deadlines, self.unsent.clone(), self.drain.clone());
        Ok((transport, Protocol::Http1, peer))
    }
}

/// Builds a server that responds at the listener's address, with the application that `factory` makes for each worker. It is the
/// server that `actix_web::HttpServer` builds, over another transport.
///
/// # Errors
/// [`io::Error`] when the listener cannot be used.
pub fn server<F, I, S, B>(listener: TcpListener, wire: Wire, factory: F) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let server = Server::build()
        .disable_signals()
        .workers(wire.connections.workers())
        .shutdown_timeout(SHUTDOWN_SECONDS)
        .max_concurrent_connections(wire.connections.max_per_worker())
        .listen("http", listener, move || {
            let application = factory().into_factory().map_err(|error| {
                let error: actix_web::Error = error.into();
                error.error_response()
            });
            let http = HttpService::build()
                .keep_alive(KEEP_ALIVE)
                .client_request_timeout(HEAD_TIMEOUT)
                // A client that still sends a body when it is refused would see a reset instead of the response.
                .client_disconnect_timeout(UNREAD_BODY)
                .h1_write_buffer_size(WRITE_BUFFER_BYTES)
                .on_connect_ext(|transport: &Transport, data: &mut Extensions| {
                    data.insert(transport.exchange());
                })
                .finish(map_config(application, |()| AppConfig::default()));
            let wire = wire.clone();
            fn_service(move |io: TcpStream| ready(wire.accept(io))).and_then(http)
        })?;
    Ok(server.run())
}
