//! Requests: counters of limits and budgets, answers in progress, and responses stored for Idempotency-Keys.

use crate::sql_migration::SqlMigration;

/// Creates the counters of limits and budgets, and the table of stored responses.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0009_requests", &[USAGE_DAY, USAGE_MONTH, AI_DAY, ANSWER_CLAIM, IDEMPOTENCY])
}

/// `day` is counted from 1970-01-01, in UTC. `usage_day_day` serves the read of the current day's counters of all users, and the
/// deletion of old days.
///
/// `counter_id` is part of the key, so that each counter in the memory of a process has a separate row, which it writes with
/// absolute numbers. When the answer to a COMMIT is lost, the row is written again and counts once. In a row that several counters
/// share, each would have to add its calls, and a repeated write would count them twice.
const USAGE_DAY: &str = r#"
CREATE TABLE usage_day (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    surface TEXT NOT NULL,
    counter_id UUID NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (user_id, day, surface, counter_id)
);
CREATE INDEX usage_day_day ON usage_day (day)
"#;

/// `month` is counted from January 1970, in UTC.
const USAGE_MONTH: &str = r#"
CREATE TABLE usage_month (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    month INTEGER NOT NULL,
    budget_group TEXT NOT NULL,
    times BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (user_id, month, budget_group)
)
"#;

const AI_DAY: &str = "
CREATE TABLE ai_day (
    day INTEGER PRIMARY KEY,
    tokens BIGINT NOT NULL
)
";

const ANSWER_CLAIM: &str = r#"
CREATE TABLE answer_claim (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    month INTEGER NOT NULL,
    lease_until BIGINT NOT NULL
);
CREATE INDEX answer_claim_user ON answer_claim (user_id);
CREATE INDEX answer_claim_lease ON answer_claim (lease_until)
"#;

/// `idempotency_body` finds the oldest stored responses of a user, whose number and bytes are bounded.
const IDEMPOTENCY: &str = r#"
CREATE TABLE idempotency (
    key_id UUID NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
    idempotency_key_hash BYTES NOT NULL,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    request_hash BYTES NOT NULL,
    status SMALLINT,
    body TEXT,
    is_committed BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    PRIMARY KEY (key_id, idempotency_key_hash)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
CREATE INDEX idempotency_user ON idempotency (user_id, created_at);
CREATE INDEX idempotency_body ON idempotency (user_id, created_at) WHERE body IS NOT NULL
"#;
