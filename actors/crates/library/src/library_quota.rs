//! How many bytes a user's library may take up: `plans.<plan>.library_bytes` (contract.md, section 4).
//!
//! Texts count as they are stored, in bytes of UTF-8: passages, HTML for reading, content that waits to be processed, metadata of
//! documents, URLs and tags of bookmarks, highlights, collections, projects with their decisions, feeds and their entries, names
//! of uploads, details of imports, and stored idempotent responses. Each row of them, except of the responses, counts
//! [`ROW_BYTES`] more, and so does a bookmark in a collection and an item of a project. A copy counts once: the Markdown of a note and
//! the segments of a transcript are not added to their passages. Files of uploads have another limit (`stored_bytes`). Deleted
//! rows that can be restored still count.
//!
//! The count is one row per user that triggers change in the transaction that changes a counted row
//! (`migration::library_usage`). A write asks it twice: before, where a large body would be written in vain, and before
//! its commit, where the count includes what the transaction wrote. On PostgreSQL the row is locked from the beginning of
//! the transaction ([`crate::owned_transaction`]), so of two concurrent writes the second waits and counts the first.

use database::library_counts::ROW_BYTES;
use database::{Db, library_counts as counts};
use entity::library_usage::{Column, Entity, Model};
use entity::{chunk, document, user};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
    Statement,
};
use values::id::{DocumentId, FeedSourceId, UserId};
use values::plan::Plan;

use crate::context::CoreContext;
use crate::owned_transaction::RequestOwner;
use crate::slow_reads::{read_slowly, read_user_ids};
use errors::Error;

/// Returns the bytes that a user's library takes up.
pub async fn used_bytes(db: &impl ConnectionTrait, user: UserId) -> Result<u64, Error> {
    let row = Entity::owned_by(user).one(db).await?;
    // A trigger creates the row with the account, so there is none only after the account was removed.
    Ok(row.map_or(0, |row| bytes_of(row.bytes)))
}

/// Returns whether this many more bytes fit into the library of any follower of a source. As in [`LibraryRoom::fits`], an addition
/// counts as one byte at least. One statement, which ends at the first follower with room.
pub async fn any_follower_has_room(
    db: &impl ConnectionTrait,
    core: &CoreContext,
    source: FeedSourceId,
    bytes: usize,
) -> Result<bool, Error> {
    let added = i64::try_from(bytes.max(1)).unwrap_or(i64::MAX);
    let fits = Plan::ALL.into_iter().fold(Condition::any(), |any, plan| {
        let limit = i64::try_from(core.plans.limits(plan).library_bytes).unwrap_or(i64::MAX);
        // Negative, which no count is, if the addition is larger than the limit.
        let most = limit.saturating_sub(added);
        any.add(Condition::all().add(user::Column::Plan.eq(plan)).add(Column::Bytes.lte(most)))
    });
    let owner = Query::select()
        .column(user::Column::Id)
        .from(user::Entity)
        .and_where(Expr::col((user::Entity, user::Column::Id)).equals((Entity, Column::UserId)))
        .cond_where(fits)
        .to_owned();
    let with_room = Entity::of_followers(source).filter(Expr::exists(owner)).limit(1);
    Ok(with_room.one(db).await?.is_some())
}

/// The free space of a user's library when a transaction begins to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryRoom {
    user: UserId,
    used: u64,
    limit: u64,
    /// The document whose text is replaced.
    rewritten: Option<DocumentId>,
}

impl LibraryRoom {
    /// Returns the room of the library that a request changes.
    pub async fn of_request(
        db: &impl ConnectionTrait,
        core: &CoreContext,
        owner: &RequestOwner,
    ) -> Result<Self, Error> {
        let limit = core.plans.limits(owner.plan).library_bytes;
        Self::of(db, owner.user, limit).await
    }

    /// Returns the room of a user's library, for background work.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the account was removed.
    pub async fn of_owner(
        db: &impl ConnectionTrait,
        core: &CoreContext,
        user: UserId,
    ) -> Result<Self, Error> {
        let owner = user::Entity::find_by_id(user).one(db).await?.ok_or(Error::not_found())?;
        let limit = core.plans.limits(owner.plan).library_bytes;
        Self::of(db, user, limit).await
    }

    async fn of(db: &impl ConnectionTrait, user: UserId, limit: u64) -> Result<Self, Error> {
        Ok(Self { user, used: used_bytes(db, user).await?, limit, rewritten: None })
    }

    /// Returns whether this many more bytes fit. An addition counts as one byte at least, so nothing fits into a full library.
    pub fn fits(&self, bytes: usize) -> bool {
        self.used.saturating_add(bytes.max(1) as u64) <= self.limit
    }

    /// Returns how many bytes were free when the transaction began.
    pub fn free_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Refuses an addition before it is written.
    ///
    /// # Errors
    /// [`Error::LibraryFull`] when it does not fit.
    pub fn must_fit(&self, bytes: usize) -> Result<(), Error> {
        if self.fits(bytes) { Ok(()) } else { Err(self.full_error()) }
    }

    /// Returns the room for a transaction that replaces the text of a document; call it before the text is replaced. The
    /// passages of the former text are kept until the new ones are indexed. They count neither before nor after, so that a text
    /// can be replaced by a smaller one in a full library. At most one former text of a document is kept.
    pub async fn rewriting(
        self,
        db: &impl ConnectionTrait,
        document: Option<DocumentId>,
    ) -> Result<Self, Error> {
        let former = former_bytes(db, self.user, document).await?;
        Ok(Self { rewritten: document, used: self.used.saturating_sub(former), ..self })
    }

    /// Refuses what a transaction wrote, before its commit. A transaction that adds nothing passes even in a full library.
    ///
    /// # Errors
    /// [`Error::LibraryFull`] when the library grew over its limit: the transaction must be rolled back.
    pub async fn must_hold(&self, txn: &impl ConnectionTrait) -> Result<(), Error> {
        let used = used_bytes(txn, self.user).await?;
        // Most writes end here, without the sum over the former passages below.
        if used <= self.limit {
            return Ok(());
        }
        self.check_growth(used.saturating_sub(former_bytes(txn, self.user, self.rewritten).await?))
    }

    fn check_growth(&self, used: u64) -> Result<(), Error> {
        // Compared with the beginning of the transaction too: after a downgrade a library may exceed its limit, and the user must
        // still be able to shorten texts and to change what has no text.
        if used > self.limit && used > self.used { Err(self.full_error()) } else { Ok(()) }
    }

    fn full_error(&self) -> Error {
        Error::LibraryFull { used: self.used, limit: self.limit }
    }
}

/// Returns the bytes of the passages of former versions of a document.
async fn former_bytes(
    db: &impl ConnectionTrait,
    user: UserId,
    document: Option<DocumentId>,
) -> Result<u64, Error> {
    let Some(id) = document else { return Ok(0) };
    let found = document::Entity::with_hidden(user).filter(document::Column::Id.eq(id)).one(db).await?;
    let Some(row) = found else { return Ok(0) };
    // As the triggers count a row. OCTET_LENGTH counts bytes of UTF-8; LENGTH would count characters.
    let sum = Expr::cust(format!("CAST(COALESCE(SUM(OCTET_LENGTH(chunk.text) + {ROW_BYTES}), 0) AS BIGINT)"));
    let former = chunk::Entity::owned_by(user)
        .filter(chunk::Column::DocumentId.eq(id))
        .filter(chunk::Column::Version.lt(row.version))
        .select_only()
        .column_as(sum, "sum");
    let sum: Option<i64> = former.into_tuple().one(db).await?;
    Ok(sum.map_or(0, bytes_of))
}

fn bytes_of(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

/// Returns the users whose stored count differs from their rows: none, unless the tables or their triggers were changed by hand.
/// Reads every counted table completely.
pub async fn find_miscounted_users(db: &Db) -> Result<Vec<UserId>, Error> {
    Ok(read_user_ids(db, counts::differing_users_query()).await?)
}

/// Corrects the count of a user's library from its rows. Other writes continue meanwhile: the error of the count is read in one
/// snapshot, and writes do not change that error, because their triggers change the count with the rows. Only one process may
/// run this at a time; otherwise the count is corrected twice.
pub async fn recount(db: &Db, user: UserId) -> Result<(), Error> {
    let nothing = Model { user_id: user, bytes: 0, responses: 0, response_bytes: 0 };
    let is_kept = OnConflict::column(Column::UserId).do_nothing().to_owned();
    // From here on the triggers update the count.
    Entity::insert(nothing.into_active_model())
        .on_conflict(is_kept)
        .try_insert()
        .exec_without_returning(db.write())
        .await?;
    let backend = db.read().get_database_backend();
    let difference = Statement::from_sql_and_values(backend, counts::difference_query(), [user.into()]);
    for row in read_slowly(db, difference).await? {
        let add = |column: Column, name: &str| {
            let difference: i64 = row.try_get("", name)?;
            Ok::<_, DbErr>(Expr::col(column).add(difference))
        };
        // Added rather than set: writes that were committed since the snapshot have changed the count by their own bytes.
        Entity::update_owned(user)
            .col_expr(Column::Bytes, add(Column::Bytes, "bytes")?)
            .col_expr(Column::Responses, add(Column::Responses, "responses")?)
            .col_expr(Column::ResponseBytes, add(Column::ResponseBytes, "response_bytes")?)
            .exec(db.write())
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
