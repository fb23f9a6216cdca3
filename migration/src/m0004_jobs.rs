//! Durable background work.

use crate::sql_migration::SqlMigration;

/// Creates the queue of jobs.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0004_jobs", &[JOB])
}

/// A subject has at most one running job, and at most one queued job of each kind. `subject` is an id of a table that depends on
/// the kind. A queued job with a `queue_position` is due: `job_due` orders all due jobs, `job_user_due` those of each user, and
/// `job_shared_due` those that serve all followers of a feed. `job_user_newest` has only those that may share a slot, those of a user by
/// their subjects, of which the newest has the largest id: so a batch finds the newest documents without the user's other jobs.
/// `job_deferred` finds queued jobs whose time comes. `job_given_up` lists the jobs that failed.
/// `job_user_pending` lists the jobs of a user that wait or run, and counts those of all users by track: it includes what the counts
/// compare, so that they do not read the jobs.
///
/// The kinds in `job_shared_due` are those of `JobKind::serves_all_followers`, and those in `job_user_newest` are those of
/// `JobKind::runs_in_batches`; tests of crate `jobs` compare them.
const JOB: &str = r#"
CREATE TABLE job (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    subject UUID NOT NULL,
    state TEXT NOT NULL,
    track SMALLINT NOT NULL DEFAULT 1,
    priority SMALLINT NOT NULL,
    queue_position BIGINT,
    run_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    progress INTEGER NOT NULL DEFAULT 0,
    lease_token UUID,
    lease_owner UUID,
    lease_until BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX job_lease ON job (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX job_queued ON job (kind, subject) WHERE state = 'queued';
CREATE INDEX job_subject ON job (subject);
CREATE INDEX job_finished ON job (finished_at) WHERE state = 'done';
CREATE INDEX job_given_up ON job (finished_at, id) WHERE state = 'given_up';
CREATE INDEX job_due ON job (track, priority, queue_position, id)
    WHERE state = 'queued' AND queue_position IS NOT NULL;
CREATE INDEX job_user_due ON job (track, priority, user_id, queue_position)
    WHERE state = 'queued' AND queue_position IS NOT NULL;
CREATE INDEX job_user_newest ON job (user_id, track, priority, subject)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND attempts = 0 AND crashes = 0 AND progress = 0
    AND kind IN ('process_text', 'index');
CREATE INDEX job_deferred ON job (run_at) WHERE state = 'queued' AND queue_position IS NULL;
CREATE UNIQUE INDEX job_running ON job (subject) WHERE state = 'running';
CREATE INDEX job_user_pending ON job (user_id, state, priority, run_at, kind, track, subject)
    WHERE state IN ('queued', 'running');
CREATE INDEX job_shared_due ON job (track, priority, queue_position)
    WHERE state = 'queued' AND queue_position IS NOT NULL AND kind IN ('fetch_feed', 'subscribe')
"#;
