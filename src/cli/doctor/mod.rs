//! `carrel doctor`: looks at everything that the service stands on, and says what is wrong and what to do.

mod base_url;
mod check;
mod database;
mod disk;
mod feeds;
mod index;
mod jobs;
mod library_sizes;

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use library::context::CoreContext;
use clap::Args;
use sandbox::{Sandbox, SandboxCommand, SandboxSettings};
use serde::Serialize;

pub use self::check::Check;
use self::check::State;
use super::failure::Failure;
use super::models;
use super::output::CommandOutput;
use super::probe::{self, ServerAnswer, ServerState};
use crate::settings::{Settings, SettingsError};

/// What is done with what is found.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Correct what can be corrected without a loss: the counted bytes of libraries
    #[arg(long)]
    repair: bool,
}

/// Looks, and reports; the status is a failure's where something is wrong.
pub async fn run(
    args: DoctorArgs,
    settings: Result<Settings, SettingsError>,
) -> Result<CommandOutput, Failure> {
    let checks = match settings {
        Ok(settings) => all(&settings, args.repair).await,
        Err(error) => {
            vec![Check::wrong("settings", error.to_string(), "correct the settings that are named")]
        }
    };
    let report = Report { ok: checks.iter().all(|check| check.state != State::Wrong), checks };
    Ok(CommandOutput::of(&report)?.ended(report.ok))
}

async fn all(settings: &Settings, repairs: bool) -> Vec<Check> {
    let server = probe::ask(settings).await;
    let mut checks = vec![check_settings(settings), base_url::check(settings, &server).await];
    checks.push(check_folder(&settings.data_dir));
    checks.extend(disk::check(settings));
    match database::open(settings, server.storage.as_deref() == Some("removed")).await {
        Ok(core) => {
            checks.extend(database::check(&core, repairs).await);
            checks.push(index::check(settings, &core).await);
            checks.extend(check_work(&core, &server).await);
        }
        Err(told) => {
            let index = if told.state == State::Wrong {
                index::check_unopened(settings)
            } else {
                index::check_new(settings)
            };
            checks.extend([told, index]);
        }
    }
    checks.extend(models::check(settings));
    checks.push(check_sandbox().await);
    checks.push(check_server(settings, &server));
    checks
}

/// Looks at the background work, where the tables are up to date.
async fn check_work(core: &CoreContext, server: &ServerAnswer) -> Vec<Check> {
    if !matches!(core.db.pending_migrations().await, Ok(0)) {
        return Vec::new();
    }
    let server_running = matches!(server.found, ServerState::Ready | ServerState::NotReady);
    vec![jobs::check(core, server_running).await, feeds::check(core).await]
}

fn check_settings(settings: &Settings) -> Check {
    if let Err(error) = settings.refuse_unbuilt() {
        return Check::wrong("settings", error.to_string(), "leave the setting that is named empty");
    }
    let warnings = settings.warnings();
    if warnings.is_empty() {
        Check::good("settings", format!("the service is {}", settings.base_url(settings.server.listen)))
    } else {
        Check::warning("settings", warnings.join("; "), "set server.base_url to an https address")
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
                "the first start creates it",
            );
        }
        Err(cause) => {
            return Check::wrong(
                name,
                format!("could not read {}: {cause}", folder.display()),
                "give it to the user of the service",
            );
        }
    };
    if let Err(cause) = try_to_write(folder) {
        let found = format!("could not write to {}: {cause}", folder.display());
        return Check::wrong(name, found, "give it to the user of the service, or make room");
    }
    if rights & 0o077 != 0 {
        let found = format!("{} is readable by other users (mode {rights:03o})", folder.display());
        return Check::warning(name, found, format!("chmod 700 {}", folder.display()));
    }
    Check::good(name, format!("{} is the owner's alone and can be written", folder.display()))
}

/// Whether a file can be made there: rights, a full disk and a read-only mount all say no in their own words.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let trial = folder.join(format!(".doctor-{}", std::process::id()));
    let written = fs::write(&trial, b"carrel doctor");
    let removed = fs::remove_file(&trial);
    written.and(removed)
}

/// How the processes are held that read what strangers wrote.
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
        Ok(held) if held.missing.is_empty() => {
            Check::good(name, "pages and files are read in a confined process")
        }
        Ok(held) => {
            let missing: Vec<String> = held.missing.iter().map(ToString::to_string).collect();
            let found =
                format!("the process that reads pages and files goes without: {}", missing.join("; "));
            Check::warning(
                name,
                found,
                "a newer kernel, or a container that lets landlock and seccomp through",
            )
        }
        Err(cause) => Check::wrong(name, cause, "let the service start processes of its own program"),
    }
}

fn check_server(settings: &Settings, server: &ServerAnswer) -> Check {
    let (name, listen) = ("server", settings.server.listen);
    match server.found {
        ServerState::Ready => Check::good(name, format!("one runs on {listen} and is ready")),
        ServerState::NotReady => match server.storage.as_deref() {
            Some("damaged") => {
                let found =
                    format!("one runs on {listen} and takes no writes: it met damage in the database");
                let advice = "do what `database files` says of damage; if it finds none, the service takes writes again after a \
                              check of its own, which comes within five minutes, or at once after a restart";
                Check::warning(name, found, advice)
            }
            Some("removed") => {
                let found = format!("one runs on {listen} and takes no writes: its database was removed");
                Check::warning(name, found, "do what `database` says")
            }
            Some(_) | None => {
                let advice = format!("see what http://{listen}/readyz says, and the log");
                Check::warning(name, format!("one runs on {listen} and is not ready"), advice)
            }
        },
        ServerState::Stranger => {
            let found = format!("something else answers on {listen}");
            Check::wrong(name, found, "end it, or set server.listen to another address")
        }
        ServerState::Nobody => Check::good(name, format!("none runs on {listen}; `carrel serve` starts one")),
    }
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    checks: Vec<Check>,
}

impl fmt::Display for Report {
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
    fn a_folder_that_others_can_read_is_told_with_what_to_do() {
        let place = folder("open");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let open = check_folder(&place);
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        let own = check_folder(&place);
        fs::remove_dir_all(&place).unwrap();

        assert_eq!((open.state, own.state), (State::Warning, State::Good));
        assert_eq!(open.advice, Some(format!("chmod 700 {}", place.display())));
    }

    #[test]
    fn what_is_no_folder_is_wrong_and_a_missing_one_is_not() {
        let place = folder("file");
        let file = place.join("data");
        fs::write(&file, b"").unwrap();

        assert_eq!(check_folder(&file).state, State::Wrong);
        assert_eq!(check_folder(&place.join("none")).state, State::Warning);
        fs::remove_dir_all(&place).unwrap();
    }

    #[tokio::test]
    async fn wrong_settings_are_a_report_and_a_failure() {
        let unknown = [("CARREL__SERVER__NOPE".to_owned(), "1".to_owned())];
        let said =
            run(DoctorArgs { repair: false }, Settings::load(None, unknown.into_iter())).await.unwrap();

        assert!(format!("{said:?}").contains("server.nope"));
        assert!(!said.is_good());
    }
}
