//! Answers that are being made, and what models of the whole service used in a day.

use crate::statement::Step;

/// Answers that are being made, and what models of the whole service used in a day.
pub const STEP: Step = Step { name: "m0010_answers", up: UP };

const UP: &str = r#"
CREATE TABLE answer_claim (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    month INTEGER NOT NULL,
    lease_until BIGINT NOT NULL
);
CREATE INDEX answer_claim_user ON answer_claim (user_id);
CREATE INDEX answer_claim_lease ON answer_claim (lease_until);

CREATE TABLE ai_day (
    day INTEGER PRIMARY KEY,
    tokens BIGINT NOT NULL
)
"#;
