//! The bookmark of a document is found without looking at all of them: a removal asks for each document.

use sea_orm_migration::prelude::*;

use crate::statement;

/// An index of the documents that bookmarks name.
pub struct Step;

impl MigrationName for Step {
    fn name(&self) -> &str {
        "m0011_bookmark_document"
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

const UP: &str = "CREATE INDEX bookmark_of_document ON bookmark (document_id)";
