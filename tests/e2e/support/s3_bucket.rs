//! An S3 bucket on the loopback interface, stored in a folder. It accepts only requests that its one user has signed.

use std::path::PathBuf;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::service_home::files;

const BUCKET: &str = "shelf";
const ACCESS_KEY: &str = "reader";
const SECRET_KEY: &str = "a-secret-of-the-reader";

/// A running S3 server with one bucket.
pub struct S3Bucket {
    pub endpoint: String,
    folder: TempDir,
    serving: AbortHandle,
}

impl S3Bucket {
    /// Starts a server with an empty bucket.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(serve(listener, service.build())).abort_handle();
        Self { endpoint, folder, serving }
    }

    /// The settings of a server that stores its files in this bucket.
    pub fn settings(&self) -> [(&str, &str); 4] {
        [
            ("FILES__URL", "s3://shelf/library"),
            ("FILES__ENDPOINT", &self.endpoint),
            ("FILES__ACCESS_KEY", ACCESS_KEY),
            ("FILES__SECRET_KEY", SECRET_KEY),
        ]
    }

    /// The sorted paths of the stored objects.
    pub fn paths(&self) -> Vec<String> {
        let bucket = self.folder.path().join(BUCKET);
        let within = |file: PathBuf| file.strip_prefix(&bucket).unwrap().display().to_string();
        let mut paths: Vec<String> = files(&bucket).into_iter().map(within).collect();
        paths.sort();
        paths
    }
}

impl Drop for S3Bucket {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, service: S3Service) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let service = service.clone();
        tokio::spawn(async move {
            let http = Builder::new(TokioExecutor::new());
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
