//! Durable background work.

use crate::statement::Step;

/// Durable background work.
pub const STEP: Step = Step { name: "m0003_work", up: UP };

const UP: &str = r#"
CREATE TABLE job (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    subject UUID NOT NULL,
    state TEXT NOT NULL,
    priority SMALLINT NOT NULL,
    run_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    lease_token UUID,
    lease_until BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX job_due ON job (priority, run_at) WHERE state = 'queued';
CREATE INDEX job_lease ON job (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX job_waiting ON job (kind, subject) WHERE state = 'queued';
CREATE INDEX job_subject ON job (subject);
CREATE INDEX job_finished ON job (finished_at) WHERE state = 'done'
"#;
