//! The clean-up of OAuth and connection tests, at the start and every hour: removes unused clients and expired rows.

use std::time::Duration;

use entity::{oauth_code, oauth_consent, oauth_grant, oauth_sign_in, oauth_token};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, Order, Query};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QuerySelect};
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

/// Removes everything that is no longer needed, one statement after another.
pub(super) async fn run(ctx: &GrantContext) -> Result<(), Error> {
    let (db, now) = (ctx.db.write(), ctx.clock.now());
    oauth_consent::Entity::delete_many().filter(oauth_consent::Column::ExpiresAt.lt(now)).exec(db).await?;
    oauth_sign_in::Entity::delete_many().filter(oauth_sign_in::Column::ExpiresAt.lt(now)).exec(db).await?;
    // Used codes stay as long as a token of theirs may be valid, so that a second use is noticed.
    let old = oauth_code::Column::ExpiresAt.lt(now - REFRESH_LIFETIME);
    oauth_code::Entity::delete_many().filter(old).exec(db).await?;
    end_expired(ctx).await?;
    let expired = |kind, since| {
        Condition::all()
            .add(oauth_token::Column::Kind.eq(kind))
            .add(oauth_token::Column::ExpiresAt.lt(now - since))
    };
    let either = Condition::any()
        .add(expired(TokenKind::Access, ACCESS_RETENTION))
        .add(expired(TokenKind::Refresh, REFRESH_RETENTION));
    oauth_token::Entity::delete_many().filter(either).exec(db).await?;
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

/// Ends grants whose last refresh token has expired.
async fn end_expired(ctx: &GrantContext) -> Result<(), Error> {
    let grant_of_token = Expr::col((oauth_token::Entity, oauth_token::Column::GrantId));
    let living = Query::select()
        .column(oauth_token::Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(grant_of_token.equals((oauth_grant::Entity, oauth_grant::Column::Id)))
        .and_where(oauth_token::Column::Kind.eq(TokenKind::Refresh))
        .and_where(oauth_token::Column::ExpiresAt.gte(ctx.clock.now() - REFRESH_RETENTION))
        .take();
    end_update(oauth_grant::Entity::update_many(), GrantEnd::Disconnected)
        .filter(Expr::exists(living).not())
        .exec(ctx.db.write())
        .await?;
    Ok(())
}

/// Removes the spent refresh tokens of each grant that are older than the newest [`MAX_SPENT_TOKENS`], and the expired access tokens
/// that are as old.
async fn remove_oldest_spent(ctx: &GrantContext, now: Timestamp) -> Result<(), Error> {
    use oauth_token::Column;
    let spent =
        || Condition::all().add(Column::Kind.eq(TokenKind::Refresh)).add(Column::State.eq(TokenState::Spent));
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
        .filter(Expr::exists(beyond_newest))
        .select_only()
        .column(oauth_grant::Column::Id)
        .into_tuple()
        .all(ctx.db.read())
        .await?;
    for grant in grants {
        let oldest_kept = Query::select()
            .column(Column::IssuedAt)
            .from(oauth_token::Entity)
            .and_where(Column::GrantId.eq(grant))
            .cond_where(spent())
            .order_by(Column::IssuedAt, Order::Desc)
            .limit(1)
            .offset(MAX_SPENT_TOKENS - 1)
            .take();
        let expired_access =
            Condition::all().add(Column::Kind.eq(TokenKind::Access)).add(Column::ExpiresAt.lt(now));
        oauth_token::Entity::delete_many()
            .filter(Column::GrantId.eq(grant))
            .filter(Condition::any().add(spent()).add(expired_access))
            .filter(Expr::col((oauth_token::Entity, Column::IssuedAt)).lt(oldest_kept))
            .exec(ctx.db.write())
            .await?;
    }
    Ok(())
}
