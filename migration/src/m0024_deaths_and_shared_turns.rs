//! Jobs count the processes that died with them by themselves, and work that serves many has turns of its own.

use crate::statement::Step;

/// The count, and the index of the turns.
pub const STEP: Step = Step { name: "m0024_deaths_and_shared_turns", up: UP };

const UP: &str = "
ALTER TABLE job ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_shared ON job (track, priority, turn)
    WHERE state = 'queued' AND turn IS NOT NULL AND kind IN ('poll', 'subscribe')
";
