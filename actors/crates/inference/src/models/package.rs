//! Downloads a package of the Python index with the installed `pip` and its configuration. It is never installed or run.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use super::catalogue::Package;
use super::digest::Digest;

/// Commands for `pip`, in the order in which they are tried.
const PIP_COMMANDS: [&[&str]; 3] = [&["pip3"], &["pip"], &["python3", "-m", "pip"]];

/// Why a package was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// None of the commands for `pip` is installed.
    #[error("pip is not installed; install it, as with `apt install python3-pip`")]
    NoPip,
    /// A command for `pip` exists, but cannot be started.
    #[error("could not run pip")]
    Run(#[source] io::Error),
    /// `pip` ended with an error, such as a version that the index does not have.
    #[error("pip could not download {package}: {message}")]
    Pip {
        /// The package as `pip` takes it: `name==version`.
        package: String,
        /// The last error line of `pip`, or its exit status.
        message: String,
    },
    /// The downloaded files cannot be read.
    #[error("could not read the files that pip downloaded")]
    Read(#[source] io::Error),
    /// The downloaded archive has another digest.
    #[error("the SHA-256 of {package} is {found}, which is not the expected one")]
    Digest {
        /// The package as `pip` takes it: `name==version`.
        package: String,
        /// SHA-256 of the archive that `pip` downloaded.
        found: Digest,
    },
}

/// Downloads the archive of a package into the empty folder `into` and verifies its digest.
pub(super) async fn fetch(package: &Package, into: &Path) -> Result<PathBuf, PackageError> {
    let requirement = format!("{}=={}", package.name, package.version);
    let mut message = None;
    for pip in PIP_COMMANDS {
        match run(pip, &requirement, into).await? {
            PipOutcome::Success => return archive(package, requirement, into),
            PipOutcome::Failure(error) => message = Some(error),
            PipOutcome::NotInstalled => {}
        }
    }
    Err(message.map_or(PackageError::NoPip, |message| PackageError::Pip { package: requirement, message }))
}

enum PipOutcome {
    Success,
    Failure(String),
    NotInstalled,
}

async fn run(pip: &[&str], requirement: &str, into: &Path) -> Result<PipOutcome, PackageError> {
    let [program, first @ ..] = pip else { return Ok(PipOutcome::NotInstalled) };
    let mut command = Command::new(program);
    command.args(first).args([
        "download",
        "--no-deps",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
    ]);
    // Without --only-binary pip would build a source package, which runs its code.
    command.args(["--only-binary", ":all:", "--no-cache-dir", "--dest"]).arg(into).arg(requirement);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    match command.output().await {
        Ok(output) if output.status.success() => Ok(PipOutcome::Success),
        Ok(output) => Ok(PipOutcome::Failure(last_error(&output.stderr, output.status))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(PipOutcome::NotInstalled),
        Err(cause) => Err(PackageError::Run(cause)),
    }
}

/// Returns the last error line of `pip`. Other lines are omitted, because they may contain URLs with credentials from its
/// configuration.
fn last_error(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let error = stderr.lines().rev().find_map(|line| line.strip_prefix("ERROR: "));
    error.map_or_else(|| status.to_string(), |error| error.trim().to_owned())
}

fn archive(package: &Package, requirement: String, into: &Path) -> Result<PathBuf, PackageError> {
    let mut files = std::fs::read_dir(into).map_err(PackageError::Read)?;
    let file = files.next().ok_or_else(|| PackageError::Read(io::ErrorKind::NotFound.into()))?;
    let path = file.map_err(PackageError::Read)?.path();
    // The configured index may be any server, so only the digest shows that this is the package of the catalogue.
    match Digest::of_file(&path).map_err(PackageError::Read)? {
        found if found == package.sha256 => Ok(path),
        found => Err(PackageError::Digest { package: requirement, found }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn pip_output_is_reduced_to_its_error_line() {
        let status = std::process::ExitStatus::from_raw(256);
        let stderr = b"Looking in indexes: https://name:word@index.example\nERROR: No matching distribution found for x==1\n";

        assert_eq!(last_error(stderr, status), "No matching distribution found for x==1");
        assert_eq!(last_error(b"https://name:word@index.example", status), status.to_string());
    }
}
