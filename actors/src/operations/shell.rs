//! The numbers that every page of the web app shows around its contents.
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::{account_count, feed_count, notice};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, PaginatorTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::UserId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Counts what the navigation of the web app shows.
#[derive(Debug)]
pub struct ShowShellCounts;

impl FromRequest for ShowShellCounts {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The numbers of the navigation, which the database keeps with every change.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShellCounts {
    /// Unread entries of all feeds.
    pub unread_entries: u64,
    /// Unread notices.
    pub unread_notices: u64,
    /// Jobs that make documents, and wait or run.
    pub pending_work: u64,
    /// Documents that could not be made.
    pub failed_documents: u64,
    /// Saved pages and uploads.
    pub bookmarks: u64,
}

impl Operation for ShowShellCounts {
    type Reply = ShellCounts;
    const SCOPES: &'static [Scope] = &[];
    // A response of a few fixed fields needs no slot.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShellCounts, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        let counts = account_count::Entity::owned_by(user).one(db).await?.ok_or(Error::not_found())?;
        let notices = notice::Entity::owned_by(user).filter(notice::Column::ReadAt.is_null());
        Ok(ShellCounts {
            unread_entries: unread_entries(db, user).await?,
            unread_notices: notices.count(db).await?,
            pending_work: number(counts.pending_jobs),
            failed_documents: number(counts.failed_documents),
            bookmarks: number(counts.bookmarks),
        })
    }
}

/// Adds the unread entries of the feeds that a user follows.
async fn unread_entries(db: &impl ConnectionTrait, user: UserId) -> Result<u64, Error> {
    let rows: Vec<i64> = feed_count::Entity::owned_by(user)
        .select_only()
        .column(feed_count::Column::Unread)
        .into_tuple()
        .all(db)
        .await?;
    Ok(rows.into_iter().map(number).sum())
}

/// Returns the number of a counter, which is never negative.
fn number(counter: i64) -> u64 {
    u64::try_from(counter).unwrap_or_default()
}
