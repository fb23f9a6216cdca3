//! The database: whether it exists, can be opened, is up to date, and is not damaged.

use std::error::Error;

use actors::auth::accounts;
use database::OpenError;
use library::context::CoreContext;

use super::check::{Check, SEE_DATABASE_FILES};
use super::stored_counts::{self, StoredCount};
use crate::cli::{failure, opening};
use crate::library_database::{self, ConnectError, LostDatabase, access_advice, setting_of_database};
use crate::settings::Settings;

const NAME: &str = "database";
const RESTORE: &str = "stop the server and restore a backup; if this database is a restored backup, remove carrel.db-wal and carrel.db-shm, which belong \
     to the previous database; `sqlite3 carrel.db .recover` may recover the readable rows";
const PUT_BACK: &str =
    "move the files of the database back to where they were, or stop the server and restore a backup";

/// Opens the database without a migration, or returns why it cannot be opened. `is_removed` is whether a running server reports that
/// its files were moved or replaced: then the present files belong to another database.
pub async fn open_database(settings: &Settings, is_removed: bool) -> Result<CoreContext, Check> {
    let lost_check = |lost: LostDatabase| {
        Check::wrong(NAME, lost.finding(), if is_removed { PUT_BACK } else { LostDatabase::ADVICE })
    };
    library_database::require_file(settings).map_err(lost_check)?;
    if is_removed {
        // SQLite would apply the write-ahead log of the server to the file that replaced the database.
        let found = "the running server reports that a file of its database was removed or replaced; its log names the file";
        return Err(Check::wrong(NAME, found, PUT_BACK));
    }
    if library_database::is_new(settings) {
        let advice = "the first start, `carrel migrate` or `carrel user add` creates it";
        let (place, setting) = (settings.database_url().place(), setting_of_database(settings));
        return Err(Check::warning(NAME, format!("{place} does not exist yet (setting {setting})"), advice));
    }
    opening::unmigrated_core(settings).await.map_err(|error| match error {
        ConnectError::Lost(lost) => lost_check(lost),
        ConnectError::Open { place, setting, cause, .. } => {
            let found = |error: &dyn Error| format!("could not open {place} (setting {setting}): {error}");
            match cause {
                OpenError::Damaged(damage) => Check::wrong(NAME, damage.to_string(), RESTORE),
                OpenError::Database(error) => Check::wrong(NAME, found(&error), access_advice(settings)),
                OpenError::NotWritable(error) => {
                    let advice = format!("free some space on its disk, or {}", access_advice(settings));
                    Check::wrong(NAME, found(&error), advice)
                }
            }
        }
    })
}

/// Checks an open database. It reads all of it.
pub async fn check(core: &CoreContext, repairs: bool) -> Vec<Check> {
    let kind = opening::kind(core);
    let damage = check_for_damage(core).await;
    match core.db.pending_migrations().await {
        Ok(0) => {
            let found = format!("{kind} answers, and its tables are up to date");
            let sizes = stored_counts::check(core, StoredCount::Bytes, repairs).await;
            let counts = stored_counts::check(core, StoredCount::Rows, repairs).await;
            vec![Check::good(NAME, found), damage, check_accounts(core).await, sizes, counts]
        }
        Ok(pending) => {
            let found =
                format!("{kind} answers, and its tables are out of date (pending migrations: {pending})");
            let advice = "the next start of the server, or the next command that opens the database, brings them up to date";
            vec![Check::warning(NAME, found, advice), damage]
        }
        Err(error) => vec![Check::wrong(NAME, error.to_string(), SEE_DATABASE_FILES), damage],
    }
}

/// Reads the whole database, so that damage is found before a request hits it.
async fn check_for_damage(core: &CoreContext) -> Check {
    let name = "database files";
    match core.db.full_check().await {
        Ok(()) => Check::good(name, "no damage was found"),
        Err(OpenError::Damaged(damage)) => Check::wrong(name, damage.to_string(), RESTORE),
        Err(OpenError::Database(error) | OpenError::NotWritable(error)) => {
            let advice = "check whether the disk is full or failing (`df`, `dmesg`), then try again";
            Check::wrong(name, format!("the files could not be read: {error}"), advice)
        }
    }
}

async fn check_accounts(core: &CoreContext) -> Check {
    let name = "accounts";
    match accounts::all(core).await {
        Ok(none) if none.is_empty() => {
            Check::warning(name, "no account exists", "create one with `carrel user add`")
        }
        Ok(some) => Check::good(name, format!("{} in the database", some.len())),
        Err(error) => Check::wrong(name, failure::describe(&error), SEE_DATABASE_FILES),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::check::CheckState;
    use super::*;

    /// Settings for a data folder with this database file, if any.
    fn home(database: Option<&[u8]>) -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = [("CARREL__DATA_DIR".to_owned(), folder.path().to_str().unwrap().to_owned())];
        let settings = Settings::load(None, data_dir.into_iter()).unwrap();
        if let Some(content) = database {
            fs::write(folder.path().join("carrel.db"), content).unwrap();
        }
        (folder, settings)
    }

    async fn opening_fault(settings: &Settings, is_removed: bool) -> Check {
        open_database(settings, is_removed).await.err().unwrap()
    }

    #[tokio::test]
    async fn new_database_is_no_fault() {
        for content in [None, Some(b"".as_slice())] {
            let (_folder, settings) = home(content);

            assert_eq!(opening_fault(&settings, false).await.state, CheckState::Warning);
        }
    }

    #[tokio::test]
    async fn overwritten_database_is_to_be_restored() {
        let (_folder, settings) = home(Some(&[0xa5; 8192]));

        let check = opening_fault(&settings, false).await;

        assert_eq!(check.state, CheckState::Wrong);
        assert!(check.found.starts_with("the database is damaged"), "{check}");
        assert!(check.advice.unwrap().contains("restore a backup"));
    }

    #[tokio::test]
    async fn replaced_database_of_a_running_server_is_not_opened() {
        let (folder, settings) = home(Some(&[0xa5; 8192]));

        let check = opening_fault(&settings, true).await;

        assert!(check.found.contains("removed or replaced"), "{check}");
        assert!(check.advice.unwrap().contains("back to where they were"));
        assert!(!folder.path().join("carrel.db-wal").exists());
    }
}
