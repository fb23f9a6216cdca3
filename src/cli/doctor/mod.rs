//! `carrel doctor`: checks everything that the server depends on, and reports faults with advice.

mod base_url;
mod check;
mod database;
mod disk;
mod feeds;
mod index;
mod jobs;
mod library_sizes;
mod models;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, absolute};

use clap::Args;
use library::context::CoreContext;
use sandbox::{Sandbox, SandboxCommand, SandboxSettings};
use serde::Serialize;

use self::check::{Check, CheckState};
use super::failure::Failure;
use super::output::CommandOutput;
use super::probe::{self, ServerProbe, ServerState};
use crate::settings::{Settings, SettingsError};

/// The arguments of `carrel doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Correct the stored sizes of libraries
    #[arg(long)]
    repair: bool,
}

/// Checks everything and reports. The exit status is that of a failure if something is wrong. `config` is the settings file.
pub async fn run(
    args: DoctorArgs,
    config: Option<&Path>,
    settings: Result<Settings, SettingsError>,
) -> Result<CommandOutput, Failure> {
    let checks = match settings {
        Ok(settings) => check_all(&settings, config, args.repair).await,
        Err(error) => {
            vec![Check::wrong("settings", error.to_string(), "correct these settings")]
        }
    };
    let report = DoctorReport { ok: checks.iter().all(|check| check.state != CheckState::Wrong), checks };
    Ok(CommandOutput::of(&report)?.with_success(report.ok))
}

async fn check_all(settings: &Settings, config: Option<&Path>, repairs: bool) -> Vec<Check> {
    // First, because what a running server reports decides how the disk, the database and the index are judged.
    let server = probe::ask(settings).await;
    let mut checks = vec![check_settings(settings, config), base_url::check(settings, &server).await];
    checks.push(check_folder(&settings.data_dir));
    checks.extend(disk::check(settings, &server));
    match database::open_database(settings, server.storage.as_deref() == Some("removed")).await {
        Ok(core) => {
            checks.extend(database::check(&core, repairs).await);
            checks.push(index::check(settings, &core, &server).await);
            checks.extend(check_work(&core, &server).await);
        }
        Err(database) => {
            let index = if database.state == CheckState::Wrong {
                index::check_unopened(settings)
            } else {
                index::check_new(settings)
            };
            checks.extend([database, index]);
        }
    }
    checks.extend(models::check(settings, is_running(&server)));
    checks.push(check_sandbox().await);
    checks.push(check_server(settings, &server));
    checks
}

/// Checks the background work, if the tables are up to date.
async fn check_work(core: &CoreContext, server: &ServerProbe) -> Vec<Check> {
    // The queries of these checks need the tables of this version.
    if !matches!(core.db.pending_migrations().await, Ok(0)) {
        return Vec::new();
    }
    vec![jobs::check(core, is_running(server)).await, feeds::check(core).await]
}

fn is_running(server: &ServerProbe) -> bool {
    matches!(server.state, ServerState::Ready | ServerState::NotReady)
}

fn check_settings(settings: &Settings, config: Option<&Path>) -> Check {
    if let Err(error) = settings.refuse_unbuilt() {
        return Check::wrong("settings", error.to_string(), "leave this setting empty");
    }
    // Absolute, so that the operator sees whether these are the settings and the data of the server.
    let full = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
    let source =
        config.map_or_else(|| "no settings file".to_owned(), |file| format!("settings of {}", full(file)));
    let place = format!("{source}; data_dir is {}", full(&settings.data_dir));
    let warnings = settings.warnings();
    if warnings.is_empty() {
        let url = settings.base_url(settings.server.listen);
        Check::good("settings", format!("{place}; the URL of the server is {url}"))
    } else {
        let found = format!("{place}; {}", warnings.join("; "));
        Check::warning("settings", found, "set server.base_url to an https URL")
    }
}

fn check_folder(folder: &Path) -> Check {
    let name = "data folder";
    let rights = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => found.permissions().mode() & 0o777,
        Ok(_) => {
            return Check::wrong(
                name,
                format!("{} is not a folder", folder.display()),
                "set data_dir to a folder",
            );
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Check::warning(
                name,
                format!("{} does not exist yet (setting data_dir)", folder.display()),
                "the server creates it at its first start",
            );
        }
        Err(cause) => {
            return Check::wrong(
                name,
                format!("could not read {}: {cause}", folder.display()),
                "make it readable and writable by the user that runs the server (`chown`)",
            );
        }
    };
    if let Err(cause) = try_to_write(folder) {
        let found = format!("could not write to {}: {cause}", folder.display());
        let advice = "make it writable by the user that runs the server (`chown`), or free some space";
        return Check::wrong(name, found, advice);
    }
    if rights & 0o077 != 0 {
        let found = format!("{} is accessible to other users (mode {rights:03o})", folder.display());
        return Check::warning(name, found, format!("run `chmod 700 {}`", folder.display()));
    }
    Check::good(name, format!("{} is writable, and accessible only to its owner", folder.display()))
}

/// Creates a file in the folder and removes it: permissions, a full disk and a read-only mount each fail with a different error.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".doctor-{}", std::process::id()));
    let written = fs::write(&trial, b"carrel doctor");
    // Removed even if only a part of it could be written.
    let removed = fs::remove_file(&trial);
    written.and(removed)
}

/// Checks the confinement of the processes that parse pages and files.
async fn check_sandbox() -> Check {
    let name = "sandbox";
    let started = match SandboxCommand::this_program() {
        Ok(command) => Sandbox::new(command, SandboxSettings::default())
            .confinement()
            .await
            .map_err(|cause| cause.to_string()),
        Err(cause) => Err(cause.to_string()),
    };
    match started {
        Ok(confinement) if confinement.missing.is_empty() => {
            Check::good(name, "pages and files are parsed in a confined process")
        }
        Ok(confinement) => {
            let missing: Vec<String> = confinement.missing.iter().map(ToString::to_string).collect();
            let found = format!(
                "the confinement of the process that parses pages and files lacks: {}",
                missing.join("; ")
            );
            Check::warning(name, found, "use a newer kernel, or a container that allows landlock and seccomp")
        }
        Err(cause) => {
            Check::wrong(name, cause, "allow the server to start its own program as a child process")
        }
    }
}

fn check_server(settings: &Settings, server: &ServerProbe) -> Check {
    let (name, listen) = ("server", settings.server.listen);
    match server.state {
        ServerState::Ready => Check::good(name, format!("a server runs on {listen} and is ready")),
        ServerState::NotReady => match server.storage.as_deref() {
            Some("damaged") => {
                let found = format!("the server on {listen} refuses writes: it found damage in the database");
                let advice = "follow the advice of `database files`; if that check found no damage, the server accepts writes \
                              again after its own next check, within five minutes, or after a restart";
                Check::warning(name, found, advice)
            }
            Some("removed") => {
                let found = format!("the server on {listen} refuses writes: its database was removed");
                Check::warning(name, found, "follow the advice of `database`")
            }
            Some(_) | None => {
                let advice = format!("see http://{listen}/readyz and the log");
                Check::warning(name, format!("the server on {listen} is not ready"), advice)
            }
        },
        ServerState::OtherProgram => {
            let found = format!("another program answers on {listen}");
            Check::wrong(name, found, "stop that program, or set server.listen to another address")
        }
        ServerState::NotRunning => {
            Check::good(name, format!("no server runs on {listen}; `carrel serve` starts one"))
        }
    }
}

#[derive(Serialize)]
struct DoctorReport {
    ok: bool,
    checks: Vec<Check>,
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checks.iter().try_for_each(|check| writeln!(f, "{check}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> std::path::PathBuf {
        let place = std::env::temp_dir().join(format!("carrel-doctor-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        place
    }

    #[test]
    fn folder_that_others_can_read_is_a_warning_with_advice() {
        let place = folder("open");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let open = check_folder(&place);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        let own = check_folder(&place);
        fs::remove_dir_all(&place).unwrap();

        assert_eq!((open.state, own.state), (CheckState::Warning, CheckState::Good));
        assert_eq!(open.advice, Some(format!("run `chmod 700 {}`", place.display())));
    }

    #[test]
    fn folder_that_is_a_file_is_wrong_and_a_missing_one_is_not() {
        let place = folder("file");
        let file = place.join("data");
        fs::write(&file, b"").unwrap();

        assert_eq!(check_folder(&file).state, CheckState::Wrong);
        assert_eq!(check_folder(&place.join("none")).state, CheckState::Warning);
        fs::remove_dir_all(&place).unwrap();
    }

    #[tokio::test]
    async fn wrong_settings_are_a_report_and_a_failure() {
        let unknown = [("CARREL__SERVER__NOPE".to_owned(), "1".to_owned())];
        let output =
            run(DoctorArgs { repair: false }, None, Settings::load(None, unknown.into_iter())).await.unwrap();

        assert!(format!("{output:?}").contains("server.nope"));
        assert!(!output.is_good());
    }
}
