//! Work takes turns: no user's backlog holds up another's.

use crate::statement::Step;

/// Work takes turns: no user's backlog holds up another's.
pub const STEP: Step = Step { name: "m0004_turns", up: UP };

// What waits already gets its turn like work that was put back: when it is looked for. Where two leases of one subject
// stand side by side, the later job waits again, or is done with where the same work waits already.
const UP: &str = r#"
ALTER TABLE job ADD COLUMN track SMALLINT NOT NULL DEFAULT 1;
ALTER TABLE job ADD COLUMN turn BIGINT;
ALTER TABLE job ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
UPDATE job SET track = 0 WHERE kind = 'page';
UPDATE job SET state = 'queued' WHERE state = 'running'
    AND EXISTS (SELECT 1 FROM job AS other WHERE other.state = 'running' AND other.subject = job.subject AND other.id < job.id)
    AND NOT EXISTS (SELECT 1 FROM job AS same WHERE same.state = 'queued' AND same.subject = job.subject AND same.kind = job.kind);
UPDATE job SET state = 'done', finished_at = created_at WHERE state = 'running'
    AND EXISTS (SELECT 1 FROM job AS other WHERE other.state = 'running' AND other.subject = job.subject AND other.id < job.id);
DROP INDEX job_due;
CREATE INDEX job_due ON job (track, priority, turn, id) WHERE state = 'queued' AND turn IS NOT NULL;
CREATE INDEX job_own ON job (user_id, track, priority, turn) WHERE state = 'queued' AND turn IS NOT NULL;
CREATE INDEX job_later ON job (run_at) WHERE state = 'queued' AND turn IS NULL;
CREATE UNIQUE INDEX job_running ON job (subject) WHERE state = 'running'
"#;
