//! Access tokens for calls, and refresh tokens for the next pair. A conditional update spends a refresh token, and a spent one that is
//! presented again ends the whole grant (spec.md: OAuth 2.1 for MCP, rule 4).

use std::time::Duration;

use database::{Transaction, on_behalf_of};
use entity::{activity, oauth_client, oauth_grant, oauth_token, user};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel};
use tracing::warn;
use values::id::ActivityId;
use values::kind::{GrantState, MeteredSurface, TokenKind, TokenState};
use values::scope::Scopes;
use values::time::Timestamp;

use super::client;
use super::context::GrantContext;
use super::lifecycle::{TransitionError, spend_token};
use super::revocation::{GrantEnd, end, lock_active_owner};
use super::token_error::TokenError;
use crate::auth::secret::Secret;

/// The prefix of an access token.
pub const ACCESS_PREFIX: &str = "ca_";
/// The prefix of a refresh token.
pub const REFRESH_PREFIX: &str = "cr_";
/// Lifetime of a refresh token, from the last use of the one before it (contract.md, section 8).
pub const REFRESH_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

/// A pair of tokens, for the one response that contains them.
#[derive(Debug)]
pub struct TokenPair {
    /// The access token, a bearer token for the MCP server.
    pub access: Secret,
    /// The lifetime of the access token.
    pub access_lifetime: Duration,
    /// The refresh token, which replaces the one that was exchanged.
    pub refresh: Secret,
    /// The scopes of the access token.
    pub scopes: Scopes,
}

/// A request of a client for its next tokens. Without `Debug`, which would show the refresh token.
pub struct TokenRefresh {
    /// The client, whose credentials were checked.
    pub client: oauth_client::Model,
    /// The refresh token, as the client sent it.
    pub token: String,
    /// Fewer scopes than were granted; `None` for the same ones.
    pub scopes: Option<Scopes>,
}

const INVALID_TOKEN: &str = "the refresh token is unknown, has expired or was used; authorize again";
const INVALID: TokenError = TokenError::InvalidGrant(INVALID_TOKEN);

/// Issues a pair of tokens for a grant that the caller's transaction has locked.
pub(super) async fn issue(
    txn: &Transaction,
    ctx: &GrantContext,
    grant: &oauth_grant::Model,
    scopes: Scopes,
    now: Timestamp,
) -> Result<TokenPair, TokenError> {
    let access = Secret::new_token(ACCESS_PREFIX).map_err(Error::internal)?;
    let refresh = Secret::new_token(REFRESH_PREFIX).map_err(Error::internal)?;
    let row = |secret: &Secret, kind, scopes: &Scopes, lifetime| {
        let row = oauth_token::Model {
            hash: secret.hash().bytes().to_vec(),
            grant_id: grant.id,
            token_family: grant.token_family,
            kind,
            scopes: scopes.clone(),
            issued_at: now,
            expires_at: now + lifetime,
            state: TokenState::Issued,
        };
        row.into_active_model()
    };
    let rows = [
        row(&access, TokenKind::Access, &scopes, ctx.access_lifetime),
        // It has all granted scopes: a narrower access token does not narrow the next one (RFC 6749, section 6).
        row(&refresh, TokenKind::Refresh, &grant.scopes, REFRESH_LIFETIME),
    ];
    // Only the hashes are stored: a copy of the database opens no library (row A4).
    oauth_token::Entity::insert_many(rows).exec_without_returning(txn).await?;
    Ok(TokenPair { access, access_lifetime: ctx.access_lifetime, refresh, scopes })
}

/// Looks up a token with one of these prefixes, and its grant, with one query. A text that is not a token takes the same query, so that
/// the response time does not tell whether a token exists.
async fn look_up(
    db: &impl ConnectionTrait,
    sent: &str,
    prefixes: &[&str],
) -> Result<Option<(oauth_token::Model, oauth_grant::Model)>, DbErr> {
    let secret = prefixes.iter().find_map(|prefix| Secret::parse_token(prefix, sent));
    let hash = secret.map(|secret| *secret.hash().bytes()).unwrap_or_default();
    let found = oauth_token::Entity::with_grant(&hash).one(db).await?;
    Ok(found.and_then(|(token, grant)| Some((token, grant?))))
}

/// Returns whether a token's grant is the same as when the token was issued.
pub(super) fn is_current(ctx: &GrantContext, token: &oauth_token::Model, grant: &oauth_grant::Model) -> bool {
    grant.state == GrantState::Connected
        && grant.token_family == token.token_family
        && *grant.resource == *ctx.resource
}

/// Returns [`is_current`] as a condition on the stored grant, which also requires that the account of its owner is not disabled. The
/// client exists as long as the grant does, because the grant is removed with it.
fn has_current_grant(ctx: &GrantContext, token: &oauth_token::Model) -> Expr {
    use oauth_grant::Column;
    let owner_of_grant =
        Expr::col((user::Entity, user::Column::Id)).equals((oauth_grant::Entity, Column::UserId));
    let current = Query::select()
        .column((oauth_grant::Entity, Column::Id))
        .from(oauth_grant::Entity)
        .inner_join(user::Entity, owner_of_grant)
        .and_where(Column::Id.eq(token.grant_id))
        .and_where(Column::State.eq(GrantState::Connected))
        .and_where(Column::TokenFamily.eq(token.token_family))
        .and_where(Column::Resource.eq(&*ctx.resource))
        .and_where(user::Column::DisabledAt.is_null())
        .take();
    Expr::exists(current)
}

/// Finds the refresh token that a client sent, with its grant. Whether it was spent is decided by [`refresh`].
///
/// # Errors
/// [`TokenError::UnknownGrant`] if there is no such token; [`TokenError::InvalidGrant`] if it is another client's, has expired or belongs
/// to an ended grant; [`TokenError::Internal`] when the database fails.
pub(super) async fn find_refresh_token(
    ctx: &GrantContext,
    request: &TokenRefresh,
) -> Result<(oauth_token::Model, oauth_grant::Model), TokenError> {
    let found = look_up(ctx.db.read(), &request.token, &[REFRESH_PREFIX]).await?;
    let (token, grant) = found.ok_or(TokenError::UnknownGrant(INVALID_TOKEN))?;
    let is_own = grant.client_id == request.client.id;
    if !is_own || !is_current(ctx, &token, &grant) || ctx.clock.now() >= token.expires_at {
        return Err(INVALID);
    }
    Ok((token, grant))
}

/// Exchanges the refresh token that [`find_refresh_token`] returned for the next pair. The old access token stays valid until it
/// expires (contract.md, section 11).
///
/// # Errors
/// [`TokenError::InvalidGrant`]: a token that was spent before ends the grant, any other invalid one does not. Nor does one that the
/// clean-up removed, because newer ones exceed [`MAX_SPENT_TOKENS`](super::sweep::MAX_SPENT_TOKENS).
pub(super) async fn refresh(
    ctx: &GrantContext,
    request: TokenRefresh,
    mut token: oauth_token::Model,
    grant: oauth_grant::Model,
) -> Result<TokenPair, TokenError> {
    let now = ctx.clock.now();
    let txn = on_behalf_of(grant.user_id, ctx.db.begin_in_group()).await?;
    // SQLite has one writer, so its transactions are ordered without locks.
    let needs_locks = ctx.db.is_postgres();
    if needs_locks {
        lock_active_owner(&txn, grant.user_id).await?.ok_or(INVALID)?;
    }
    let needs_client = needs_locks || client::is_use_due(&request.client, now);
    if needs_client && !client::lock_for_use(&txn, &request.client, now).await? {
        return Err(TokenError::InvalidClient);
    }
    // The grant may have ended since it was read, so the statement that spends the token also checks the grant.
    let condition = has_current_grant(ctx, &token);
    match spend_token(&txn, &mut token, condition).await {
        Ok(()) => {}
        Err(TransitionError::AlreadyUsed) => {
            return refuse(ctx, txn, &request.client, &token, &grant, now).await;
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    }
    let scopes = request.scopes.unwrap_or_else(|| token.scopes.clone());
    if !token.scopes.missing(&scopes).is_empty() {
        // The transaction ends here without a commit: the token is not spent.
        return Err(TokenError::InvalidScope);
    }
    let issued = issue(&txn, ctx, &grant, scopes, now).await?;
    txn.commit().await?;
    Ok(issued)
}

/// Returns why a token was not spent. If it was spent before, the grant ends.
async fn refuse(
    ctx: &GrantContext,
    txn: Transaction,
    client: &oauth_client::Model,
    token: &oauth_token::Model,
    grant: &oauth_grant::Model,
    now: Timestamp,
) -> Result<TokenPair, TokenError> {
    lock_active_owner(&txn, grant.user_id).await?.ok_or(INVALID)?;
    if !client::lock_for_use(&txn, client, now).await? {
        return Err(TokenError::InvalidClient);
    }
    // Read again under the lock of the owner's row.
    let grant = oauth_grant::Entity::one_of(grant.user_id, grant.id).one(&txn).await?.ok_or(INVALID)?;
    if !is_current(ctx, token, &grant) {
        return Err(INVALID);
    }
    // The grant is current, so the token was spent. There is no grace period, although parallel processes of a client may race for a
    // token: the specification wants any reuse to end the grant. The entry in the activity view tells the user why it ended.
    let generation = end(&txn, &grant, GrantEnd::Revoked).await?.ok_or(INVALID)?;
    record_reuse(&txn, &grant, client, "TOKEN_REUSED", now).await?;
    txn.commit().await?;
    ctx.cache_epoch.record_own_change(grant.user_id, generation);
    warn!(grant.id = %grant.id, "ended a grant: a refresh token of it was used twice");
    Err(INVALID)
}

/// Records in the activity view that a grant ended because a secret was used twice. The cause may be an attack, or an
/// app whose processes share a refresh token; only the user can tell which.
pub(super) async fn record_reuse(
    txn: &Transaction,
    grant: &oauth_grant::Model,
    client: &oauth_client::Model,
    status: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    let entry = activity::Model {
        id: ActivityId::new(now),
        user_id: grant.user_id,
        at: now,
        surface: MeteredSurface::Mcp,
        key_id: None,
        grant_id: Some(grant.id),
        key_name: None,
        route: Some("POST /oauth/token".to_owned()),
        tool: None,
        status: status.to_owned(),
        refused: true,
        client: Some(client::shown_name(client)),
        result_count: None,
    };
    activity::Entity::insert(entry.into_active_model()).exec_without_returning(txn).await.map(drop)
}

/// Finds the token that a client sent, with its grant, if it is a token of this client.
pub(super) async fn find_own_token(
    ctx: &GrantContext,
    client: &oauth_client::Model,
    sent: &str,
) -> Result<Option<(oauth_token::Model, oauth_grant::Model)>, DbErr> {
    let found = look_up(ctx.db.read(), sent, &[ACCESS_PREFIX, REFRESH_PREFIX]).await?;
    Ok(found.filter(|(_, grant)| grant.client_id == client.id))
}

/// Ends the grant of a token that [`find_own_token`] returned, if the token is still current (RFC 7009). Anything else is ignored.
pub(super) async fn revoke(
    ctx: &GrantContext,
    token: oauth_token::Model,
    grant: oauth_grant::Model,
) -> Result<(), TokenError> {
    let txn = on_behalf_of(grant.user_id, ctx.db.begin()).await?;
    if lock_active_owner(&txn, grant.user_id).await?.is_none() {
        return Ok(());
    }
    let Some(grant) = oauth_grant::Entity::one_of(grant.user_id, grant.id).one(&txn).await? else {
        return Ok(());
    };
    if !is_current(ctx, &token, &grant) {
        return Ok(());
    }
    let Some(generation) = end(&txn, &grant, GrantEnd::Revoked).await? else { return Ok(()) };
    txn.commit().await?;
    ctx.cache_epoch.record_own_change(grant.user_id, generation);
    Ok(())
}
