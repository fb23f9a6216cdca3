//! What is being made of a library is listed for its person.

use crate::statement::Step;

/// The work of a user that waits or is done.
pub const STEP: Step = Step { name: "m0020_work_under_way", up: UP };

const UP: &str = "
CREATE INDEX job_under_way ON job (user_id, state) WHERE state IN ('queued', 'running')
";
