//! What OAuth and connection tests leave behind is cleaned up, at the start and every hour: clients that nobody uses, and what has expired.

use std::time::Duration;

use entity::kind::TokenKind;
use entity::{oauth_code, oauth_consent, oauth_grant, oauth_sign_in, oauth_token};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter};

use super::end::{Ending, ended};
use super::token::REFRESH_LIFE;
use super::{Terms, client};
use errors::Error;
use crate::auth::keys::changes::remove_expired_test_keys;

/// A refresh token that expired so long ago cannot be in use on another node any more.
const OVER: Duration = Duration::from_secs(24 * 3600);
/// An expired access token is known for so long: it is no sign of guessing (contract.md, section 3).
const KNOWN: Duration = Duration::from_secs(7 * 24 * 3600);

/// All of it, one statement after another.
pub(super) async fn run(terms: &Terms) -> Result<(), Error> {
    let (db, now) = (terms.db.write(), terms.clock.now());
    oauth_consent::Entity::delete_many().filter(oauth_consent::Column::ExpiresAt.lt(now)).exec(db).await?;
    oauth_sign_in::Entity::delete_many().filter(oauth_sign_in::Column::ExpiresAt.lt(now)).exec(db).await?;
    // Used codes stay as long as a token of theirs may live, so that a second use is noticed.
    let old = oauth_code::Column::ExpiresAt.lt(now - REFRESH_LIFE);
    oauth_code::Entity::delete_many().filter(old).exec(db).await?;
    end_expired(terms).await?;
    let expired = |kind, since| {
        Condition::all()
            .add(oauth_token::Column::Kind.eq(kind))
            .add(oauth_token::Column::ExpiresAt.lt(now - since))
    };
    let either =
        Condition::any().add(expired(TokenKind::Access, KNOWN)).add(expired(TokenKind::Refresh, OVER));
    oauth_token::Entity::delete_many().filter(either).exec(db).await?;
    if let Err(error) = remove_expired_test_keys(&terms.db, now).await {
        tracing::warn!(cause = error.chain(), "could not remove the keys of interrupted connection tests");
    }
    let forgotten = client::forget_unused(db, now - terms.unused_client).await?;
    if forgotten > 0 {
        tracing::info!(forgotten, "forgot OAuth clients that nobody uses");
    }
    Ok(())
}

/// A connection whose last refresh token has expired is one no more.
async fn end_expired(terms: &Terms) -> Result<(), Error> {
    let living = Query::select()
        .column(oauth_token::Column::GrantId)
        .from(oauth_token::Entity)
        .and_where(oauth_token::Column::Kind.eq(TokenKind::Refresh))
        .and_where(oauth_token::Column::ExpiresAt.gte(terms.clock.now() - OVER))
        .take();
    ended(Ending::Disconnected)
        .filter(Expr::col(oauth_grant::Column::Id).not_in_subquery(living))
        .exec(terms.db.write())
        .await?;
    Ok(())
}
