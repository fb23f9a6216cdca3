//! The background jobs of all users: how many wait, since when, and which failed or need another version of Carrel.

use std::time::Duration;

use jobs::{Depth, JobKind, Track};
use library::context::CoreContext;
use library::failed_jobs;
use values::time::Timestamp;

use super::check::{Check, SEE_DATABASE_FILES};

const NAME: &str = "jobs";
/// A job that waits for longer while a server runs is late.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Counts the jobs of all users, and judges those that are late or failed.
pub async fn check(core: &CoreContext, server_running: bool) -> Check {
    match read_counts(core).await {
        Ok(counts) => judge(&counts, core.clock.now(), server_running),
        Err(error) => Check::wrong(NAME, error, SEE_DATABASE_FILES),
    }
}

/// The counts of the jobs of all users.
#[derive(Default)]
struct QueueCounts {
    /// The jobs of each track of kinds that this version knows.
    depths: Vec<Depth>,
    /// The waiting jobs of each kind that this version does not know.
    unknown: Vec<(String, i64)>,
    /// The jobs of each kind that were given up.
    failed: Vec<(String, i64)>,
}

/// Reads the counts, or returns why they cannot be read.
async fn read_counts(core: &CoreContext) -> Result<QueueCounts, String> {
    let db = core.db.read();
    Ok(QueueCounts {
        depths: jobs::depths(db).await.map_err(|error| error.to_string())?,
        unknown: jobs::unknown_by_kind(db).await.map_err(|error| error.to_string())?,
        failed: failed_jobs::count_failed_jobs(db).await.map_err(|error| error.to_string())?,
    })
}

fn judge(counts: &QueueCounts, now: Timestamp, server_running: bool) -> Check {
    let QueueCounts { depths, unknown, failed } = counts;
    let waiting: u64 = depths.iter().map(|depth| depth.waiting).sum();
    let running: u64 = depths.iter().map(|depth| depth.running).sum();
    let all_failed: i64 = failed.iter().map(|(_, jobs)| jobs).sum();
    let mut counts = format!("{waiting} waiting, {running} running, {all_failed} failed");
    if !failed.is_empty() {
        counts = format!("{counts} ({})", list_by_activity(failed));
    }
    if !unknown.is_empty() {
        let all_unknown: i64 = unknown.iter().map(|(_, jobs)| jobs).sum();
        let (jobs, verb) = if all_unknown == 1 { ("job", "waits") } else { ("jobs", "wait") };
        let kinds = list_by_activity(unknown);
        counts = format!("{counts}; {all_unknown} {jobs} of unknown kinds {verb} ({kinds})");
    }
    if !failed.is_empty() {
        let advice =
            "`carrel jobs list` shows the failed jobs with their reasons, `carrel jobs retry ID` retries one";
        return Check::warning(NAME, counts, advice);
    }
    let is_late = |depth: &&Depth| depth.since.is_some_and(|since| now.since(since) > MAX_WAIT);
    match depths.iter().find(is_late) {
        Some(late) if server_running => {
            let since = late.since.unwrap_or(now);
            let track = late.track.name();
            let found = format!("{counts}; a job of the track `{track}` has waited since {since}");
            Check::warning(NAME, found, late_jobs_advice(late.track))
        }
        Some(_) | None if !unknown.is_empty() => {
            Check::warning(NAME, counts, "start the newer version of Carrel that created them")
        }
        // Without a server jobs wait as they should.
        Some(_) => {
            Check::good(NAME, format!("{counts}; no server is running: the jobs continue at its next start"))
        }
        None => Check::good(NAME, counts),
    }
}

/// Returns what an operator can do about late jobs of a track: the setting of its slots, if it has one.
fn late_jobs_advice(track: Track) -> &'static str {
    match track {
        Track::Web => "see the log for failures, or raise ingest.fetches",
        Track::Library => "see the log for failures, or raise ingest.workers",
        Track::Files => "see the log for failures, or raise ingest.files",
        Track::Imports | Track::Recordings | Track::Exports | Track::Answers => {
            "see the log for failures; the number of these jobs that run at a time is fixed"
        }
    }
}

fn activity(kind: &str) -> &str {
    JobKind::named(kind).map_or(kind, |kind| kind.activity())
}

/// Lists kinds by their activity, each with its number of jobs.
fn list_by_activity(counts: &[(String, i64)]) -> String {
    let kinds = counts.iter().map(|(kind, jobs)| format!("{} {jobs}", activity(kind)));
    kinds.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn depth(waiting: u64, since: Option<Timestamp>) -> Depth {
        Depth { track: Track::Web, waiting, running: 1, since }
    }

    #[test]
    fn waiting_and_running_jobs_are_counted() {
        let depths = vec![depth(2, Some(NOON)), depth(3, Some(NOON))];

        let check = judge(&QueueCounts { depths, ..QueueCounts::default() }, NOON, true);

        assert_eq!(check, Check::good(NAME, "5 waiting, 2 running, 0 failed"));
    }

    #[test]
    fn failed_jobs_are_named_by_what_they_do() {
        let failed = vec![("fetch_page".to_owned(), 3), ("a_later_kind".to_owned(), 1)];

        let check = judge(&QueueCounts { failed, ..QueueCounts::default() }, NOON, true);

        assert_eq!(check.state, CheckState::Warning);
        assert_eq!(check.found, "0 waiting, 0 running, 4 failed (fetching a page 3, a_later_kind 1)");
    }

    #[test]
    fn waiting_jobs_of_unknown_kinds_are_a_warning() {
        let unknown = vec![("a_later_kind".to_owned(), 2)];

        let check = judge(&QueueCounts { unknown, ..QueueCounts::default() }, NOON, true);

        assert_eq!(check.state, CheckState::Warning);
        assert_eq!(
            check.found,
            "0 waiting, 0 running, 0 failed; 2 jobs of unknown kinds wait (a_later_kind 2)"
        );
    }

    #[test]
    fn late_jobs_are_a_fault_of_a_running_server_alone() {
        let late =
            QueueCounts { depths: vec![depth(1, Some(NOON - 2 * MAX_WAIT))], ..QueueCounts::default() };

        assert_eq!(judge(&late, NOON, true).state, CheckState::Warning);
        assert_eq!(judge(&late, NOON, false).state, CheckState::Good);
    }

    #[test]
    fn late_track_is_named_with_its_setting() {
        let since = Some(NOON - 2 * MAX_WAIT);
        let of_track = |track| {
            let depths = vec![Depth { track, ..depth(1, since) }];
            judge(&QueueCounts { depths, ..QueueCounts::default() }, NOON, true)
        };

        let advice = of_track(Track::Library).advice.unwrap();
        let fixed = of_track(Track::Exports);

        assert!(advice.contains("ingest.workers") && !advice.contains("ingest.fetches"), "{advice}");
        assert!(fixed.found.contains("track `exports`"), "{}", fixed.found);
        assert!(!fixed.advice.unwrap().contains("ingest."), "an export has no setting");
    }
}
