//! Detects whether a server runs, by a request to the address that it listens on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::data_dir::is_locked;
use crate::http::health::IndexHealth;
use crate::settings::Settings;

/// The server is on this machine: one that does not respond within this time does not work.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_RESPONSE_BYTES: u64 = 64 << 10;

/// The state of the server, by the program that responds at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// A server that is ready (`/readyz` responds with 200).
    Ready,
    /// A server that starts, drains, or lacks something it needs (`/readyz` responds with 503).
    NotReady,
    /// A server that does not use the data folder of the settings.
    OtherServer,
    /// Another program, or a response that is not one of `/readyz`.
    OtherProgram,
    /// Nothing accepts connections there, or nothing responds in time.
    NotRunning,
}

/// The response of the server to `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProbe {
    /// What responded at the address.
    pub state: ServerState,
    /// The member `storage` of the response; `None` while the server starts or stops.
    pub storage: Option<String>,
    /// The member `index` of the response; `None` while the server starts or stops, or if another version writes it differently.
    pub index: Option<IndexHealth>,
}

impl ServerProbe {
    /// Returns this response, or [`ServerState::OtherServer`] if no process has locked the data folder: a server locks its own
    /// before it listens.
    pub fn with_data_dir(self, data_dir: &Path) -> Self {
        let is_running = matches!(self.state, ServerState::Ready | ServerState::NotReady);
        // A server whose files were removed may have lost the lock file with them.
        let is_removed = self.storage.as_deref() == Some("removed");
        if !is_running || is_removed || is_locked(data_dir) != Some(false) {
            return self;
        }
        Self { state: ServerState::OtherServer, storage: None, index: None }
    }
}

/// Returns whether a server runs, which executes the jobs that commands enqueue.
pub async fn is_server_running(settings: &Settings) -> bool {
    matches!(find_state(settings).await, ServerState::Ready | ServerState::NotReady)
}

/// Returns what responds at the address of the server.
async fn find_state(settings: &Settings) -> ServerState {
    ask(settings).await.state
}

/// Requests `/readyz` from the server that the settings name.
pub async fn ask(settings: &Settings) -> ServerProbe {
    let address = reachable(settings.server.listen);
    match timeout(RESPONSE_TIMEOUT, get_readiness(address)).await {
        Ok(Ok(response)) => {
            let body = parse_body(&response).unwrap_or_default();
            ServerProbe { state: judge(&response), storage: storage_of(&body), index: index_of(&body) }
        }
        Ok(Err(_)) | Err(_) => ServerProbe { state: ServerState::NotRunning, storage: None, index: None },
    }
}

/// The address to connect to: that of the loopback if the server listens on all addresses.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        own @ (IpAddr::V4(_) | IpAddr::V6(_)) => own,
    };
    SocketAddr::new(ip, listen.port())
}

/// Sends one request, and returns the response as it was received.
async fn get_readiness(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    // Written by hand: the HTTP client of the server refuses private addresses.
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_end(&mut response).await?;
    Ok(response)
}

fn judge(response: &[u8]) -> ServerState {
    // Another program on the port may speak anything, even no HTTP.
    let status = response.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    match status {
        Some(b"200") => ServerState::Ready,
        Some(b"503") => ServerState::NotReady,
        Some(_) | None => ServerState::OtherProgram,
    }
}

fn parse_body(response: &[u8]) -> Option<Value> {
    const END_OF_HEAD: &[u8] = b"\r\n\r\n";
    let head = response.windows(END_OF_HEAD.len()).position(|part| part == END_OF_HEAD)?;
    serde_json::from_slice(response.get(head + END_OF_HEAD.len()..)?).ok()
}

fn storage_of(body: &Value) -> Option<String> {
    Some(body.get("storage")?.as_str()?.to_owned())
}

/// The state of the index; `None` also where a server of another version writes it in another way.
fn index_of(body: &Value) -> Option<IndexHealth> {
    IndexHealth::deserialize(body.get("index")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_on_all_addresses_is_asked_on_the_loopback() {
        assert_eq!(reachable("0.0.0.0:8080".parse().unwrap()), "127.0.0.1:8080".parse().unwrap());
        assert_eq!(reachable("[::]:8080".parse().unwrap()), "[::1]:8080".parse().unwrap());
        assert_eq!(reachable("10.0.0.1:80".parse().unwrap()), "10.0.0.1:80".parse().unwrap());
    }

    #[test]
    fn status_of_readyz_is_the_state_of_the_server() {
        assert_eq!(judge(b"HTTP/1.1 200 OK\r\n\r\n{}"), ServerState::Ready);
        assert_eq!(judge(b"HTTP/1.1 503 Service Unavailable\r\n\r\n"), ServerState::NotReady);
        assert_eq!(judge(b"HTTP/1.1 404 Not Found\r\n\r\n"), ServerState::OtherProgram);
        assert_eq!(judge(b"220 mail.example ESMTP\r\n"), ServerState::OtherProgram);
        assert_eq!(judge(b""), ServerState::OtherProgram);
    }

    #[test]
    fn storage_and_index_are_read_from_the_body() {
        let response = b"HTTP/1.1 503 Service Unavailable\r\n\r\n{\"ready\":false,\"storage\":\"removed\",\
            \"index\":{\"ok\":true,\"passages\":7,\"failedRequests\":0,\"state\":\"complete\"}}";

        let body = parse_body(response).unwrap();

        assert_eq!(storage_of(&body).as_deref(), Some("removed"));
        assert_eq!(index_of(&body).unwrap().passages, Some(7));
    }

    #[test]
    fn missing_or_incomplete_body_has_no_state() {
        let starting = parse_body(b"HTTP/1.1 503 Service Unavailable\r\n\r\n{\"ready\":false}").unwrap();
        assert!(storage_of(&starting).is_none() && index_of(&starting).is_none());
        assert!(parse_body(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").is_none());
        assert!(parse_body(b"220 mail.example ESMTP\r\n").is_none());
    }

    #[test]
    fn server_without_the_lock_of_the_folder_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let probe = |state, storage: Option<&str>| {
            let probe = ServerProbe { state, storage: storage.map(str::to_owned), index: None };
            probe.with_data_dir(folder.path()).state
        };

        assert_eq!(probe(ServerState::Ready, Some("ok")), ServerState::OtherServer);
        assert_eq!(probe(ServerState::NotReady, None), ServerState::OtherServer);
        assert_eq!(probe(ServerState::NotReady, Some("removed")), ServerState::NotReady);
        assert_eq!(probe(ServerState::NotRunning, None), ServerState::NotRunning);
        let _lock = crate::data_dir::lock(folder.path()).unwrap();
        assert_eq!(probe(ServerState::Ready, Some("ok")), ServerState::Ready);
    }

    #[tokio::test]
    async fn server_is_not_running_where_nothing_listens() {
        // The port is bound and closed again at once, so that the connection is refused.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listen = [("CARREL__SERVER__LISTEN".to_owned(), free.to_string())];
        let settings = Settings::load(None, listen.into_iter()).unwrap();

        assert_eq!(find_state(&settings).await, ServerState::NotRunning);
        assert!(!is_server_running(&settings).await);
    }
}
