//! The feeds that users follow: which of them cannot be fetched.

use library::context::CoreContext;
use library::feeds::health::{FeedHealth, feed_health};

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::output::shown;

const NAME: &str = "feeds";
/// Failing feeds that are named.
const MAX_NAMED: u64 = 5;

/// Looks for feeds whose last fetch failed.
pub async fn check(core: &CoreContext) -> Check {
    match feed_health(core.db.read(), MAX_NAMED).await {
        Ok(health) => judge(&health),
        Err(error) => Check::wrong(NAME, error.to_string(), SEE_DATABASE_FILES),
    }
}

fn judge(health: &FeedHealth) -> Check {
    let FeedHealth { feeds, failing, worst } = health;
    if *feeds == 0 {
        return Check::good(NAME, "no feeds are followed");
    }
    if *failing == 0 {
        return Check::good(NAME, format!("{feeds} followed; the last fetch of each succeeded"));
    }
    let named = worst.iter().map(|feed| {
        let reason = feed.error.as_deref().unwrap_or("unknown reason");
        format!("{} ({} times in a row: {})", shown(&feed.url), feed.failures, shown(reason))
    });
    let found =
        format!("{failing} of {feeds} could not be fetched: {}", named.collect::<Vec<_>>().join("; "));
    Check::warning(NAME, found, "open the URLs in a browser; unfollow feeds that no longer exist")
}
