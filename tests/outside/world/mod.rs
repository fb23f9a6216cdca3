//! What the tests talk to: a service, people with keys, assistants that they connect, a site whose pages are
//! saved, a model, and the real program.

mod answer;
mod assistant;
mod ears;
mod home;
mod hub;
mod mcp;
mod model;
mod person;
pub mod program;
mod relay;
mod server;
mod site;
mod store;
pub mod table;

use std::time::{Duration, Instant};

pub use answer::{Answer, Client};
pub use assistant::{Assistant, REDIRECT, Tokens, VERIFIER, sent_back, ticket};
pub use ears::Ears;
pub use home::{Home, files, has_postgres, holds};
pub use hub::{Form, Hub};
pub use mcp::Mcp;
pub use model::{Model, Turn};
pub use person::{Key, PASSWORD};
pub use program::Program;
pub use relay::Relay;
pub use server::{NOON, Server};
pub use site::{Reply, Site, article};
pub use store::Store;

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
