//! Loopback servers that respond as scripted and record the requests.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::page_url::PageUrl;

/// The response that a server sends once it has read the head of a request.
pub(super) enum ScriptedResponse {
    /// Sends these bytes and closes the connection.
    Whole(Vec<u8>),
    /// Sends the first bytes, then the second without end.
    Endless(Vec<u8>, Vec<u8>),
    /// Sends as `Endless`, with a pause between pieces.
    Drip(Vec<u8>, Vec<u8>),
    /// Sends these bytes one at a time and closes the connection.
    Slow(Vec<u8>),
    /// Sends these bytes and leaves the connection open.
    Stall(Vec<u8>),
}

/// A server on one loopback address.
pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    /// A server on 127.0.0.1, which the tests' fetchers may reach.
    pub(super) async fn start(response: impl Fn(&str) -> ScriptedResponse + Send + Sync + 'static) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), response).await
    }

    /// A server on 127.0.0.2, to which no fetcher may connect; on the same port as `server`.
    pub(super) async fn canary(server: &TestServer) -> Self {
        let address = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), server.address.port()));
        Self::at(address, |_| ok("text/html", "the canary")).await
    }

    async fn at(
        address: SocketAddr,
        response: impl Fn(&str) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), heads: Arc::default() };
        let (heads, response) = (server.heads.clone(), Arc::new(response));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let at = push(&heads, String::new());
                let (heads, response) = (heads.clone(), response.clone());
                tokio::spawn(async move {
                    let mut stream = stream;
                    let head = read_head(&mut stream).await;
                    heads.lock().unwrap()[at] = head.clone();
                    send(stream, response(&head)).await
                });
            }
        });
        server
    }

    pub(super) fn url(&self, path: &str) -> PageUrl {
        PageUrl::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(super) fn named(&self, name: &str, path: &str) -> PageUrl {
        PageUrl::parse(&format!("http://{name}:{}{path}", self.address.port())).unwrap()
    }

    /// Returns the head of every request; empty for a connection without one.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    pub(super) fn ip(&self) -> IpAddr {
        self.address.ip()
    }
}

fn push(heads: &Mutex<Vec<String>>, head: String) -> usize {
    let mut heads = heads.lock().unwrap();
    heads.push(head);
    heads.len() - 1
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(count @ 1..) => head.extend_from_slice(&piece[..count]),
            Ok(0) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

async fn send(mut stream: TcpStream, response: ScriptedResponse) -> std::io::Result<()> {
    match response {
        ScriptedResponse::Whole(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        ScriptedResponse::Endless(head, piece) => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&piece).await?;
            }
        }
        ScriptedResponse::Drip(head, piece) => {
            stream.write_all(&head).await?;
            let mut ticks = tokio::time::interval(Duration::from_millis(10));
            loop {
                ticks.tick().await;
                stream.write_all(&piece).await?;
            }
        }
        ScriptedResponse::Slow(bytes) => {
            let mut ticks = tokio::time::interval(Duration::from_millis(2));
            for byte in bytes {
                ticks.tick().await;
                stream.write_u8(byte).await?;
            }
            stream.shutdown().await
        }
        ScriptedResponse::Stall(bytes) => {
            stream.write_all(&bytes).await?;
            // Until the client closes the connection.
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        }
    }
}

/// Returns the path that a head asks for.
pub(super) fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap_or_default()
}

pub(super) fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} Some Reason\r\n{lines}\r\n").into_bytes()
}

pub(super) fn whole(status: u16, headers: &[(&str, &str)], body: &[u8]) -> ScriptedResponse {
    let length = body.len().to_string();
    let headers = [headers, &[("Content-Length", length.as_str())]].concat();
    ScriptedResponse::Whole([head(status, &headers).as_slice(), body].concat())
}

pub(super) fn ok(kind: &str, body: impl AsRef<[u8]>) -> ScriptedResponse {
    whole(200, &[("Content-Type", kind)], body.as_ref())
}

pub(super) fn redirect(status: u16, to: &str) -> ScriptedResponse {
    whole(status, &[("Location", to), ("Set-Cookie", "a=b")], b"")
}
