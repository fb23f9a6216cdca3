//! What is under way says so from time to time: bytes of an upload that come, and a request whose answer an
//! Idempotency-Key will stand for. What says nothing any more has died.

use sea_orm_migration::prelude::*;

use crate::statement;

/// Two columns of signs of life.
pub struct Step;

impl MigrationName for Step {
    fn name(&self) -> &str {
        "m0012_under_way"
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

const UP: &str = "
ALTER TABLE upload ADD COLUMN receiving_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE idempotency ADD COLUMN running_at BIGINT NOT NULL DEFAULT 0;
UPDATE idempotency SET running_at = created_at
";
