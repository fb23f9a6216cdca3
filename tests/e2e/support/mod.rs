//! What the tests talk to: a service, people with keys, assistants that they connect, a site whose pages are
//! saved, a model, and the real program.

mod chat_endpoint;
mod client;
mod mcp_client;
mod oauth_client;
pub mod program;
mod reverse_proxy;
pub mod route_table;
mod s3_bucket;
mod server;
mod service_home;
mod site;
mod transcription_endpoint;
mod user;
mod websub_hub;

use std::time::{Duration, Instant};

pub use chat_endpoint::{Model, Turn};
pub use client::{Answer, Client};
pub use mcp_client::Mcp;
pub use oauth_client::{Assistant, REDIRECT, Tokens, VERIFIER, sent_back, ticket};
pub use program::Program;
pub use reverse_proxy::Relay;
pub use s3_bucket::Store;
pub use server::{NOON, Server};
pub use service_home::{Home, files, has_postgres, holds};
pub use site::{Reply, Site, article};
pub use transcription_endpoint::Ears;
pub use user::{Key, PASSWORD};
pub use websub_hub::{Form, Hub};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AFTER: Duration = Duration::from_millis(25);

/// Looks until there is something; the only place that waits. It looks ever more seldom: a key has only so many requests.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came to this: {what}");
        tokio::time::sleep(LOOK_AFTER.max(began.elapsed() / 20)).await;
    }
}
