//! The numbers of rows that a user has. Triggers of the database update them with every change of a counted row (see
//! `migration::counters`); only a repair writes them otherwise.

use sea_orm::entity::prelude::*;
use values::id::UserId;

/// The numbers of rows that a user has. The row is created and deleted with the account.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "account_count")]
pub struct Model {
    /// The user whose rows are counted.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Number of bookmarks, without deleted ones.
    pub bookmarks: i64,
    /// Number of documents, without hidden ones.
    pub documents: i64,
    /// Number of highlights, including those of deleted bookmarks.
    pub highlights: i64,
    /// Number of collections.
    pub collections: i64,
    /// Number of followed feeds.
    pub feeds: i64,
    /// Number of projects.
    pub projects: i64,
    /// Number of completed uploads.
    pub uploads: i64,
    /// Bytes of the uploads that are completed or whose bytes have arrived. Those of other uploads depend on the time.
    pub upload_bytes: i64,
    /// Number of documents without a text, or whose newer text failed, for which no job waits or runs, without hidden ones.
    pub failed_documents: i64,
    /// Number of jobs that make documents, and wait or run.
    pub pending_jobs: i64,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the rows of these users, for the operator's list of accounts.
    pub fn of_users(users: impl IntoIterator<Item = UserId>) -> Select<Entity> {
        Self::find().filter(Column::UserId.is_in(users))
    }

    /// Returns the rows of all users, for the sums that an operator sees.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }
}
