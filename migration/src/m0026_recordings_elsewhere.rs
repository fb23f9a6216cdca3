//! A document whose recording stands at another address than its own: behind a page that sends its readers on, or beside an
//! episode of a feed that was left.

use crate::statement::Step;

/// Where that is.
pub const STEP: Step = Step { name: "m0026_recordings_elsewhere", up: UP };

const UP: &str = "
ALTER TABLE document ADD COLUMN recording_url TEXT
";
