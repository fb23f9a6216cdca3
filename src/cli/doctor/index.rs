//! The state of the passage index, found without opening it: a server may have it open.

use std::fs;
use std::io;
use std::path::Path;

use actors::ingest::repair::{self, Inspection};
use library::context::CoreContext;
use search::index::{AuditReason, IndexFolder};

use super::check::{Check, SEE_DATABASE_FILES};
use crate::cli::failure;
use crate::settings::Settings;

const NAME: &str = "index";

/// Checks the folder, and compares it with the database if its tables are up to date.
pub async fn check(settings: &Settings, core: &CoreContext) -> Check {
    let folder = IndexFolder::path_in(&settings.data_dir);
    if let Some(fault) = unreadable(&folder) {
        return fault;
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
            "do what `database` says; the index itself can be filled again from the database",
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
            Check::warning(NAME, found, "remove it once search finds what it should")
        }
        (true, Some(_)) | (_, None) => check,
    }
}

/// What the database expects of the index; `None` if its tables are of an older version.
async fn inspect(settings: &Settings, core: &CoreContext) -> Result<Option<Inspection>, String> {
    if core.db.pending_migrations().await.map_err(|error| error.to_string())? > 0 {
        return Ok(None);
    }
    let inspection = repair::inspect(&core.db, &settings.data_dir).await;
    inspection.map(Some).map_err(|error| failure::words(&error))
}

fn judge(folder: &Path, inspection: Option<Inspection>) -> Check {
    let place = folder.display();
    let Some(Inspection { audit_reason, expected_passages, lost_documents }) = inspection else {
        return if folder.exists() {
            Check::good(NAME, format!("{place} is there"))
        } else {
            Check::warning(NAME, format!("{place} is not there yet"), "the first start makes it")
        };
    };
    match audit_reason {
        Some(AuditReason::Missing) if expected_passages == 0 && lost_documents == 0 => {
            Check::warning(NAME, format!("{place} is not there yet"), "the first start makes it")
        }
        Some(AuditReason::Missing) => {
            let found = format!("{place} is not there, and {expected_passages} passages should be in it");
            let advice = "start the service: it makes a new one and fills it from the database while it \
                          serves; one that runs does so by itself";
            Check::warning(NAME, found, advice)
        }
        Some(reason) => {
            let advice = "start the service: it compares the index with the database and puts in what is \
                          missing while it serves; one that runs does so by itself";
            Check::warning(NAME, format!("the index in {place} {}", reason.description()), advice)
        }
        None if lost_documents > 0 => {
            let found =
                format!("{place} is being filled again: {lost_documents} documents are still to come");
            Check::warning(NAME, found, "let the service run; /readyz says how far it is")
        }
        None => Check::good(NAME, format!("{place} is there and holds {expected_passages} passages")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::CheckState;
    use super::*;

    const WHOLE: Inspection = Inspection { audit_reason: None, expected_passages: 12, lost_documents: 0 };

    fn judge_index(inspection: Inspection) -> Check {
        judge(Path::new("/data/index"), Some(inspection))
    }

    #[test]
    fn whole_index_is_good_and_says_how_much_it_holds() {
        assert_eq!(judge_index(WHOLE), Check::good(NAME, "/data/index is there and holds 12 passages"));
    }

    #[test]
    fn every_audit_reason_and_a_rebuild_come_with_advice() {
        let doubted = |reason| judge_index(Inspection { audit_reason: Some(reason), ..WHOLE });
        let rebuilt = judge_index(Inspection { lost_documents: 3, ..WHOLE });

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
    fn folder_of_a_new_installation_is_made_by_the_first_start() {
        let new =
            Inspection { audit_reason: Some(AuditReason::Missing), expected_passages: 0, lost_documents: 0 };

        assert_eq!(judge_index(new).advice.as_deref(), Some("the first start makes it"));
        assert_eq!(judge(Path::new("/data/index"), None).advice.as_deref(), Some("the first start makes it"));
    }
}
