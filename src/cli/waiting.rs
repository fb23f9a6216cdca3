//! Waiting for what was left for the server.

use std::time::Duration;

use actors::error::Error;
use tokio::time::{Instant, sleep};

use super::probe;
use crate::settings::Settings;

/// How often it is looked whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is asked whether the server is still there.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// What `look` finds, once it finds something; none where no server is there to do it, or none any more.
///
/// # Errors
/// Those of `look`.
pub async fn until_done<T>(
    settings: &Settings,
    mut look: impl AsyncFnMut() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    while probe::runs(settings).await {
        let until = Instant::now() + ASK_EVERY;
        while Instant::now() < until {
            if let Some(done) = look().await? {
                return Ok(Some(done));
            }
            sleep(LOOK_EVERY).await;
        }
    }
    look().await
}
