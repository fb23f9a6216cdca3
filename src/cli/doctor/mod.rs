//! `carrel doctor`: checks everything that the server depends on, and reports faults with advice.

mod base_url;
mod check;
mod database;
mod disk;
mod embedding;
mod feeds;
mod files;
mod folders;
mod index;
mod index_server;
mod jobs;
mod mail;
mod models;
mod server;
mod stored_counts;

use std::fmt;
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
    /// Correct the stored sizes and counters of libraries
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
    let server = probe::ask(settings).await.with_data_dir(&settings.data_dir);
    let mut checks = vec![check_settings(settings, config), base_url::check(settings, &server).await];
    checks.push(folders::check_data_dir(&settings.data_dir));
    checks.push(files::check(settings).await);
    checks.extend(disk::check(settings, &server));
    match database::open_database(settings, server.storage.as_deref() == Some("removed")).await {
        Ok(core) => {
            checks.extend(database::check(&core, repairs).await);
            checks.push(match &settings.vectors.url {
                Some(url) => index_server::check(&settings.vectors, url, server.index.as_ref()).await,
                None => index::check(settings, &core, &server).await,
            });
            checks.extend(check_work(&core, &server).await);
        }
        Err(database) => {
            let index = if let Some(url) = &settings.vectors.url {
                index_server::check(&settings.vectors, url, None).await
            } else if database.state == CheckState::Wrong {
                index::check_unopened(settings)
            } else {
                index::check_new(settings)
            };
            checks.extend([database, index]);
        }
    }
    checks.extend(mail::check(settings));
    checks.extend(models::check(settings, is_running(&server)));
    checks.extend(embedding::check(settings).await);
    checks.push(check_sandbox().await);
    checks.push(server::check(settings, &server));
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
        Check::warning("settings", found, "use https URLs")
    }
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

    #[tokio::test]
    async fn wrong_settings_are_a_report_and_a_failure() {
        let unknown = [("CARREL__SERVER__NOPE".to_owned(), "1".to_owned())];
        let output =
            run(DoctorArgs { repair: false }, None, Settings::load(None, unknown.into_iter())).await.unwrap();

        assert!(format!("{output:?}").contains("server.nope"));
        assert!(!output.is_good());
    }
}
