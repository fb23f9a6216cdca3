//! What OAuth and connection tests leave behind is cleaned up, at the start and every hour: clients that nobody uses, and what has expired.

use std::time::Duration;

use entity::kind::TokenKind;
use entity::{oauth_code, oauth_consent, oauth_grant, oauth_sign_in, oauth_token};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};

use super::ending::{ConnectionEnd, ended};
use super::token::REFRESH_LIFE;
use super::{GrantContext, client};
use errors::Error;
use crate::auth::keys::changes::remove_expired_test_keys;

/// A refresh token that expired so long ago cannot be in use on another node any more.
const OVER: Duration = Duration::from_secs(24 * 3600);
/// An expired access token is known for so long: it is no sign of guessing (contract.md, section 3).
const KNOWN: Duration = Duration::from_secs(7 * 24 * 3600);

/// All of it, one statement after another.
pub(super) async fn run(ctx: &GrantContext) -> Result<(), Error> {
    let (db, now) = (ctx.db.write(), ctx.clock.now());
    oauth_consent::Entity::delete_many().filter(oauth_consent::Column::ExpiresAt.lt(now)).exec(db).await?;
    oauth_sign_in::Entity::delete_many().filter(oauth_sign_in::Column::ExpiresAt.lt(now)).exec(db).await?;
    // GrantUse codes stay as long as a token of theirs may live, so that a second use is noticed.
    let old = oauth_code::Column::ExpiresAt.lt(now - REFRESH_LIFE);
    oauth_code::Entity::delete_many().filter(old).exec(db).await?;
    end_expired(ctx).await?;
    let expired = |kind, since| {
        Condition::all()
            .add(oauth_token::Column::Kind.eq(kind))
            .add(oauth_token::Column::ExpiresAt.lt(now - since))
    };
    let either =
        Condition::any().add(expired(TokenKind::Access, KNOWN)).add(expired(TokenKind::Refresh, OVER));
    oauth_token::Entity::delete_many().filter(either).exec(db).await?;
    if let Err(error) = remove_expired_test_keys(&ctx.db, now).await {
        tracing::warn!(cause = error.chain(), "could not remove the keys of interrupted connection tests");
    }
    let forgotten = client::forget_unused(db, now - ctx.unused_client).await?;
    if forgotten > 0 {
        tracing::info!(forgotten, "forgot OAuth clients that nobody uses");
    }
    Ok(())
}

/// A connection whose last refresh token has expired is one no more.
async fn end_expired(ctx: &GrantContext) -> Result<(), Error> {
    let living = Query::select()
        .column(oauth_token::Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(oauth_token::Column::Kind.eq(TokenKind::Refresh))
        .and_where(oauth_token::Column::ExpiresAt.gte(ctx.clock.now() - OVER))
        .take();
    ended(ConnectionEnd::Disconnected)
        .filter(Expr::col(oauth_grant::Column::Id).not_in_subquery(living))
        .exec(ctx.db.write())
        .await?;
    Ok(())
}
