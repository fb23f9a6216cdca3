//! A package of the Python index, fetched with the machine's own `pip` and its settings; never installed or run.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use super::{Digest, Package};

/// How `pip` may be called, in the order in which it is tried.
const PIPS: [&[&str]; 3] = [&["pip3"], &["pip"], &["python3", "-m", "pip"]];

/// Why a package did not come.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// There is no `pip` on this machine.
    #[error("pip is not installed")]
    NoPip,
    /// `pip` cannot be run.
    #[error("could not run pip")]
    Run(#[source] io::Error),
    /// `pip` gave up.
    #[error("pip could not download {package}: {said}")]
    Pip {
        /// Name and version.
        package: String,
        /// The last error that it wrote.
        said: String,
    },
    /// What came cannot be read.
    #[error("could not read the files that pip downloaded")]
    Read(#[source] io::Error),
    /// What came is another archive.
    #[error("the SHA-256 of {package} is {found}, which is not the expected one")]
    Digest {
        /// Name and version.
        package: String,
        /// What it is instead.
        found: Digest,
    },
}

/// Downloads a package's archive into the empty folder `into`, and checks it.
pub(super) async fn fetch(package: &Package, into: &Path) -> Result<PathBuf, PackageError> {
    let named = format!("{}=={}", package.name, package.version);
    let mut said = None;
    for pip in PIPS {
        match run(pip, &named, into).await? {
            Outcome::Done => return archive(package, named, into),
            Outcome::Failed(error) => said = Some(error),
            Outcome::Absent => {}
        }
    }
    Err(said.map_or(PackageError::NoPip, |said| PackageError::Pip { package: named, said }))
}

enum Outcome {
    Done,
    Failed(String),
    Absent,
}

async fn run(pip: &[&str], named: &str, into: &Path) -> Result<Outcome, PackageError> {
    let [program, first @ ..] = pip else { return Ok(Outcome::Absent) };
    let mut command = Command::new(program);
    command.args(first).args([
        "download",
        "--no-deps",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
    ]);
    // A source package would be built, that is, run.
    command.args(["--only-binary", ":all:", "--no-cache-dir", "--dest"]).arg(into).arg(named);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    match command.output().await {
        Ok(done) if done.status.success() => Ok(Outcome::Done),
        Ok(failed) => Ok(Outcome::Failed(last_error(&failed.stderr, failed.status))),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Outcome::Absent),
        Err(cause) => Err(PackageError::Run(cause)),
    }
}

/// The last line in which `pip` names an error: the others may name addresses of the machine's settings.
fn last_error(said: &[u8], status: std::process::ExitStatus) -> String {
    let said = String::from_utf8_lossy(said);
    let error = said.lines().rev().find_map(|line| line.strip_prefix("ERROR: "));
    error.map_or_else(|| status.to_string(), |error| error.trim().to_owned())
}

fn archive(package: &Package, named: String, into: &Path) -> Result<PathBuf, PackageError> {
    let mut files = std::fs::read_dir(into).map_err(PackageError::Read)?;
    let file = files.next().ok_or_else(|| PackageError::Read(io::ErrorKind::NotFound.into()))?;
    let path = file.map_err(PackageError::Read)?.path();
    match Digest::of(&path).map_err(PackageError::Read)? {
        found if found == package.sha256 => Ok(path),
        found => Err(PackageError::Digest { package: named, found }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn only_the_error_of_pip_is_told() {
        let status = std::process::ExitStatus::from_raw(256);
        let said = b"Looking in indexes: https://name:word@index.example\nERROR: No matching distribution found for x==1\n";

        assert_eq!(last_error(said, status), "No matching distribution found for x==1");
        assert_eq!(last_error(b"https://name:word@index.example", status), status.to_string());
    }
}
