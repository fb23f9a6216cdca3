//! Answers that are being made, and what models of the whole service used in a day.

use sea_orm_migration::prelude::*;

use crate::statement;

/// Answers that are being made, and what models of the whole service used in a day.
pub struct Step;

impl MigrationName for Step {
    fn name(&self) -> &str {
        "m0010_answers"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Step {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        statement::run(manager, UP).await
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

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
