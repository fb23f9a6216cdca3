//! Who answers at the address while the service itself does not: until it is ready, and while it ends what is in progress.
//! So whoever asks learns at once that it is alive and not ready (contract.md, section 10), and nobody waits in a queue.

use std::io;
use std::net::TcpListener;
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

use super::listen::SLOW_HEADERS;
use crate::http::{head, health};

/// Its answers are short: none is in progress for longer. Whoever has a connection open when it ends is waited for so long.
const SHUTDOWN: Duration = Duration::from_secs(1);
/// Until connections are accepted again after that failed, for example because no more files may be opened.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// See the file's head. It has a thread of its own, because the start may keep the other ones busy.
pub struct Doorkeeper {
    ending: CancellationToken,
    ended: oneshot::Receiver<()>,
}

impl Doorkeeper {
    /// Begins to answer at the listener's address.
    ///
    /// # Errors
    /// The system has no more sockets or threads.
    pub fn begin(listener: &TcpListener) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let (ending, (end, ended)) = (CancellationToken::new(), oneshot::channel());
        let until = ending.clone();
        thread::Builder::new().name("doorkeeper".to_owned()).spawn(move || {
            if let Err(cause) = Runtime::new().and_then(|runtime| runtime.block_on(serve(listener, until))) {
                warn!(%cause, "nobody answers while the service starts or ends");
            }
            let _ = end.send(());
        })?;
        Ok(Self { ending, ended })
    }

    /// Leaves the address to the service; whoever comes meanwhile waits in the socket's queue.
    pub async fn end(self) {
        self.ending.cancel();
        // An error says that the thread has panicked: then it has ended too.
        let _ = self.ended.await;
    }
}

/// Serves connections until it is told to end, and then those that it has accepted. The server of actix-web accepts on another
/// thread than it serves, and closes connections that it accepts while it stops.
async fn serve(listener: TcpListener, ending: CancellationToken) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let http = http().new_service(()).await.map_err(|()| io::Error::other("the service cannot be made"))?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = ending.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((connection, _)) => {
                    connections.spawn_local(http.call(connection));
                }
                Err(_) => sleep(ACCEPT_RETRY).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    let _ = timeout(SHUTDOWN, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

fn http() -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = DispatchError, InitError = ()>
{
    let application = Web::new()
        .wrap(middleware::from_fn(head::as_get))
        .configure(health::mount_alive)
        .route("/readyz", web::get().to(async || not_now().json(json!({ "ready": false }))))
        .default_service(web::to(async || not_now().finish()))
        .into_factory()
        .map_err(|error: Error| error.error_response());
    HttpService::build()
        .keep_alive(KeepAlive::Disabled)
        .client_request_timeout(SLOW_HEADERS)
        .finish(map_config(application, |()| AppConfig::default()))
        .tcp()
}

fn not_now() -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::ServiceUnavailable();
    answer.insert_header((RETRY_AFTER, "1")).insert_header((CACHE_CONTROL, "no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// The whole answer.
    async fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[actix_web::test]
    async fn it_says_that_the_service_is_alive_and_not_ready_until_it_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let keeper = Doorkeeper::begin(&listener).unwrap();

        let alive = ask(address, "/healthz").await;
        let ready = ask(address, "/readyz").await;
        let call = ask(address, "/rest/v2/search?q=x").await;

        assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.ends_with("{\"ready\":false}"), "{ready}");
        assert!(call.starts_with("HTTP/1.1 503 ") && call.contains("retry-after: 1\r\n"), "{call}");
        keeper.end().await;
        let waits = timeout(Duration::from_millis(300), ask(address, "/healthz")).await;
        assert!(waits.is_err(), "somebody answered, or the address was given up");
    }

    #[actix_web::test]
    async fn every_connection_is_answered_while_one_follows_another() {
        const CLIENTS: usize = 4;
        const HAND_OVERS: usize = 10;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = CancellationToken::new();
        let clients = (0..CLIENTS).map(|_| actix_web::rt::spawn(ask_until(address, ended.clone())));
        let clients: Vec<_> = clients.collect();

        for _ in 0..HAND_OVERS {
            let keeper = Doorkeeper::begin(&listener).unwrap();
            ask(address, "/healthz").await;
            keeper.end().await;
        }
        ended.cancel();
        let keeper = Doorkeeper::begin(&listener).unwrap();

        for client in clients {
            client.await.unwrap();
        }
        keeper.end().await;
    }

    /// Asks again and again, and expects an answer each time.
    async fn ask_until(address: SocketAddr, ended: CancellationToken) {
        while !ended.is_cancelled() {
            let answer = ask(address, "/healthz").await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }
    }
}
