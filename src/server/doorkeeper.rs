//! Who answers at the address while the service itself does not: until it is ready, and while it ends what is in progress.
//! So whoever asks learns at once that it is alive and not ready (contract.md, section 10), and nobody waits in a queue.

use std::net::TcpListener;

use actix_web::dev::ServerHandle;
use actix_web::http::KeepAlive;
use actix_web::http::header::{CACHE_CONTROL, RETRY_AFTER};
use actix_web::{App as Web, HttpResponse, HttpServer, middleware, web};
use serde_json::json;
use tracing::warn;

use super::listen::SLOW_HEADERS;
use crate::http::{head, health};

/// Its answers are short: none is in progress for longer. Whoever has a connection open when it ends is waited for so long.
const SHUTDOWN: u64 = 1;

/// See the file's head.
pub struct Doorkeeper(ServerHandle);

impl Doorkeeper {
    /// Begins to answer at the listener's address.
    ///
    /// # Errors
    /// The system has no more sockets or threads.
    pub fn begin(listener: &TcpListener) -> std::io::Result<Self> {
        let server = HttpServer::new(|| {
            Web::new()
                .wrap(middleware::from_fn(head::as_get))
                .configure(health::mount_alive)
                .route("/readyz", web::get().to(async || not_now().json(json!({ "ready": false }))))
                .default_service(web::to(async || not_now().finish()))
        });
        let server = server
            .disable_signals()
            .workers(1)
            .shutdown_timeout(SHUTDOWN)
            .client_request_timeout(SLOW_HEADERS)
            .keep_alive(KeepAlive::Disabled)
            .listen(listener.try_clone()?)?
            .run();
        let handle = server.handle();
        actix_web::rt::spawn(async move {
            if let Err(cause) = server.await {
                warn!(%cause, "nobody answers while the service starts or ends");
            }
        });
        Ok(Self(handle))
    }

    /// Leaves the address to the service; whoever comes meanwhile waits in the socket's queue.
    pub async fn end(self) {
        self.0.stop(true).await;
    }
}

fn not_now() -> actix_web::HttpResponseBuilder {
    let mut answer = HttpResponse::ServiceUnavailable();
    answer.insert_header((RETRY_AFTER, "1")).insert_header((CACHE_CONTROL, "no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

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
        let waits = tokio::time::timeout(Duration::from_millis(300), ask(address, "/healthz")).await;
        assert!(waits.is_err(), "somebody answered, or the address was given up");
    }
}
