//! The clean-up of OAuth and connection tests, at the start and every hour: removes unused clients and expired rows.

use std::time::Duration;

use entity::{oauth_code, oauth_consent, oauth_grant, oauth_sign_in, oauth_token};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};
use values::kind::TokenKind;

use super::client;
use super::context::GrantContext;
use super::revocation::{GrantEnd, end_update};
use super::token::REFRESH_LIFETIME;
use crate::auth::keys::changes::remove_expired_test_keys;

/// A refresh token that expired this long ago cannot be in use in another process any more.
const REFRESH_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// An expired access token is known for this long, so that presenting it does not count as a guess (contract.md, section 3).
const ACCESS_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

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
