//! Runs the merge of the index of titles, in short transactions between those of others.

use std::time::{Duration, Instant};

use errors::Error;
use library::title_index;
use tokio::time::sleep;

use super::context::WorkerContext;

/// Time after which a run ends. The next run continues the merge. It is enough for an index of a gigabyte.
const MAX_RUN_TIME: Duration = Duration::from_secs(300);
/// Time between two steps, which the writer of SQLite has for others.
const PAUSE: Duration = Duration::from_millis(50);

/// Merges the index if that is due, until it is merged, a disk is below its floor, or the time of a run is over.
///
/// # Errors
/// The database fails. The merge continues with the next run.
pub(super) async fn run(ctx: &WorkerContext) -> Result<(), Error> {
    let started = Instant::now();
    while title_index::merge_step(&ctx.core.db, ctx.core.clock.now()).await? {
        if started.elapsed() >= MAX_RUN_TIME || !ctx.disk.has_room() {
            break;
        }
        sleep(PAUSE).await;
    }
    Ok(())
}
