//! The server: its thread, its address, and what tests do to it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::Code;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};

use super::gate::{Gate, ServerOptions};
use super::service::Service;

/// Greatest length of a request. That of tonic is 4 MiB, that of Qdrant is larger.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// The certificate of a server with TLS, for 127.0.0.1, and its key.
const CERTIFICATE: &str = include_str!("../tls/server.pem");
const CERTIFICATE_KEY: &str = include_str!("../tls/server.key");

/// A Qdrant server on this machine. It ends when this is dropped.
pub struct TestQdrant {
    service: Service,
    address: SocketAddr,
    running: Option<RunningServer>,
}

/// The thread that serves.
struct RunningServer {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl TestQdrant {
    /// Starts a server without a key, on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// The error of the operating system when no port or thread is to be had.
    pub fn start() -> io::Result<Self> {
        Self::with_options(ServerOptions::default())
    }

    /// Starts a server with these options.
    ///
    /// # Errors
    /// The error of the operating system when no port or thread is to be had.
    pub fn with_options(options: ServerOptions) -> io::Result<Self> {
        let service = Service::new(Gate::new(options));
        let mut failure = io::Error::from(io::ErrorKind::AddrInUse);
        for address in addresses() {
            match serve(service.clone(), address) {
                Ok(running) => return Ok(Self { service, address, running: Some(running) }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Returns the URL of the server, with its port.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.service.gate().has_tls() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the file with the certificate of the CA that signed that of a server with TLS.
    #[must_use]
    pub fn ca_file() -> PathBuf {
        tls_file("ca.pem")
    }

    /// Returns the file with the certificate of a CA that did not.
    #[must_use]
    pub fn other_ca_file() -> PathBuf {
        tls_file("other-ca.pem")
    }

    /// Ends all connections and refuses further ones. The collections stay.
    pub fn stop(&mut self) {
        if let Some(RunningServer { stop, thread }) = self.running.take() {
            // The thread has ended already if it failed.
            let _ended = stop.send(());
            let _panicked = thread.join();
        }
    }

    /// Accepts connections again, on the same port.
    ///
    /// # Errors
    /// The error of the operating system when the port or a thread is not to be had.
    pub fn restart(&mut self) -> io::Result<()> {
        self.stop();
        self.running = Some(serve(self.service.clone(), self.address)?);
        Ok(())
    }

    /// Lets requests wait until it is called with `false`.
    pub fn hang(&self, is_hanging: bool) {
        self.service.gate().hang(is_hanging);
    }

    /// Lets requests wait from the next one of this method on, as [`Self::hang`] does. That request waits too.
    pub fn hang_at(&self, method: &'static str) {
        self.service.gate().hang_at(method);
    }

    /// Refuses the requests of this method, as ones that are not valid, until it is called again; `None` refuses none.
    pub fn refuse(&self, method: Option<&'static str>) {
        self.service.gate().refuse(method);
    }

    /// Lets the next requests fail with a code of gRPC, such as 14 for `Unavailable`.
    pub fn fail(&self, code: i32, requests: usize) {
        self.service.gate().fail(Code::from_i32(code), requests);
    }

    /// Deletes all collections, as if the disk of the server were new.
    pub fn wipe(&self) {
        self.service.wipe();
    }

    /// Returns how many requests of a method were received, named as the functions that serve them, such as `upsert_points`.
    #[must_use]
    pub fn requests(&self, method: &str) -> usize {
        self.service.gate().requests(method)
    }
}

impl Drop for TestQdrant {
    fn drop(&mut self) {
        self.stop();
    }
}

fn tls_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tls").join(name)
}

/// Returns addresses to try, in an order that differs between processes. Their ports are below the ephemeral ports, because the system could
/// give one of those to a client while the server is stopped.
fn addresses() -> impl Iterator<Item = SocketAddr> {
    const FIRST_PORT: u16 = 30_000;
    const PORTS: u16 = 2_700;
    // Each test has its own process, so the process id separates parallel tests: 31 ports for each.
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let started = STARTED.fetch_add(1, Ordering::Relaxed);
    let first = process::id().wrapping_mul(31).wrapping_add(started) % u32::from(PORTS);
    let first = u16::try_from(first).unwrap_or_default();
    (0..PORTS).map(move |step| SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST_PORT + (first + step) % PORTS)))
}

/// Returns a server without services, with TLS if it is asked for.
fn configure(has_tls: bool) -> io::Result<Server> {
    if !has_tls {
        return Ok(Server::builder());
    }
    let tls = ServerTlsConfig::new().identity(Identity::from_pem(CERTIFICATE, CERTIFICATE_KEY));
    Server::builder().tls_config(tls).map_err(io::Error::other)
}

/// Serves on an address until it is told to stop.
fn serve(service: Service, address: SocketAddr) -> io::Result<RunningServer> {
    let mut server = configure(service.gate().has_tls())?;
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let thread = thread::Builder::new().name("test-qdrant".to_owned()).spawn(move || {
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            let served = server
                .add_service(QdrantServer::new(service.clone()))
                .add_service(CollectionsServer::new(service.clone()))
                .add_service(PointsServer::new(service).max_decoding_message_size(MAX_REQUEST_BYTES))
                .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
            // Not a graceful end, which would wait for requests that hang.
            tokio::select! {
                _ = served => {}
                _ = stopped => {}
            }
        });
        // Requests that hang are dropped with their runtime.
        runtime.shutdown_background();
    })?;
    Ok(RunningServer { stop, thread })
}
