//! Why a command failed: a sentence on stderr, or one JSON object with `--json`, and an exit status that is not zero.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use errors::{Error, OperatorMessage};
use serde_json::json;
use values::cause::causes;

use crate::library_database::{ConnectError, LostDatabase};
use crate::log;
use crate::settings::SettingsError;

/// Time for which a failed server waits until its error is printed.
const MAX_PRINT: Duration = Duration::from_secs(2);

/// The code of a command line that cannot be understood.
const USAGE: &str = "USAGE";

/// Why a command failed. Its `Display` says what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A setting is unknown or invalid; names every such setting.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The server could not start, or ended with an error.
    #[error("{}", chain(.0.as_ref()))]
    Service(Box<dyn std::error::Error + Send + Sync>),
    /// The database could not be opened, such as because its server is down.
    #[error("{}", chain(.0))]
    Database(ConnectError),
    /// The database was lost: it is missing or empty.
    #[error(transparent)]
    LostDatabase(#[from] LostDatabase),
    /// There is no database yet, and this command creates none.
    #[error(
        "no Carrel database exists {place} (setting {setting}); set {variable} or pass --config FILE to use another place, or create \
         a database with `carrel serve`, `carrel migrate` or `carrel user add`"
    )]
    NoDatabase {
        /// Where the database was looked for, with the preposition.
        place: String,
        /// The setting that says where the database is.
        setting: &'static str,
        /// The environment variable that sets it.
        variable: String,
    },
    /// A file or folder cannot be read or written.
    #[error("could not {what} {}: {cause}", path.display())]
    Path {
        /// The action that failed, in the infinitive.
        what: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the operating system for it.
        #[source]
        cause: io::Error,
    },
    /// No account has this e-mail address.
    #[error("no account has the e-mail address {0}; `carrel user list` shows the accounts")]
    NoAccount(String),
    /// The command works for the only account, and there is none.
    #[error("no account exists; `carrel user add` creates one")]
    NoAccounts,
    /// The account was not named, and there are several.
    #[error("{0} accounts exist: name one with --user EMAIL (`carrel user list` shows them)")]
    SeveralAccounts(usize),
    /// An account with this e-mail address exists.
    #[error("an account with the e-mail address {0} exists already; `carrel user list` shows the accounts")]
    EmailTaken(String),
    /// No account has a key with this id.
    #[error("no key has this id; `carrel key list` shows the keys of an account")]
    NoKey,
    /// The account has no import of this id.
    #[error("the account has no import with this id; `carrel imports list` shows its imports")]
    NoImport,
    /// The account has no connected app of this id.
    #[error("the account has no connected app with this id; `carrel app list` shows its apps")]
    NoApp,
    /// The account has no project of this id.
    #[error("the account has no project with this id; `carrel project list` shows its projects")]
    NoProject,
    /// No account has a failed job with this id.
    #[error("no failed job has this id; `carrel jobs list` shows the failed jobs")]
    NoJob,
    /// No password was given, and there is no terminal to ask for it.
    #[error(
        "cannot ask for the password without a terminal; write it to standard input and pass --password-stdin"
    )]
    NoTerminal,
    /// The terminal or standard input failed while the password was read.
    #[error("could not read the password: {0}")]
    Password(#[source] io::Error),
    /// The two passwords that were typed differ.
    #[error("the two passwords differ; run the command again and type the same password twice")]
    PasswordsDiffer,
    /// There is no terminal to confirm a deletion on.
    #[error("cannot ask for confirmation without a terminal; pass --yes to delete without confirmation")]
    NoConfirmation,
    /// The confirmation could not be read.
    #[error("could not read the confirmation: {0}")]
    Confirmation(#[source] io::Error),
    /// The text that was typed does not confirm the deletion.
    #[error(
        "nothing was deleted, because you did not type the e-mail address of the account; run the command again to delete it"
    )]
    NotConfirmed,
    /// An operation was refused by its rules, or failed.
    #[error("{}", describe(.0))]
    Refused(#[from] Error),
    /// The models could not be fetched, found or imported.
    #[error("{}", chain(.0.as_ref()))]
    Models(Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be imported, or not to its end.
    #[error("the import failed after {rows} rows: {reason}")]
    NotImported {
        /// The rows of the file that were processed before.
        rows: u64,
        /// Why the import could not continue.
        reason: String,
    },
    /// The import was paused or undone while the command waited for it.
    #[error("the import was paused or undone after {rows} rows; see `carrel imports list`")]
    Interrupted {
        /// The rows of the file that were processed before.
        rows: u64,
    },
    /// The export could not be packed; the text is the reason.
    #[error("the export failed: {0}")]
    NotExported(String),
    /// A set of texts and queries could not be read or measured; the text is the reason.
    #[error("could not evaluate the set: {0}")]
    NotEvaluated(String),
    /// The index could not be moved.
    #[error("{}", chain(.0.as_ref()))]
    NotMoved(Box<dyn std::error::Error + Send + Sync>),
    /// The runtime of the command could not be started.
    #[error("could not start the asynchronous runtime: {0}")]
    Runtime(#[source] io::Error),
    /// The report could not be written as JSON.
    #[error("could not write the report: {0}")]
    ReportFailed(#[source] serde_json::Error),
    /// Standard output could not be written to, for another reason than a closed pipe.
    #[error("could not write to standard output: {0}")]
    OutputFailed(#[source] io::Error),
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Lost(lost) => Self::LostDatabase(lost),
            unopened @ ConnectError::Open { .. } => Self::Database(unopened),
        }
    }
}

impl Failure {
    /// Prints the failure on stderr, with `json` as one object, and returns the exit status.
    pub fn print(&self, json: bool) -> ExitCode {
        let line = if json { object(self.code(), &self.to_string()) } else { format!("carrel: {self}") };
        // If stderr is closed, only the status reports the failure.
        let write = move || {
            let _ = writeln!(io::stderr(), "{line}");
        };
        if matches!(self, Self::Service(_)) {
            // The thread of the log may hold stderr, and block because it is not read.
            log::run_bounded(MAX_PRINT, write);
        } else {
            write();
        }
        ExitCode::FAILURE
    }

    /// Returns the stable name of the failure, for programs. A refusal by the rules of an operation has the
    /// code of the REST API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "SETTINGS_INVALID",
            Self::Service(_) => "SERVICE_FAILED",
            Self::Database(_) => "DATABASE_UNAVAILABLE",
            Self::LostDatabase(_) => "DATABASE_LOST",
            Self::NoDatabase { .. } => "NO_DATABASE",
            Self::Path { .. } => "FILE_FAILED",
            Self::NoAccount(_) | Self::NoAccounts => "NO_ACCOUNT",
            Self::SeveralAccounts(_) => "ACCOUNT_REQUIRED",
            Self::EmailTaken(_) => "EMAIL_TAKEN",
            Self::NoKey | Self::NoImport | Self::NoApp | Self::NoProject | Self::NoJob => "NOT_FOUND",
            Self::NoTerminal | Self::Password(_) | Self::PasswordsDiffer => "PASSWORD_REQUIRED",
            Self::NoConfirmation | Self::Confirmation(_) | Self::NotConfirmed => "NOT_CONFIRMED",
            Self::Refused(error) => error.spec().code,
            Self::Models(_) => "MODELS_FAILED",
            Self::NotImported { .. } => "IMPORT_FAILED",
            Self::Interrupted { .. } => "IMPORT_INTERRUPTED",
            Self::NotExported(_) => "EXPORT_FAILED",
            Self::NotEvaluated(_) => "EVALUATION_FAILED",
            Self::NotMoved(_) => "INDEX_NOT_MOVED",
            Self::Runtime(_) | Self::ReportFailed(_) | Self::OutputFailed(_) => "INTERNAL",
        }
    }
}

/// Prints on stderr, as one JSON object, why the command line could not be parsed.
pub fn print_usage(error: &clap::Error) {
    let message = error.to_string();
    let message = message.trim_end();
    // If stderr is closed, only the status reports the failure.
    let _ = writeln!(io::stderr(), "{}", object(USAGE, message.strip_prefix("error: ").unwrap_or(message)));
}

/// Formats a failure for programs.
fn object(code: &str, message: &str) -> String {
    json!({ "error": { "code": code, "message": message } }).to_string()
}

/// Returns an error of an operation for the operator: every fault, and the cause that clients are not shown.
pub fn describe(error: &Error) -> String {
    if let Error::Invalid(invalid) = error {
        let faults = invalid.faults.iter().map(|fault| format!("{}: {}", fault.field, fault.reason));
        return faults.collect::<Vec<_>>().join("; ");
    }
    match error.spec().operator_message {
        OperatorMessage::OfClients => chain(error),
        OperatorMessage::Text(text) => text.to_owned(),
        OperatorMessage::Advice(advice) => with_advice(&error.to_string(), advice),
    }
}

/// Replaces the advice of a message for clients, which follows a semicolon.
fn with_advice(message: &str, advice: &str) -> String {
    let wrong = message.split_once("; ").map_or(message, |(wrong, _)| wrong);
    format!("{wrong}; {advice}")
}

/// Formats an error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        let cause = cause.to_string();
        // Many errors repeat their cause in their own text.
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use validation::{Fault, Invalid};
    use values::kind::KeyKind;
    use values::scope::Scope;

    use super::*;

    #[test]
    fn every_fault_of_a_request_is_printed() {
        let fault = |field: &str| Fault { field: field.to_owned(), reason: "must be given".to_owned() };
        let invalid = Error::Invalid(Invalid { faults: vec![fault("email"), fault("password")] });

        assert_eq!(describe(&invalid), "email: must be given; password: must be given");
    }

    #[test]
    fn scopes_that_the_plan_lacks_are_named() {
        let refused = Error::ScopeNotAllowed(vec![Scope::AskLibrary, Scope::WriteNotes]);

        assert_eq!(
            describe(&refused),
            "the plan of this account does not include the scopes: ask:library, write:notes; choose other scopes, or change the \
             plan with `carrel user set-plan`"
        );
    }

    #[test]
    fn plan_without_keys_of_a_kind_is_to_be_changed() {
        assert_eq!(
            describe(&Error::NoKeysInPlan(KeyKind::Rest)),
            "the plan of this account includes no keys of kind rest; change the plan with `carrel user set-plan`"
        );
    }

    #[test]
    fn message_of_a_full_library_names_bytes_and_the_setting() {
        assert_eq!(
            describe(&Error::LibraryFull { used: 9, limit: 8 }),
            "the library of this account is full: 9 of 8 bytes are used; delete something, change the plan with `carrel user \
             set-plan`, or raise the setting plans.PLAN.library_bytes"
        );
    }

    #[test]
    fn failure_as_json_is_one_object_with_its_code() {
        let failure = Failure::Refused(Error::conflict("a name is taken"));

        let written: serde_json::Value =
            serde_json::from_str(&object(failure.code(), &failure.to_string())).unwrap();

        assert_eq!(written, json!({ "error": { "code": "CONFLICT", "message": "a name is taken" } }));
    }

    #[test]
    fn message_of_a_full_disk_is_for_the_operator() {
        assert_eq!(
            describe(&Error::StorageFull),
            "a disk is full or has less than storage.min_free_bytes free; free some space and try again"
        );
    }

    #[test]
    fn cause_of_an_internal_error_is_printed() {
        assert_eq!(
            describe(&Error::internal("the disk is full")),
            "an internal error occurred: the disk is full"
        );
    }
}
