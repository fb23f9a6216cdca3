//! Opening the database.

use sea_orm::DbErr;

use super::db::Db;
use super::open_error::OpenError;
use super::{postgres, sqlite};

impl Db {
    /// Opens `postgres://…`, or SQLite at `sqlite://PATH?mode=rwc`, and migrates the tables.
    ///
    /// # Errors
    /// The database cannot be reached or opened, or a migration fails.
    pub async fn open(url: &str) -> Result<Self, DbErr> {
        let db = Self::connect(url).await?;
        db.migrate().await?;
        Ok(db)
    }

    /// Prepares it for the service: looks for damage before anything is written, and migrates the tables.
    ///
    /// # Errors
    /// The damage that was found, or the database's own error.
    pub async fn prepare(&self) -> Result<(), OpenError> {
        self.check_before_start().await?;
        self.migrate().await?;
        Ok(())
    }

    /// Opens the database and leaves the tables as they are.
    ///
    /// # Errors
    /// The database cannot be reached or opened.
    pub async fn connect(url: &str) -> Result<Self, DbErr> {
        if url.starts_with("sqlite:") { sqlite::connect(url).await } else { postgres::connect(url).await }
    }
}
