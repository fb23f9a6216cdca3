//! How much of a recording its transcriber did not take: told beside what was heard of the rest.

use crate::statement::Step;

/// Samples of it.
pub const STEP: Step = Step { name: "m0027_refused_windows", up: UP };

const UP: &str = "
ALTER TABLE transcript ADD COLUMN refused_samples BIGINT NOT NULL DEFAULT 0
";
