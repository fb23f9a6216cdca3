//! The background jobs of all users: how many wait, since when, and which failed.

use std::time::Duration;

use entity::time::Timestamp;
use jobs::{Depth, JobKind};
use library::context::CoreContext;

use super::check::{Check, SEE_DATABASE_FILES};

const NAME: &str = "jobs";
/// A job that waits for longer while a server runs is late.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Counts the jobs of all users, and judges those that are late or failed.
pub async fn check(core: &CoreContext, server_running: bool) -> Check {
    let db = core.db.read();
    let depths = match jobs::depths(db).await {
        Ok(depths) => depths,
        Err(error) => return Check::wrong(NAME, error.to_string(), SEE_DATABASE_FILES),
    };
    match jobs::failed_by_kind(db).await {
        Ok(failed) => judge(&depths, &failed, core.clock.now(), server_running),
        Err(error) => Check::wrong(NAME, error.to_string(), SEE_DATABASE_FILES),
    }
}

fn judge(depths: &[Depth], failed: &[(String, i64)], now: Timestamp, server_running: bool) -> Check {
    let waiting: u64 = depths.iter().map(|depth| depth.waiting).sum();
    let running: u64 = depths.iter().map(|depth| depth.running).sum();
    let all_failed: i64 = failed.iter().map(|(_, jobs)| jobs).sum();
    let counts = format!("{waiting} waiting, {running} running, {all_failed} failed");
    if !failed.is_empty() {
        let kinds = failed.iter().map(|(kind, jobs)| format!("{} {jobs}", activity(kind)));
        let found = format!("{counts} ({})", kinds.collect::<Vec<_>>().join(", "));
        let advice = "`GET /app/api/work?stage=failed` lists them with their reasons, `POST /app/api/work/ID/retry` tries again";
        return Check::warning(NAME, found, advice);
    }
    let is_late = |depth: &&Depth| depth.since.is_some_and(|since| now.since(since) > MAX_WAIT);
    match depths.iter().find(is_late) {
        Some(late) if server_running => {
            let since = late.since.unwrap_or(now);
            let found = format!("{counts}; jobs of the kind `{}` have waited since {since}", late.track);
            Check::warning(
                NAME,
                found,
                "see the log for failures, or raise ingest.workers, .fetches or .files",
            )
        }
        // Without a server jobs wait as they should.
        Some(_) => Check::good(NAME, format!("{counts}; no server is running, and the next start continues")),
        None => Check::good(NAME, counts),
    }
}

fn activity(kind: &str) -> &str {
    JobKind::named(kind).map_or(kind, |kind| kind.activity())
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn depth(waiting: u64, since: Option<Timestamp>) -> Depth {
        Depth { track: "web", waiting, running: 1, since }
    }

    #[test]
    fn waiting_and_running_jobs_are_counted() {
        let check = judge(&[depth(2, Some(NOON)), depth(3, Some(NOON))], &[], NOON, true);

        assert_eq!(check, Check::good(NAME, "5 waiting, 2 running, 0 failed"));
    }

    #[test]
    fn failed_jobs_are_named_by_what_they_do() {
        let failed = [("fetch_page".to_owned(), 3), ("a_later_kind".to_owned(), 1)];

        let check = judge(&[], &failed, NOON, true);

        assert_eq!(check.state, CheckState::Warning);
        assert_eq!(check.found, "0 waiting, 0 running, 4 failed (fetching a page 3, a_later_kind 1)");
    }

    #[test]
    fn late_jobs_are_a_fault_of_a_running_server_alone() {
        let late = [depth(1, Some(NOON - 2 * MAX_WAIT))];

        assert_eq!(judge(&late, &[], NOON, true).state, CheckState::Warning);
        assert_eq!(judge(&late, &[], NOON, false).state, CheckState::Good);
    }
}
