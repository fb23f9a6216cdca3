//! Why a command could not be done, in words on stderr and a status that is not zero.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use actors::error::Error;

use crate::library_database::{ConnectError, LostDatabase};
use crate::log;
use crate::settings::SettingsError;

/// How long a service that failed waits for a reader of its last words.
const MAX_PRINT: Duration = Duration::from_secs(2);

/// See the file's head.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The service could not start, or ended badly.
    #[error("{}", chain(.0.as_ref()))]
    Service(Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be opened.
    #[error("could not open the database: {}", chain(.0.as_ref()))]
    Database(Box<dyn std::error::Error + Send + Sync>),
    /// The database is missing or empty, and there was one.
    #[error(transparent)]
    LostDatabase(#[from] LostDatabase),
    /// A file or folder is not to be had.
    #[error("could not {what} {}: {cause}", path.display())]
    Path {
        /// What was to be done with it.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// No account has this address.
    #[error("there is no account with the address {0}")]
    NoAccount(String),
    /// No key has this id.
    #[error("there is no key with this id; `carrel key list --user E` shows them")]
    NoKey,
    /// The account has no import of this id.
    #[error("the account has no import with this id; `carrel imports list --user E` shows them")]
    NoImport,
    /// There is no password, and nobody to ask for it.
    #[error("there is no terminal to ask for the password: give it on standard input, with --password-stdin")]
    NoTerminal,
    /// The password could not be read.
    #[error("could not read the password: {0}")]
    Password(#[source] io::Error),
    /// The two passwords that were typed are not the same.
    #[error("the two passwords are not the same")]
    PasswordsDiffer,
    /// The service's rules are against it.
    #[error("{}", words(.0))]
    Refused(#[from] Error),
    /// The models are not to be had as asked.
    #[error("could not {}", chain(.0.as_ref()))]
    Models(Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be imported, or not to its end.
    #[error("the import failed when {rows} rows were done: {why}")]
    NotImported {
        /// Rows that are done.
        rows: u64,
        /// Why it could not go on.
        why: String,
    },
    /// Somebody else decided of the import meanwhile.
    #[error("the import was paused or taken back when {rows} rows were done: see `carrel imports`")]
    TakenOver {
        /// Rows that are done.
        rows: u64,
    },
    /// An export could not be packed.
    #[error("the export failed: {0}")]
    NotExported(String),
    /// The system gives no room to work in.
    #[error("could not begin to work: {0}")]
    Runtime(#[source] io::Error),
    /// The report could not be put into JSON.
    #[error("could not write the report: {0}")]
    Written(#[source] serde_json::Error),
    /// stdout takes nothing.
    #[error("could not write to standard output: {0}")]
    Unsaid(#[source] io::Error),
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Lost(lost) => Self::LostDatabase(lost),
            ConnectError::Open(cause) => Self::Database(cause.into()),
        }
    }
}

impl Failure {
    /// Says it on stderr; the status of the process is a failure's.
    pub fn print(&self) -> ExitCode {
        let line = format!("carrel: {self}");
        // Where stderr is closed the status tells.
        let write = move || {
            let _ = writeln!(io::stderr(), "{line}");
        };
        if matches!(self, Self::Service(_)) {
            // The thread of the service's log may hold a stderr that nobody reads.
            log::run_bounded(MAX_PRINT, write);
        } else {
            write();
        }
        ExitCode::FAILURE
    }
}

/// An error of an operation for the one who runs the service: every fault, and the cause that clients are not shown.
pub fn words(error: &Error) -> String {
    if let Error::Invalid(invalid) = error {
        let faults = invalid.faults.iter().map(|fault| format!("{}: {}", fault.field, fault.reason));
        return faults.collect::<Vec<_>>().join("; ");
    }
    if let Error::ScopeNotAllowed(scopes) = error {
        let names = scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ");
        return format!("the plan of the account does not include {names}");
    }
    if let Error::Busy(_) = error {
        return "the database is busy: try again".to_owned();
    }
    if let Error::StorageFull = error {
        return "the disk of the database is full: free some space and try again".to_owned();
    }
    chain(error)
}

/// An error with its causes, each once.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let more = deeper.to_string();
        if !told.contains(&more) {
            told = format!("{told}: {more}");
        }
        cause = deeper.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use actors::error::{Fault, Invalid};
    use entity::scope::Scope;

    use super::*;

    #[test]
    fn every_fault_of_a_request_is_told() {
        let fault = |field: &str| Fault { field: field.to_owned(), reason: "must be given".to_owned() };
        let invalid = Error::Invalid(Invalid { faults: vec![fault("email"), fault("password")] });

        assert_eq!(words(&invalid), "email: must be given; password: must be given");
    }

    #[test]
    fn scopes_that_the_plan_lacks_are_named() {
        let refused = Error::ScopeNotAllowed(vec![Scope::AskLibrary, Scope::WriteNotes]);

        assert_eq!(words(&refused), "the plan of the account does not include ask:library, write:notes");
    }

    #[test]
    fn the_operator_sees_the_cause() {
        assert_eq!(
            words(&Error::internal("the disk is full")),
            "something went wrong inside: the disk is full"
        );
    }
}
