//! Adds the owner to stored idempotent answers, which are counted and bounded by account, and records whether the request of a
//! claim without an answer has committed a change.

use crate::statement::Step;

/// The columns, the owner's foreign key, and indexes by owner and age.
pub const STEP: Step = Step { name: "m0028_stored_answer_owner", up: UP };

// SQLite adds no column that is NOT NULL and has no default, so the table is made anew.
const UP: &str = r#"
CREATE TABLE idempotency_with_owner (
    key_id UUID NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
    name_hash BYTES NOT NULL,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    request_hash BYTES NOT NULL,
    status SMALLINT,
    body TEXT,
    committed BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    running_at BIGINT NOT NULL,
    PRIMARY KEY (key_id, name_hash)
);
INSERT INTO idempotency_with_owner
    (key_id, name_hash, user_id, request_hash, status, body, created_at, running_at)
SELECT answer.key_id, answer.name_hash, api_key.user_id, answer.request_hash,
    answer.status, answer.body, answer.created_at, answer.running_at
FROM idempotency AS answer JOIN api_key ON api_key.id = answer.key_id;
DROP TABLE idempotency;
ALTER TABLE idempotency_with_owner RENAME TO idempotency;
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX idempotency_user ON idempotency (user_id, created_at);
CREATE INDEX idempotency_body ON idempotency (user_id, created_at) WHERE body IS NOT NULL
"#;
