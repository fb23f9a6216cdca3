//! The harness: a server in this process or as its own process, clients of its interfaces, and the servers that it talks to.

mod chat_endpoint;
mod client;
mod embedding_endpoint;
mod mcp_client;
mod oauth_client;
mod operation_plans;
pub mod plan_exceptions;
pub mod program;
mod reverse_proxy;
pub mod route_table;
mod s3_bucket;
mod server;
mod service_home;
mod site;
pub mod statement_plans;
mod transcription_endpoint;
mod user;
mod websub_hub;

use std::time::{Duration, Instant};

pub use chat_endpoint::{ChatEndpoint, ChatReply};
pub use client::{Client, Response};
pub use embedding_endpoint::{EmbeddingEndpoint, EmbeddingReply};
pub use mcp_client::McpClient;
pub use oauth_client::{CODE_VERIFIER, OAuthClient, REDIRECT_URI, Tokens, read_ticket, redirect_params};
pub use operation_plans::OperationPlans;
pub use program::Program;
pub use reverse_proxy::ReverseProxy;
pub use s3_bucket::S3Bucket;
pub use server::{NOON, Server};
pub use service_home::{Home, files, has_postgres, holds};
pub use site::{Reply, Site, article};
pub use transcription_endpoint::TranscriptionEndpoint;
pub use user::{Key, PASSWORD, User};
pub use websub_hub::{Hub, HubRequest};

/// How long [`eventually`] waits: longer than any expected state takes on a busy machine.
const EVENTUALLY_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Polls `condition` until it returns a value, and panics after [`EVENTUALLY_TIMEOUT`]. This is the only place where tests wait. The
/// interval grows with the elapsed time, because the polled requests count towards the limits of a key.
pub async fn eventually<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = condition().await {
            return found;
        }
        assert!(began.elapsed() < EVENTUALLY_TIMEOUT, "not within {EVENTUALLY_TIMEOUT:?}: {what}");
        tokio::time::sleep(POLL_INTERVAL.max(began.elapsed() / 20)).await;
    }
}
