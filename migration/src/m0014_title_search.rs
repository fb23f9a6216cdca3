//! The search of titles, and the copies by which lists of bookmarks are ordered and filtered ([`crate::title_search`]). It comes after
//! the tables that they copy.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::sql_migration::{lift_timeouts, recorded_name};
use crate::title_search::{POSTGRES, POSTGRES_EXTENSIONS, SQLITE};

/// The index of titles and the triggers.
pub struct TitleSearchMigration {
    name: String,
}

/// Creates the index of titles and the triggers. The recorded name depends on the statements of both databases.
pub fn migration() -> TitleSearchMigration {
    let sql = [SQLITE, POSTGRES_EXTENSIONS, POSTGRES].concat();
    TitleSearchMigration { name: recorded_name("m0014_title_search", sql) }
}

impl MigrationName for TitleSearchMigration {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for TitleSearchMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        lift_timeouts(manager).await?;
        let db = manager.get_connection();
        let is_postgres = db.get_database_backend() == DatabaseBackend::Postgres;
        if is_postgres {
            for statement in POSTGRES_EXTENSIONS {
                db.execute_unprepared(statement).await.map_err(|cause| refused_extension(&cause))?;
            }
        }
        // One by one and not through `run`: a trigger contains `;`.
        for statement in if is_postgres { POSTGRES } else { SQLITE } {
            db.execute_unprepared(statement).await?;
        }
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

/// Returns the error of a server that does not have an extension, or of a user who may not create it.
fn refused_extension(cause: &DbErr) -> DbErr {
    DbErr::Custom(format!(
        "cannot create the extensions pg_trgm and btree_gin ({cause}); install the package with PostgreSQL's additional modules, and \
         let the owner of the database start Carrel, or run `CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin;` as a superuser"
    ))
}
