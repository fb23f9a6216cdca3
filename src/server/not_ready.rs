//! A small HTTP server that answers at Carrel's address until Carrel is ready, and again while Carrel stops and completes the
//! requests in progress. So clients learn at once that Carrel is alive and not ready (contract.md, section 10), instead of waiting
//! in the socket's queue.
//!
//! Its connections are bounded like those of the main server, and counted with them: a flood must not take the files that the
//! database needs to open, or to be closed.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use actix_http::HttpService;
use actix_http::error::DispatchError;
use actix_service::{IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::dev::AppConfig;
use actix_web::http::KeepAlive;
use actix_web::http::header::{CACHE_CONTROL, RETRY_AFTER};
use actix_web::rt::Runtime;
use actix_web::rt::net::TcpStream;
use actix_web::{App as Web, Error, HttpResponse, middleware, web};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::wire::{Connections, HEAD_TIMEOUT};
use crate::http::{head, health};

/// When it stops, the server waits this long for open connections. Its responses are short, so none takes longer.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// The delay before connections are accepted again after too many are open, or after accepting one failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The HTTP server that answers while Carrel starts or stops.
pub struct NotReadyServer {
    cancelled: CancellationToken,
    ended: oneshot::Receiver<()>,
}

impl NotReadyServer {
    /// Starts to answer at the listener's address. Connections are admitted and counted by `connections`.
    ///
    /// # Errors
    /// [`io::Error`] when the system has no more sockets or threads.
    pub fn start(listener: &TcpListener, connections: Arc<Connections>) -> io::Result<Self> {
        // A clone shares the socket and its queue, so connections that arrive between two servers
        // wait instead of being refused.
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let (cancelled, (end, ended)) = (CancellationToken::new(), oneshot::channel());
        let until = cancelled.clone();
        // A thread of its own: the start of the server may keep the others busy for minutes.
        thread::Builder::new().name("not-ready".to_owned()).spawn(move || {
            let serve = serve(listener, &connections, until);
            if let Err(cause) = Runtime::new().and_then(|runtime| runtime.block_on(serve)) {
                warn!(%cause, "could not answer requests while the server starts or stops");
            }
            let _ = end.send(());
        })?;
        Ok(Self { cancelled, ended })
    }

    /// Stops, so that the server can answer at the address. Connections that arrive in between wait in the socket's queue.
    pub async fn stop(self) {
        self.cancelled.cancel();
        // An error means that the thread has panicked: then it has ended too.
        let _ = self.ended.await;
    }
}

/// Serves connections until it is cancelled, and then those that it has accepted. The server of actix-web is not used, because it
/// accepts on another thread than it serves, and closes connections that it accepts while it stops.
async fn serve(
    listener: TcpListener,
    connections: &Arc<Connections>,
    cancelled: CancellationToken,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let http =
        http().new_service(()).await.map_err(|()| io::Error::other("could not build the HTTP service"))?;
    let mut served = JoinSet::new();
    loop {
        let has_room = connections.has_room();
        tokio::select! {
            // The stop comes first: a flood of connections must not delay it.
            biased;
            () = cancelled.cancelled() => break,
            Some(_) = served.join_next() => {}
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, peer)) => {
                    // Without a permit the stream is closed at once.
                    if let Some(permit) = connections.try_acquire(Some(peer.ip())) {
                        let call = http.call(stream);
                        served.spawn_local(async move {
                            // The client sees how its connection ended.
                            let _ = call.await;
                            drop(permit);
                        });
                    }
                }
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            },
            // Connections of the main server, which are counted too, end without a notice to this task.
            () = sleep(ACCEPT_RETRY_DELAY), if !has_room => {}
        }
    }
    // Only this clone: the socket stays open, and its queue holds connections for the next server.
    drop(listener);
    let _ = timeout(SHUTDOWN_TIMEOUT, async { while served.join_next().await.is_some() {} }).await;
    Ok(())
}

fn http() -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
{
    let application = Web::new()
        .wrap(middleware::from_fn(head::as_get))
        .configure(health::mount_alive)
        .route("/readyz", web::get().to(async || unavailable().json(json!({ "ready": false }))))
        .default_service(web::to(async || unavailable().finish()))
        .into_factory()
        .map_err(|error: Error| error.error_response());
    HttpService::build()
        // The next request belongs to the main server.
        .keep_alive(KeepAlive::Disabled)
        .client_request_timeout(HEAD_TIMEOUT)
        .finish(map_config(application, |()| AppConfig::default()))
        .tcp()
}

fn unavailable() -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::ServiceUnavailable();
    response.insert_header((RETRY_AFTER, "1")).insert_header((CACHE_CONTROL, "no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Enough for every client of a test.
    fn many_connections() -> Arc<Connections> {
        Connections::new(1000, 1000, Vec::new())
    }

    async fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[actix_web::test]
    async fn not_ready_server_reports_alive_and_not_ready_until_it_stops() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = NotReadyServer::start(&listener, many_connections()).unwrap();

        let alive = ask(address, "/healthz").await;
        let ready = ask(address, "/readyz").await;
        let call = ask(address, "/rest/v2/search?q=x").await;

        assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.ends_with("{\"ready\":false}"), "{ready}");
        assert!(call.starts_with("HTTP/1.1 503 ") && call.contains("retry-after: 1\r\n"), "{call}");
        server.stop().await;
        let waits = timeout(Duration::from_millis(300), ask(address, "/healthz")).await;
        assert!(waits.is_err(), "the address was answered or released");
    }

    #[actix_web::test]
    async fn every_connection_is_answered_while_servers_alternate() {
        const CLIENTS: usize = 4;
        const HAND_OVERS: usize = 10;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = CancellationToken::new();
        let clients = (0..CLIENTS).map(|_| actix_web::rt::spawn(ask_until(address, ended.clone())));
        let clients: Vec<_> = clients.collect();

        for _ in 0..HAND_OVERS {
            let server = NotReadyServer::start(&listener, many_connections()).unwrap();
            ask(address, "/healthz").await;
            server.stop().await;
        }
        ended.cancel();
        let server = NotReadyServer::start(&listener, many_connections()).unwrap();

        for client in clients {
            client.await.unwrap();
        }
        server.stop().await;
    }

    /// Covers the fault table (row 28).
    #[actix_web::test]
    async fn connection_over_the_share_of_its_address_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = NotReadyServer::start(&listener, Connections::new(8, 2, Vec::new())).unwrap();
        let open = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];

        let mut refused = TcpStream::connect(address).await.unwrap();
        let end = timeout(HEAD_TIMEOUT / 2, refused.read(&mut [0])).await.unwrap();

        assert_eq!(end.unwrap(), 0);
        drop(open);
        server.stop().await;
    }

    /// Covers the fault table (row 28).
    #[actix_web::test]
    async fn connection_over_the_total_waits_in_the_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Connections::new(2, 2, vec!["127.0.0.1/32".parse().unwrap()]);
        // One of the main server counts too.
        let of_main_server = connections.try_acquire(None).unwrap();
        let server = NotReadyServer::start(&listener, connections).unwrap();
        let _open = TcpStream::connect(address).await.unwrap();

        let mut waiting = Box::pin(ask(address, "/healthz"));
        assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err(), "it was accepted");
        drop(of_main_server);

        let response = waiting.await;
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        server.stop().await;
    }

    /// Sends requests one after another, and expects a response to each.
    async fn ask_until(address: SocketAddr, ended: CancellationToken) {
        while !ended.is_cancelled() {
            let response = ask(address, "/healthz").await;
            assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        }
    }
}
