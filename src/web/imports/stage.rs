//! How far an import is, as its page shows it.

use actors::operations::imports::ImportView;
use values::kind::ImportState;

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStage {
    /// The file is read for the preview.
    Reading,
    /// The preview is ready.
    Preview,
    /// The file could not be read for a preview.
    Unreadable,
    /// Rows are being imported.
    Running,
    /// It is paused, with the fetching of its pages.
    Paused,
    /// All rows were imported.
    Done,
    /// It stopped before the end.
    Failed,
    /// What it created is being deleted.
    Undoing,
    /// Its undo stopped before the end.
    HalfUndone,
    /// It was undone.
    Undone,
}

impl ImportStage {
    /// Returns how far an import is.
    pub fn of(import: &ImportView) -> Self {
        match (import.status, import.dry_run) {
            (ImportState::Running, true) => Self::Reading,
            (ImportState::Running, false) => Self::Running,
            (ImportState::DryRunDone, _) => Self::Preview,
            (ImportState::Failed, true) => Self::Unreadable,
            (ImportState::Failed, false) => Self::Failed,
            (ImportState::Paused, _) => Self::Paused,
            (ImportState::Done, _) => Self::Done,
            (ImportState::Undoing, _) => Self::Undoing,
            (ImportState::HalfUndone, _) => Self::HalfUndone,
            (ImportState::Undone, _) => Self::Undone,
        }
    }

    /// Returns the key of its name in a list.
    pub fn key(self) -> &'static str {
        match self {
            Self::Reading => "import-stage-reading",
            Self::Preview => "import-stage-preview",
            Self::Unreadable => "import-stage-unreadable",
            Self::Running => "import-stage-running",
            Self::Paused => "import-stage-paused",
            Self::Done => "import-stage-done",
            Self::Failed => "import-stage-failed",
            Self::Undoing => "import-stage-undoing",
            Self::HalfUndone => "import-stage-half-undone",
            Self::Undone => "import-stage-undone",
        }
    }

    /// Returns the class of its state.
    pub fn class(self) -> &'static str {
        match self {
            Self::Done => "is-success",
            Self::Unreadable | Self::Failed | Self::HalfUndone => "is-error",
            Self::Paused => "is-warning",
            Self::Reading | Self::Preview | Self::Running | Self::Undoing | Self::Undone => "",
        }
    }

    /// Returns whether it changes by itself.
    pub fn is_moving(self) -> bool {
        match self {
            Self::Reading | Self::Running | Self::Undoing => true,
            Self::Preview
            | Self::Unreadable
            | Self::Paused
            | Self::Done
            | Self::Failed
            | Self::HalfUndone
            | Self::Undone => false,
        }
    }

    /// Returns the number of the step of four that is current: file, preview, import, report.
    pub fn step(self) -> u8 {
        match self {
            Self::Reading | Self::Unreadable => 1,
            Self::Preview => 2,
            Self::Running | Self::Paused | Self::Failed => 3,
            Self::Done | Self::Undoing | Self::HalfUndone | Self::Undone => 4,
        }
    }

    /// Returns whether it can be paused.
    pub fn can_pause(self, has_waiting_pages: bool) -> bool {
        self == Self::Running || (self == Self::Done && has_waiting_pages)
    }

    /// Returns whether it can be resumed.
    pub fn can_resume(self) -> bool {
        matches!(self, Self::Paused | Self::Failed)
    }

    /// Returns whether it can be undone.
    pub fn can_undo(self) -> bool {
        matches!(self, Self::Paused | Self::Done | Self::Failed | Self::HalfUndone)
    }
}
