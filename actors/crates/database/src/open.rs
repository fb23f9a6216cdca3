//! Opening the database.

use sea_orm::DbErr;

use super::db::Db;
use super::open_error::OpenError;
use super::{postgres, sqlite};

impl Db {
    /// Opens `postgres://…`, or SQLite at `sqlite://PATH?mode=rwc`, and migrates the tables.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be reached or opened, or a migration fails.
    pub async fn open(url: &str) -> Result<Self, DbErr> {
        let db = Self::connect(url).await?;
        db.migrate().await?;
        Ok(db)
    }

    /// Prepares it for the server: looks for damage before anything is written, and migrates the tables.
    ///
    /// # Errors
    /// [`OpenError::Damaged`] when damage was found; [`OpenError::NotWritable`] when the database takes no writes;
    /// [`OpenError::Database`] when it cannot be read, or a migration fails.
    pub async fn prepare(&self) -> Result<(), OpenError> {
        self.check_before_start().await?;
        self.migrate().await?;
        Ok(())
    }

    /// Opens the database and leaves the tables as they are.
    ///
    /// # Errors
    /// [`DbErr`] when the database cannot be reached or opened.
    pub async fn connect(url: &str) -> Result<Self, DbErr> {
        if url.starts_with("sqlite:") { sqlite::connect(url).await } else { postgres::connect(url).await }
    }
}
