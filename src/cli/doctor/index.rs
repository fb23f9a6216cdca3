//! The state of the passage index: as the running service reports it, or else as its folder and the database show it, without opening
//! the index.

use std::fs;
use std::io;
use std::path::Path;

use actors::ingest::repair::{self, Inspection};
use actors::retrieval::Completeness;
use library::context::CoreContext;
use search::index::{AuditReason, IndexFolder};

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::failure;
use crate::cli::probe::ServerProbe;
use crate::http::health::IndexHealth;
use crate::settings::Settings;

const NAME: &str = "index";

/// Reports the state of the index of the running service. If none runs, checks the folder, and compares it with the database if its
/// tables are up to date.
pub async fn check(settings: &Settings, core: &CoreContext, server: &ServerProbe) -> Check {
    let folder = IndexFolder::path_in(&settings.data_dir);
    if let Some(fault) = unreadable(&folder) {
        return fault;
    }
    // A running service has the index open, so only its own report can be used.
    if let Some(health) = &server.index {
        return with_set_aside(settings, judge_open(&folder, health));
    }
    let check = match inspect(settings, core).await {
        Ok(inspection) => judge(&folder, inspection),
        Err(cause) => Check::wrong(NAME, cause, SEE_DATABASE_FILES),
    };
    with_set_aside(settings, check)
}

/// Checks the folder if there is no database yet.
pub fn check_new(settings: &Settings) -> Check {
    let folder = IndexFolder::path_in(&settings.data_dir);
    unreadable(&folder).unwrap_or_else(|| with_set_aside(settings, judge(&folder, None)))
}

/// Reports that the index could not be compared with a database that cannot be opened.
pub fn check_unopened(settings: &Settings) -> Check {
    let folder = IndexFolder::path_in(&settings.data_dir);
    unreadable(&folder).unwrap_or_else(|| {
        let found =
            format!("{} was not compared with the database, which could not be opened", folder.display());
        Check::warning(
            NAME,
            found,
            "do what `database` says; the index itself can be rebuilt from the database",
        )
    })
}

fn unreadable(folder: &Path) -> Option<Check> {
    let cause = fs::read_dir(folder).err().filter(|cause| cause.kind() != io::ErrorKind::NotFound)?;
    let found = format!("could not read {}: {cause}", folder.display());
    Some(Check::wrong(NAME, found, "give it to the user of the service"))
}

/// Adds to a good check that a damaged index was moved aside.
fn with_set_aside(settings: &Settings, check: Check) -> Check {
    match (check.advice.is_some(), IndexFolder::set_aside_in(&settings.data_dir)) {
        (false, Some(aside)) => {
            let found = format!("{}; a damaged one was moved aside to {}", check.found, aside.display());
            Check::warning(NAME, found, "remove it once search works as expected")
        }
        (true, Some(_)) | (_, None) => check,
    }
}

/// Judges the index that the running service has open.
fn judge_open(folder: &Path, health: &IndexHealth) -> Check {
    let place = folder.display();
    match health.completeness {
        Completeness::Unavailable => {
            let found = format!(
                "the running service has no index: the disk of {place} has no space for one, so searches are refused"
            );
            Check::wrong(NAME, found, "free some space: the service then creates and fills one")
        }
        Completeness::MaintainedElsewhere => {
            let found = format!("{place} is not updated: another service on the database maintains its own");
            Check::warning(NAME, found, "run one service on a database")
        }
        _ if !health.ok => {
            let found = format!("the running service cannot read {place}");
            Check::wrong(NAME, found, "see its log for the cause; it replaces a damaged index by itself")
        }
        Completeness::Checking => {
            let found = format!("{place} is being compared with the database");
            Check::warning(NAME, found, "let the service run; /readyz says when it is complete")
        }
        Completeness::Rebuilding { documents_left, .. } => judge_rebuilding(folder, documents_left),
        Completeness::Complete if health.failed_requests > 0 => {
            let found = format!(
                "{place} failed requests of the last day as only damage fails them (number: {})",
                health.failed_requests
            );
            let advice = "see the log for the cause; the service replaces an index that fails again and \
                          again, at most once a day";
            Check::warning(NAME, found, advice)
        }
        Completeness::Complete => match health.passages {
            Some(passages) => Check::good(
                NAME,
                format!("{place} is complete: the running service holds {passages} passages in it"),
            ),
            None => Check::good(NAME, format!("{place} is being loaded again after a failed write")),
        },
    }
}

fn judge_rebuilding(folder: &Path, documents_left: u64) -> Check {
    let found = format!("{} is being rebuilt: {documents_left} documents remain", folder.display());
    Check::warning(NAME, found, "let the service run; /readyz shows the progress")
}

/// Returns what the index should hold according to the database; `None` if its tables are of an older version.
async fn inspect(settings: &Settings, core: &CoreContext) -> Result<Option<Inspection>, String> {
    if core.db.pending_migrations().await.map_err(|error| error.to_string())? > 0 {
        return Ok(None);
    }
    let inspection = repair::inspect(&core.db, &settings.data_dir).await;
    inspection.map(Some).map_err(|error| failure::describe(&error))
}

fn judge(folder: &Path, inspection: Option<Inspection>) -> Check {
    let place = folder.display();
    let Some(Inspection { audit_reason, expected_passages, lost_documents }) = inspection else {
        return if folder.exists() {
            Check::good(NAME, format!("{place} exists"))
        } else {
            Check::warning(NAME, format!("{place} does not exist yet"), "the first start creates it")
        };
    };
    match audit_reason {
        Some(AuditReason::Missing) if expected_passages == 0 && lost_documents == 0 => {
            Check::warning(NAME, format!("{place} does not exist yet"), "the first start creates it")
        }
        Some(AuditReason::Missing) => {
            let found = format!("{place} is not there, and {expected_passages} passages should be in it");
            let advice = "start the service: it creates a new index and fills it from the database while it \
                          serves; a running service does so without a restart";
            Check::warning(NAME, found, advice)
        }
        Some(reason) => {
            let advice = "start the service: it compares the index with the database and adds what is \
                          missing while it serves; a running service does so without a restart";
            Check::warning(NAME, format!("the index in {place} {}", reason.description()), advice)
        }
        None if lost_documents > 0 => judge_rebuilding(folder, lost_documents),
        // It is not opened here, so its passages are not counted.
        None => Check::good(NAME, format!("{place} exists and should hold {expected_passages} passages")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    const COMPLETE_INDEX: Inspection =
        Inspection { audit_reason: None, expected_passages: 12, lost_documents: 0 };

    fn judge_index(inspection: Inspection) -> Check {
        judge(Path::new("/data/index"), Some(inspection))
    }

    #[test]
    fn index_of_a_stopped_service_is_judged_by_the_database() {
        assert_eq!(
            judge_index(COMPLETE_INDEX),
            Check::good(NAME, "/data/index exists and should hold 12 passages")
        );
    }

    const COMPLETE: IndexHealth =
        IndexHealth { ok: true, passages: Some(7), failed_requests: 0, completeness: Completeness::Complete };

    fn judge_health(health: IndexHealth) -> Check {
        judge_open(Path::new("/data/index"), &health)
    }

    #[test]
    fn index_of_a_running_service_is_judged_by_its_own_report() {
        let complete = judge_health(COMPLETE);
        assert_eq!(complete.state, CheckState::Good);
        assert!(complete.found.ends_with("holds 7 passages in it"), "{complete}");

        for (completeness, state) in [
            (Completeness::Checking, CheckState::Warning),
            (Completeness::Rebuilding { documents_left: 1, documents_total: 3 }, CheckState::Warning),
            (Completeness::MaintainedElsewhere, CheckState::Warning),
            (Completeness::Unavailable, CheckState::Wrong),
        ] {
            let check = judge_health(IndexHealth { completeness, ..COMPLETE });
            assert_eq!(check.state, state, "{check}");
            assert!(check.advice.is_some());
        }
    }

    #[test]
    fn index_that_fails_requests_is_not_good() {
        let failing = judge_health(IndexHealth { failed_requests: 2, ..COMPLETE });
        let unreadable = judge_health(IndexHealth { ok: false, passages: None, ..COMPLETE });

        assert_eq!(failing.state, CheckState::Warning, "{failing}");
        assert_eq!(unreadable.state, CheckState::Wrong, "{unreadable}");
    }

    #[test]
    fn every_audit_reason_and_a_rebuild_come_with_advice() {
        let doubted = |reason| judge_index(Inspection { audit_reason: Some(reason), ..COMPLETE_INDEX });
        let rebuilt = judge_index(Inspection { lost_documents: 3, ..COMPLETE_INDEX });

        for check in [
            doubted(AuditReason::Missing),
            doubted(AuditReason::OlderCopy),
            doubted(AuditReason::NoMarker),
            rebuilt,
        ] {
            assert_eq!(check.state, CheckState::Warning, "{check}");
            assert!(check.advice.is_some());
        }
        assert!(doubted(AuditReason::Missing).found.contains("12 passages should be in it"));
        assert!(doubted(AuditReason::OlderCopy).found.ends_with("is an older copy"));
    }

    #[test]
    fn index_of_a_new_installation_is_created_by_the_first_start() {
        let new =
            Inspection { audit_reason: Some(AuditReason::Missing), expected_passages: 0, lost_documents: 0 };

        assert_eq!(judge_index(new).advice.as_deref(), Some("the first start creates it"));
        assert_eq!(
            judge(Path::new("/data/index"), None).advice.as_deref(),
            Some("the first start creates it")
        );
    }
}
