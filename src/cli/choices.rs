//! Parsers of command line values into their types, so that an invalid value is reported with the allowed ones.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use values::id::{GrantId, ImportId, JobId, KeyId, ProjectId};
use values::kind::{KeyKind, ProjectStatus, RowOutcome};
use values::plan::Plan;
use values::scope::Scope;
use values::time::Timestamp;

/// A plan by its name.
pub fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::name)).try_map(|name| name.parse::<Plan>())
}

/// A kind of key by its name.
pub fn key_kind() -> impl TypedValueParser<Value = KeyKind> {
    PossibleValuesParser::new(KeyKind::NAMES).try_map(|name| name.parse::<KeyKind>())
}

/// A scope by its name.
pub fn scope() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.iter().map(|scope| scope.name()))
        .try_map(|name| name.parse::<Scope>())
}

/// A time in RFC 3339 format.
pub fn time(text: &str) -> Result<Timestamp, &'static str> {
    Timestamp::parse(text).ok_or("expected a time like 2030-05-06T07:08:09Z")
}

/// The id of a key.
pub fn key_id(text: &str) -> Result<KeyId, &'static str> {
    text.parse().map_err(|_| "expected an id as `carrel key list` shows it")
}

/// The id of an import.
pub fn import_id(text: &str) -> Result<ImportId, &'static str> {
    text.parse().map_err(|_| "expected an id as `carrel imports list` shows it")
}

/// The id of a job.
pub fn job_id(text: &str) -> Result<JobId, &'static str> {
    text.parse().map_err(|_| "expected an id as `carrel jobs list` shows it")
}

/// The id of a connected app.
pub fn app_id(text: &str) -> Result<GrantId, &'static str> {
    text.parse().map_err(|_| "expected an id as `carrel app list` shows it")
}

/// The id of a project.
pub fn project_id(text: &str) -> Result<ProjectId, &'static str> {
    text.parse().map_err(|_| "expected an id as `carrel project list` shows it")
}

/// The status of a project by its name.
pub fn project_status() -> impl TypedValueParser<Value = ProjectStatus> {
    PossibleValuesParser::new(ProjectStatus::NAMES).try_map(|name| name.parse::<ProjectStatus>())
}

/// The outcome of a row by its name. `incidental` is left out, because no listed row has it.
pub fn outcome() -> impl TypedValueParser<Value = RowOutcome> {
    PossibleValuesParser::new(["created", "updated", "skipped"]).try_map(|name| name.parse::<RowOutcome>())
}
