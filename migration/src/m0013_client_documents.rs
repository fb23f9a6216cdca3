//! Applications that are named by the address of a document about themselves, and the service itself as one.

use sea_orm_migration::prelude::*;

use crate::statement;

/// The address of the document, when it was last read, and whether it is the service itself.
pub struct Step;

impl MigrationName for Step {
    fn name(&self) -> &str {
        "m0013_client_documents"
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
ALTER TABLE oauth_client ADD COLUMN document TEXT;
ALTER TABLE oauth_client ADD COLUMN document_read_at BIGINT;
ALTER TABLE oauth_client ADD COLUMN walk BOOLEAN NOT NULL DEFAULT FALSE;
CREATE UNIQUE INDEX oauth_client_document ON oauth_client (document)
";
