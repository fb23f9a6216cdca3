//! The clean-up of OAuth and connection tests, at the start and every hour: removes unused clients and expired rows.

use std::time::Duration;

use database::tested_only;
use entity::{oauth_code, oauth_consent, oauth_grant, oauth_sign_in, oauth_token};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, IntoCondition, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, DeleteMany, EntityTrait, QueryFilter, QueryOrder,
    QuerySelect,
};
use values::id::GrantId;
use values::kind::{TokenKind, TokenState};
use values::time::Timestamp;

use super::client;
use super::context::GrantContext;
use super::revocation::{GrantEnd, end_update};
use super::token::REFRESH_LIFETIME;
use crate::auth::keys::changes::remove_expired_test_keys;

/// A refresh token that expired this long ago cannot be in use in another process any more.
const REFRESH_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// An expired access token is known for this long, so that presenting it does not count as a guess (contract.md, section 3).
const ACCESS_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Spent refresh tokens of a grant that are kept, so that a second use of one of them ends the grant. A client may exchange tokens
/// without limit. An older one that is presented again is unknown: it is refused, and the grant stays.
pub(super) const MAX_SPENT_TOKENS: u64 = 10_000;

/// The grants of tokens that were exchanged within this time are looked at for spent tokens to remove. It is longer than the time between
/// two clean-ups, some of which may fail.
const EXCHANGE_WINDOW: Duration = Duration::from_secs(6 * 3600);

/// Rows that one statement removes, so that requests do not wait for the writer while the clean-up removes many.
pub(super) const BATCH_ROWS: u64 = 500;

/// Removes everything that is no longer needed, one statement after another. Indexes on the times find the rows.
pub(super) async fn run(ctx: &GrantContext) -> Result<(), Error> {
    let (db, now) = (ctx.db.write(), ctx.clock.now());
    let expired = oauth_consent::Column::ExpiresAt.lt(now);
    delete_rows(db, oauth_consent::Entity::delete_many, oauth_consent::Column::Hash, expired).await?;
    let expired = oauth_sign_in::Column::ExpiresAt.lt(now);
    delete_rows(db, oauth_sign_in::Entity::delete_many, oauth_sign_in::Column::Hash, expired).await?;
    // Used codes stay as long as a token of theirs may be valid, so that a second use is noticed.
    let old = oauth_code::Column::ExpiresAt.lt(now - REFRESH_LIFETIME);
    delete_rows(db, oauth_code::Entity::delete_many, oauth_code::Column::Hash, old).await?;
    let expired = is_expired(TokenKind::Access, now - ACCESS_RETENTION);
    delete_rows(db, oauth_token::Entity::delete_many, oauth_token::Column::Hash, expired).await?;
    remove_expired_refresh_tokens(ctx, now - REFRESH_RETENTION).await?;
    remove_oldest_spent(ctx, now).await?;
    // Logged and not returned: the removal of unused clients does not depend on it.
    if let Err(error) = remove_expired_test_keys(&ctx.db, now).await {
        tracing::warn!(cause = error.chain(), "could not remove the keys of interrupted connection tests");
    }
    let removed = client::remove_unused(db, now - ctx.unused_client_lifetime).await?;
    if removed > 0 {
        tracing::info!(removed, "removed unused OAuth clients");
    }
    Ok(())
}

/// Deletes the rows that match a condition, by their hashes and in parts.
async fn delete_rows<E: EntityTrait>(
    db: &impl ConnectionTrait,
    // Passed, so that each caller names its table: tests/tidy looks for `Entity::delete_many`.
    delete: fn() -> DeleteMany<E>,
    hash: E::Column,
    condition: impl IntoCondition + Clone,
) -> Result<(), DbErr> {
    loop {
        let batch = Query::select()
            .expr(hash.into_expr())
            .from(E::default().table_ref())
            .cond_where(condition.clone())
            .limit(BATCH_ROWS)
            .take();
        let deleted = delete().filter(hash.in_subquery(batch)).exec(db).await?;
        if deleted.rows_affected < BATCH_ROWS {
            return Ok(());
        }
    }
}

/// Returns the condition that a token of this kind expired before a time.
fn is_expired(kind: TokenKind, until: Timestamp) -> Expr {
    oauth_token::Column::Kind.eq(kind).and(oauth_token::Column::ExpiresAt.lt(until))
}

/// Removes the refresh tokens that expired before a time, in parts, and before each part ends the grants whose last one is among them:
/// every grant has a refresh token from its creation.
async fn remove_expired_refresh_tokens(ctx: &GrantContext, until: Timestamp) -> Result<(), Error> {
    use oauth_token::Column;
    loop {
        let batch: Vec<(Vec<u8>, GrantId)> = oauth_token::Entity::find()
            .filter(is_expired(TokenKind::Refresh, until))
            .select_only()
            .columns([Column::Hash, Column::GrantId])
            .limit(BATCH_ROWS)
            .into_tuple()
            .all(ctx.db.read())
            .await?;
        let (hashes, grants): (Vec<Vec<u8>>, Vec<GrantId>) = batch.into_iter().unzip();
        if hashes.is_empty() {
            return Ok(());
        }
        let is_last = (hashes.len() as u64) < BATCH_ROWS;
        end_expired(ctx, grants, until).await?;
        let expired = oauth_token::Entity::delete_many().filter(Column::Hash.is_in(hashes));
        let deleted = expired.exec(ctx.db.write()).await?;
        // Rows that cannot be deleted would be read again and again.
        if is_last || deleted.rows_affected == 0 {
            return Ok(());
        }
    }
}

/// Ends those of the grants all of whose refresh tokens expired before a time.
async fn end_expired(ctx: &GrantContext, grants: Vec<GrantId>, until: Timestamp) -> Result<(), Error> {
    let grant_of_token = Expr::col((oauth_token::Entity, oauth_token::Column::GrantId));
    // Otherwise SQLite would read the tokens of all grants that have not expired, for each grant.
    let expires_at =
        tested_only(oauth_token::Column::ExpiresAt.into_expr(), ctx.db.write().get_database_backend());
    let living = Query::select()
        .column(oauth_token::Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(grant_of_token.equals((oauth_grant::Entity, oauth_grant::Column::Id)))
        .and_where(oauth_token::Column::Kind.eq(TokenKind::Refresh))
        .and_where(expires_at.gte(until))
        .take();
    end_update(oauth_grant::Entity::update_many(), GrantEnd::Disconnected)
        .filter(oauth_grant::Column::Id.is_in(grants))
        .filter(Expr::exists(living).not())
        .exec(ctx.db.write())
        .await?;
    Ok(())
}

/// Removes the spent refresh tokens of each grant that are older than the newest [`MAX_SPENT_TOKENS`], and the expired access tokens
/// that are as old. A grant gets no further spent tokens without an exchange, so only those with a recent one are looked at.
async fn remove_oldest_spent(ctx: &GrantContext, now: Timestamp) -> Result<(), Error> {
    use oauth_token::Column;
    let spent =
        || Condition::all().add(Column::Kind.eq(TokenKind::Refresh)).add(Column::State.eq(TokenState::Spent));
    // A refresh token is issued with each exchange, for the same time: so the index on the time of expiry finds the newest.
    let exchanged = Query::select()
        .column(Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(Column::Kind.eq(TokenKind::Refresh))
        .and_where(Column::ExpiresAt.gt(now + REFRESH_LIFETIME - EXCHANGE_WINDOW))
        .take();
    let beyond_newest = Query::select()
        .column(Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(
            Expr::col((oauth_token::Entity, Column::GrantId))
                .equals((oauth_grant::Entity, oauth_grant::Column::Id)),
        )
        .cond_where(spent())
        .limit(1)
        .offset(MAX_SPENT_TOKENS)
        .take();
    let grants: Vec<GrantId> = oauth_grant::Entity::of_all_users()
        .filter(oauth_grant::Column::Id.in_subquery(exchanged))
        .filter(Expr::exists(beyond_newest))
        .select_only()
        .column(oauth_grant::Column::Id)
        .into_tuple()
        .all(ctx.db.read())
        .await?;
    for grant in grants {
        let newest = oauth_token::Entity::find()
            .filter(Column::GrantId.eq(grant))
            .filter(spent())
            .order_by_desc(Column::IssuedAt)
            .select_only()
            .column(Column::IssuedAt)
            .offset(MAX_SPENT_TOKENS - 1);
        let Some(oldest_kept) = newest.into_tuple::<Timestamp>().one(ctx.db.read()).await? else { continue };
        let expired_access =
            Condition::all().add(Column::Kind.eq(TokenKind::Access)).add(Column::ExpiresAt.lt(now));
        let old = Condition::all()
            .add(Column::GrantId.eq(grant))
            .add(Column::IssuedAt.lt(oldest_kept))
            .add(Condition::any().add(spent()).add(expired_access));
        delete_rows(ctx.db.write(), oauth_token::Entity::delete_many, Column::Hash, old).await?;
    }
    Ok(())
}
