//! The result of a row.

use std::collections::HashMap;

use uuid::Uuid;
use values::kind::ImportedKind;

use super::trace::RowTrace;

/// Why a line of an export is skipped that has none of the known shapes.
const UNKNOWN_RECORD: &str = "is not a line of an export that this version knows";
/// Why a line of an export is skipped whose bookmark, feed or project is missing.
const MISSING_PARENT: &str = "belongs to something that was not imported";

/// The outcome of a row.
#[derive(Debug)]
pub enum RowResult {
    /// The row created an object of this kind and id.
    Created(ImportedKind, Uuid, RowTrace),
    /// The object existed before the row.
    Updated(ImportedKind, Uuid, RowTrace),
    /// Nothing, because the row is faulty; the reason.
    Skipped(String),
    /// Nothing, because a limit of the plan is reached; the row is valid. The reason.
    OverPlan(String),
}

impl RowResult {
    /// Returns the result of a row whose object was created or existed before, with an empty trace.
    pub fn of(kind: ImportedKind, id: Uuid, is_created: bool) -> Self {
        let trace = RowTrace::default();
        if is_created { Self::Created(kind, id, trace) } else { Self::Updated(kind, id, trace) }
    }

    /// Returns the result of a line that has none of the shapes of an export's lines.
    pub fn unknown_record() -> Self {
        Self::Skipped(UNKNOWN_RECORD.to_owned())
    }

    /// Returns the result of a line that belongs to something that was not imported.
    pub fn missing_parent() -> Self {
        Self::Skipped(MISSING_PARENT.to_owned())
    }

    /// Replaces the trace, if there is an object.
    #[must_use]
    pub fn with_trace(self, trace: RowTrace) -> Self {
        match self {
            Self::Created(kind, id, _) => Self::Created(kind, id, trace),
            Self::Updated(kind, id, _) => Self::Updated(kind, id, trace),
            other @ (Self::Skipped(_) | Self::OverPlan(_)) => other,
        }
    }

    /// Adds its fingerprint to the trace of an object that was created.
    #[must_use]
    pub fn with_fingerprint(self, fingerprints: &HashMap<Uuid, String>) -> Self {
        match self {
            Self::Created(kind, id, trace) => {
                Self::Created(kind, id, RowTrace { fingerprint: fingerprints.get(&id).cloned(), ..trace })
            }
            other @ (Self::Updated(..) | Self::Skipped(_) | Self::OverPlan(_)) => other,
        }
    }

    /// Returns the object that was created or existed.
    pub fn object(&self) -> Option<(ImportedKind, Uuid)> {
        match self {
            Self::Created(kind, id, _) | Self::Updated(kind, id, _) => Some((*kind, *id)),
            Self::Skipped(_) | Self::OverPlan(_) => None,
        }
    }
}

/// A row that was applied or previewed.
pub struct ProcessedRow {
    /// The line of the file at which the row begins.
    pub line: i64,
    /// The id that the object of a line of an export had.
    pub source: Option<Uuid>,
    /// The name in the file, as it stands there. Its shown form is stored if the row has no object.
    pub name: Option<String>,
    /// The outcome of the row.
    pub result: RowResult,
    /// What else was created for the row: collections for its folders, a project for notes, highlights of its page.
    pub side_results: Vec<RowResult>,
}
