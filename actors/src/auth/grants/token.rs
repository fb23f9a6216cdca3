//! Tokens: access for calls, refresh for the next pair. A refresh token is spent by a conditional update, and a spent one
//! that is presented again ends the whole connection (spec.md: OAuth 2.1 for MCP, rule 4).

use std::time::Duration;

use database::{Transaction, on_behalf_of};
use entity::id::{ActivityId, GrantId};
use entity::kind::{GrantState, Surface, TokenKind, TokenState};
use entity::scope::Scopes;
use entity::time::Timestamp;
use entity::{activity, oauth_client, oauth_grant, oauth_token};
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel};
use tracing::warn;
use uuid::Uuid;

use super::ending::{ConnectionEnd, end, living_owner};
use super::lifecycle::{TransitionError, spend};
use super::token_error::TokenError;
use super::{GrantContext, client};
use errors::Error;
use crate::auth::secret::Secret;

/// What an access token begins with.
pub const ACCESS_PREFIX: &str = "ca_";
/// What a refresh token begins with.
pub const REFRESH_PREFIX: &str = "cr_";
/// A refresh token lives so long from the last use of the one before it (contract.md, section 8).
pub const REFRESH_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

/// A pair of tokens, for the one answer that shows them.
#[derive(Debug)]
pub struct TokenPair {
    /// For calls.
    pub access: Secret,
    /// How long it lives.
    pub lives: Duration,
    /// For the next pair.
    pub refresh: Secret,
    /// What the access token allows.
    pub scopes: Scopes,
}

/// What a client presents for its next tokens.
#[derive(Debug)]
pub struct TokenRefresh {
    /// Who asks, authenticated.
    pub client: oauth_client::Model,
    /// The refresh token.
    pub token: String,
    /// Less than was granted, where the client wants less.
    pub scopes: Option<Scopes>,
}

const WHY: &str = "the refresh token is unknown, has expired or was used; authorize again";
const UNKNOWN: TokenError = TokenError::InvalidGrant(WHY);

/// Issues a pair for a connection, which the caller's transaction holds.
pub(super) async fn issue(
    txn: &Transaction,
    ctx: &GrantContext,
    grant: &oauth_grant::Model,
    scopes: Scopes,
    now: Timestamp,
) -> Result<TokenPair, TokenError> {
    let access = Secret::new_token(ACCESS_PREFIX).map_err(Error::internal)?;
    let refresh = Secret::new_token(REFRESH_PREFIX).map_err(Error::internal)?;
    let row = |secret: &Secret, kind, scopes: &Scopes, life| {
        let row = oauth_token::Model {
            hash: secret.hash().bytes().to_vec(),
            grant_id: grant.id,
            branch: grant.branch,
            kind,
            scopes: scopes.clone(),
            issued_at: now,
            expires_at: now + life,
            state: TokenState::Issued,
        };
        row.into_active_model()
    };
    let rows = [
        row(&access, TokenKind::Access, &scopes, ctx.access),
        // It keeps what was granted: a narrower access token does not narrow the next one (RFC 6749, section 6).
        row(&refresh, TokenKind::Refresh, &grant.scopes, REFRESH_LIFE),
    ];
    oauth_token::Entity::insert_many(rows).exec_without_returning(txn).await?;
    Ok(TokenPair { access, lives: ctx.access, refresh, scopes })
}

/// The token of one of these kinds and its connection, whoever's they are. What is no token costs the same look-ups as one,
/// so that the time of a refusal tells nobody which tokens there are.
async fn look_up(
    db: &impl ConnectionTrait,
    sent: &str,
    prefixes: &[&str],
) -> Result<Option<(oauth_token::Model, oauth_grant::Model)>, DbErr> {
    let secret = prefixes.iter().find_map(|prefix| Secret::parse_token(prefix, sent));
    let hash = secret.map(|secret| *secret.hash().bytes()).unwrap_or_default();
    let token = oauth_token::Entity::by_hash(&hash).one(db).await?;
    let grant_id = token.as_ref().map_or(GrantId(Uuid::nil()), |token| token.grant_id);
    let grant = oauth_grant::Entity::of_token(grant_id).one(db).await?;
    Ok(token.zip(grant))
}

/// Whether a token's connection is as it was when the token was issued.
pub(super) fn is_of(ctx: &GrantContext, token: &oauth_token::Model, grant: &oauth_grant::Model) -> bool {
    grant.state == GrantState::Connected && grant.branch == token.branch && *grant.resource == *ctx.resource
}

/// Exchanges a refresh token for the next pair; the old access token lives to its end (contract.md, section 11).
///
/// # Errors
/// [`TokenError::InvalidGrant`]: a token that was spent before ends the connection, any other leaves it as it is.
pub(super) async fn refresh(ctx: &GrantContext, asked: TokenRefresh) -> Result<TokenPair, TokenError> {
    let now = ctx.clock.now();
    let found = look_up(ctx.db.read(), &asked.token, &[REFRESH_PREFIX]).await?;
    let found = Some(found.ok_or(TokenError::UnknownGrant(WHY))?);
    let good = |(token, grant): &(oauth_token::Model, oauth_grant::Model)| {
        grant.client_id == asked.client.id && is_of(ctx, token, grant) && now < token.expires_at
    };
    let (mut token, grant) = found.filter(good).ok_or(UNKNOWN)?;
    let txn = on_behalf_of(grant.user_id, ctx.db.begin()).await?;
    living_owner(&txn, grant.user_id).await?.ok_or(UNKNOWN)?;
    if !client::touch(&txn, asked.client.id, now).await? {
        return Err(TokenError::InvalidClient);
    }
    let grant = oauth_grant::Entity::one_of(grant.user_id, grant.id).one(&txn).await?.ok_or(UNKNOWN)?;
    // It may have ended since it was looked at.
    if !is_of(ctx, &token, &grant) {
        return Err(UNKNOWN);
    }
    match spend(&txn, &mut token).await {
        Ok(()) => {}
        Err(TransitionError::AlreadyUsed) => {
            end(&txn, &grant, ConnectionEnd::Revoked).await?;
            tell_reuse(&txn, &grant, &asked.client, "TOKEN_REUSED", now).await?;
            txn.commit().await?;
            ctx.cache_epoch.bump();
            warn!(grant.id = %grant.id, "ended a connection: a refresh token of it was used twice");
            return Err(UNKNOWN);
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    }
    let scopes = asked.scopes.unwrap_or_else(|| token.scopes.clone());
    if !token.scopes.missing(&scopes).is_empty() {
        // The transaction ends here without a commit: the token is not spent.
        return Err(TokenError::InvalidScope);
    }
    let issued = issue(&txn, ctx, &grant, scopes, now).await?;
    txn.commit().await?;
    Ok(issued)
}

/// Writes into the activity view why a connection ended that its person did not end (design: mcp-oauth.md, P12).
pub(super) async fn tell_reuse(
    txn: &Transaction,
    grant: &oauth_grant::Model,
    client: &oauth_client::Model,
    status: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    let line = activity::Model {
        id: ActivityId::new(now),
        user_id: grant.user_id,
        at: now,
        surface: Surface::Mcp,
        key_id: None,
        app_id: Some(grant.id),
        key_name: None,
        route: Some("POST /oauth/token".to_owned()),
        tool: None,
        status: status.to_owned(),
        client: Some(client::shown_name(client)),
        result_count: None,
    };
    activity::Entity::insert(line.into_active_model()).exec_without_returning(txn).await.map(drop)
}

/// Ends the connection of a token, if it is this client's and the token still belongs to it (RFC 7009); anything else is
/// left as it is.
pub(super) async fn revoke(
    ctx: &GrantContext,
    client: oauth_client::Model,
    sent: String,
) -> Result<(), TokenError> {
    let found = look_up(ctx.db.read(), &sent, &[ACCESS_PREFIX, REFRESH_PREFIX]).await?;
    let Some((token, grant)) = found.filter(|(_, grant)| grant.client_id == client.id) else { return Ok(()) };
    let txn = on_behalf_of(grant.user_id, ctx.db.begin()).await?;
    if living_owner(&txn, grant.user_id).await?.is_none() {
        return Ok(());
    }
    let Some(grant) = oauth_grant::Entity::one_of(grant.user_id, grant.id).one(&txn).await? else {
        return Ok(());
    };
    if !is_of(ctx, &token, &grant) {
        return Ok(());
    }
    end(&txn, &grant, ConnectionEnd::Revoked).await?;
    txn.commit().await?;
    ctx.cache_epoch.bump();
    Ok(())
}

/// The access token that a caller sent, with its connection.
pub(super) async fn find_access(
    db: &impl ConnectionTrait,
    secret: &Secret,
) -> Result<Option<(oauth_token::Model, oauth_grant::Model)>, DbErr> {
    look_up(db, secret.expose(), &[ACCESS_PREFIX]).await
}
