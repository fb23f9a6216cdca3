//! The state of the passage index: as the running server reports it, or else as its folder and the database show it, without opening
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
use crate::http::health::{IndexHealth, ModelChange};
use crate::settings::Settings;

const NAME: &str = "index";
const CREATED_BY_SERVER: &str = "the server creates it at its first start";

/// Reports the state of the index of the running server. If none runs, checks the folder, and compares it with the database if its
/// tables are up to date.
pub async fn check(settings: &Settings, core: &CoreContext, server: &ServerProbe) -> Check {
    let folder = IndexFolder::path_in(&settings.data_dir);
    if let Some(fault) = unreadable(&folder) {
        return fault;
    }
    // A running server has the index open, so only its own report can be used.
    if let Some(health) = &server.index {
        return with_set_aside(settings, judge_open(&folder.display().to_string(), health));
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
            "follow the advice of `database`; the server can rebuild the index from the database",
        )
    })
}

fn unreadable(folder: &Path) -> Option<Check> {
    let cause = fs::read_dir(folder).err().filter(|cause| cause.kind() != io::ErrorKind::NotFound)?;
    let found = format!("could not read {}: {cause}", folder.display());
    Some(Check::wrong(
        NAME,
        found,
        "make it readable and writable by the user that runs the server (`chown`)",
    ))
}

/// Adds to a good check that a damaged index was moved aside.
fn with_set_aside(settings: &Settings, check: Check) -> Check {
    match (check.advice.is_some(), IndexFolder::set_aside_in(&settings.data_dir)) {
        (false, Some(aside)) => {
            let found = format!("{}; a damaged index was moved to {}", check.found, aside.display());
            Check::warning(NAME, found, "remove the damaged index once search works as expected")
        }
        (true, Some(_)) | (_, None) => check,
    }
}

/// Judges the index that the running server has open.
pub(super) fn judge_open(place: &str, health: &IndexHealth) -> Check {
    match health.completeness {
        Completeness::Unavailable => {
            let found = format!(
                "the running server has no index and refuses searches: the disk of {place} has too little free space for an index"
            );
            Check::wrong(NAME, found, "free some space: the server then creates an index and fills it")
        }
        Completeness::MaintainedElsewhere => {
            let found = format!(
                "{place} is not updated: another server on the same database maintains its own index"
            );
            Check::warning(NAME, found, "run only one server on a database")
        }
        _ if !health.ok => {
            let found = format!("the running server cannot read {place}");
            Check::wrong(
                NAME,
                found,
                "free some space if its disk has less than 16 MiB, else see its log for the cause; the server replaces a damaged index \
                 without your help",
            )
        }
        Completeness::Checking => {
            let found = format!("{place} is being compared with the database");
            Check::warning(NAME, found, "let the server run; /readyz reports when the index is complete")
        }
        Completeness::Rebuilding { documents_left, .. } => judge_rebuilding(place, documents_left),
        Completeness::Complete if health.failed_requests > 0 => {
            let requests = if health.failed_requests == 1 { "request" } else { "requests" };
            let found = format!(
                "{} {requests} to {place} failed during the last day in a way that only a damaged index explains",
                health.failed_requests
            );
            let advice = "see the log for the cause; the server replaces an index that continues to fail, at most once a day";
            Check::warning(NAME, found, advice)
        }
        Completeness::Complete => match health.passages {
            Some(passages) => {
                let found =
                    format!("{place} is complete and has {passages} passages, as the running server reports");
                Check::good(NAME, with_model_change(found, health))
            }
            None => Check::warning(
                NAME,
                format!(
                    "the running server is loading {place} again after a failed write; searches are refused"
                ),
                "let the server run; /readyz reports when the index is complete",
            ),
        },
    }
}

/// Adds to what was found that the vectors of another model are being added.
fn with_model_change(found: String, health: &IndexHealth) -> String {
    match &health.model_change {
        Some(ModelChange { model, documents_left }) => {
            format!("{found}; {documents_left} documents are still to be embedded with {model}")
        }
        None => found,
    }
}

fn judge_rebuilding(place: &str, documents_left: u64) -> Check {
    let found = format!("{place} is incomplete: {documents_left} documents must still be added");
    Check::warning(NAME, found, "let the server run; /readyz shows the progress")
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
            Check::warning(NAME, format!("{place} does not exist yet"), CREATED_BY_SERVER)
        };
    };
    match audit_reason {
        Some(AuditReason::Missing) if expected_passages == 0 && lost_documents == 0 => {
            Check::warning(NAME, format!("{place} does not exist yet"), CREATED_BY_SERVER)
        }
        Some(AuditReason::Missing) => {
            let found = format!(
                "{place} does not exist, although the database has {expected_passages} passages for it"
            );
            let advice = "start the server: it creates a new index and fills it from the database while it \
                          serves; a running server does so without a restart";
            Check::warning(NAME, found, advice)
        }
        Some(reason) => {
            let advice = "start the server: it compares the index with the database and adds what is \
                          missing while it serves; a running server does so without a restart";
            Check::warning(NAME, format!("the index in {place} {}", reason.description()), advice)
        }
        None if lost_documents > 0 => judge_rebuilding(&place.to_string(), lost_documents),
        // It is not opened here, so its passages are not counted.
        None => {
            Check::good(NAME, format!("{place} exists; the database has {expected_passages} passages for it"))
        }
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
    fn index_of_a_stopped_server_is_judged_by_the_database() {
        assert_eq!(
            judge_index(COMPLETE_INDEX),
            Check::good(NAME, "/data/index exists; the database has 12 passages for it")
        );
    }

    const COMPLETE: IndexHealth = IndexHealth {
        ok: true,
        passages: Some(7),
        failed_requests: 0,
        model_change: None,
        completeness: Completeness::Complete,
    };

    fn judge_health(health: IndexHealth) -> Check {
        judge_open("/data/index", &health)
    }

    #[test]
    fn index_of_a_running_server_is_judged_by_its_own_report() {
        let complete = judge_health(COMPLETE);
        assert_eq!(complete.state, CheckState::Good);
        assert!(complete.found.contains("has 7 passages"), "{complete}");
        let model_change = Some(ModelChange { model: "b".to_owned(), documents_left: 4 });
        let changing = judge_health(IndexHealth { model_change, ..COMPLETE });
        assert_eq!(changing.state, CheckState::Good);
        assert!(changing.found.ends_with("4 documents are still to be embedded with b"), "{changing}");

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
        let reloading = judge_health(IndexHealth { passages: None, ..COMPLETE });
        assert_eq!(reloading.state, CheckState::Warning, "{reloading}");
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
        assert!(doubted(AuditReason::Missing).found.contains("has 12 passages for it"));
        assert!(doubted(AuditReason::OlderCopy).found.ends_with("is an older copy"));
    }

    #[test]
    fn index_of_a_new_installation_is_created_by_the_first_start() {
        let new =
            Inspection { audit_reason: Some(AuditReason::Missing), expected_passages: 0, lost_documents: 0 };

        assert_eq!(judge_index(new).advice.as_deref(), Some(CREATED_BY_SERVER));
        assert_eq!(judge(Path::new("/data/index"), None).advice.as_deref(), Some(CREATED_BY_SERVER));
    }
}
