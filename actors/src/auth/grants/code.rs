//! A code becomes a connection: once, for the client it was issued to, by whoever knows the verifier.
//!
//! A code is spent by the first authenticated client that presents it, whether that gets tokens or not; a second time it
//! ends the connection that it made (OAuth 2.1, section 4.1.3).

use database::{Transaction, on_behalf_of};
use entity::id::GrantId;
use entity::kind::{CodeState, GrantState};
use entity::time::Timestamp;
use entity::{oauth_client, oauth_code, oauth_grant};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use tracing::warn;

use super::consent::CODE_PREFIX;
use super::ending::{ConnectionEnd, end, living_owner};
use super::lifecycle::{TransitionError, present, redeem};
use super::token::{TokenPair, issue, tell_reuse};
use super::token_error::TokenError;
use super::{GrantContext, client, pkce};
use crate::auth::secret::Secret;
use crate::{notices, service_state};

/// What a client presents for its first tokens.
#[derive(Debug)]
pub struct CodeExchange {
    /// Who asks, authenticated.
    pub client: oauth_client::Model,
    /// The code.
    pub code: String,
    /// Where it was sent, said again.
    pub redirect_uri: Option<String>,
    /// What the challenge was made from.
    pub verifier: String,
}

impl CodeExchange {
    /// Whether the code was issued for this; the reason where not.
    fn fits(&self, code: &oauth_code::Model, now: Timestamp) -> Result<(), TokenError> {
        if code.client_id != self.client.id {
            return Err(TokenError::InvalidGrant("the code was issued to another client"));
        }
        if now >= code.expires_at {
            return Err(TokenError::InvalidGrant("the code has expired; authorize again"));
        }
        if self.redirect_uri.as_ref() != Some(&code.redirect_uri) {
            return Err(TokenError::InvalidGrant(
                "redirect_uri differs from that of the authorization request",
            ));
        }
        if !pkce::fits(&code.challenge, &self.verifier) {
            return Err(TokenError::InvalidGrant("code_verifier does not match the code_challenge"));
        }
        Ok(())
    }
}

const WHY: &str = "the code is unknown, has expired or was used; authorize again";
const UNKNOWN: TokenError = TokenError::InvalidGrant(WHY);
const GUESSED: TokenError = TokenError::UnknownGrant(WHY);

/// Exchanges a code for the first tokens of a connection.
///
/// # Errors
/// [`TokenError::InvalidGrant`]; the code is spent then.
pub(super) async fn exchange(ctx: &GrantContext, asked: CodeExchange) -> Result<TokenPair, TokenError> {
    let now = ctx.clock.now();
    let hash = Secret::parse_token(CODE_PREFIX, &asked.code).ok_or(GUESSED)?.hash();
    let mut found = oauth_code::Entity::by_hash(hash.bytes()).one(ctx.db.read()).await?.ok_or(GUESSED)?;
    let txn = on_behalf_of(found.user_id, ctx.db.begin()).await?;
    let owner = living_owner(&txn, found.user_id).await?.ok_or(UNKNOWN)?;
    if !client::touch(&txn, asked.client.id, now).await? {
        return Err(TokenError::InvalidClient);
    }
    match present(&txn, &mut found).await {
        Ok(()) => {}
        Err(TransitionError::AlreadyUsed) => {
            if end_reused(&txn, hash.bytes(), &asked.client, now).await? {
                txn.commit().await?;
                ctx.cache_epoch.bump();
            }
            return Err(UNKNOWN);
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    }
    if let Err(unfit) = asked.fits(&found, now) {
        txn.commit().await?;
        return Err(unfit);
    }
    let grant = connect(&txn, ctx, &found, now).await?;
    redeem(&txn, &mut found, grant.branch).await?;
    let issued = issue(&txn, ctx, &grant, grant.scopes.clone(), now).await?;
    notices::app_connected(&txn, owner.id, &client::shown_name(&asked.client), now).await?;
    service_state::raise_generation(&txn).await?;
    txn.commit().await?;
    ctx.cache_epoch.bump();
    Ok(issued)
}

/// Ends the connection that a code made, if it still is the same one; whether it did.
async fn end_reused(
    txn: &Transaction,
    hash: &[u8],
    client: &oauth_client::Model,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let Some(code) = oauth_code::Entity::by_hash(hash).one(txn).await? else { return Ok(false) };
    let Some(grant) = oauth_grant::Entity::between(code.user_id, code.client_id).one(txn).await? else {
        return Ok(false);
    };
    let ended = code.branch == Some(grant.branch) && end(txn, &grant, ConnectionEnd::Revoked).await?;
    if ended {
        tell_reuse(txn, &grant, client, "CODE_REUSED", now).await?;
        warn!(grant.id = %grant.id, "ended a connection: its authorization code was used twice");
    }
    Ok(ended)
}

/// Makes the connection, or makes it anew: then every earlier token and code of it ends (contract.md, section 11).
async fn connect(
    txn: &Transaction,
    ctx: &GrantContext,
    code: &oauth_code::Model,
    now: Timestamp,
) -> Result<oauth_grant::Model, TokenError> {
    use oauth_grant::Column;
    let new = oauth_grant::Model {
        id: GrantId::new(now),
        user_id: code.user_id,
        client_id: code.client_id,
        state: GrantState::Connected,
        branch: 1,
        scopes: code.scopes.clone(),
        resource: ctx.resource.to_string(),
        connected_at: now,
        last_used_at: None,
        mcp_client: None,
    };
    let anew = OnConflict::columns([Column::UserId, Column::ClientId])
        .update_columns([Column::State, Column::Scopes, Column::Resource, Column::ConnectedAt])
        .value(Column::Branch, Expr::col((oauth_grant::Entity, Column::Branch)).add(1))
        .to_owned();
    oauth_grant::Entity::insert(new.into_active_model())
        .on_conflict(anew)
        .exec_without_returning(txn)
        .await?;
    let between = oauth_grant::Entity::between(code.user_id, code.client_id);
    let grant = between.one(txn).await?.ok_or(UNKNOWN)?;
    forget_earlier(txn, code).await?;
    Ok(grant)
}

/// Codes of the same connection that were issued before this one and wait for their exchange.
async fn forget_earlier(txn: &Transaction, code: &oauth_code::Model) -> Result<(), DbErr> {
    oauth_code::Entity::delete_many()
        .filter(oauth_code::Column::UserId.eq(code.user_id))
        .filter(oauth_code::Column::ClientId.eq(code.client_id))
        .filter(oauth_code::Column::State.eq(CodeState::Issued))
        .filter(oauth_code::Column::IssuedAt.lte(code.issued_at))
        .exec(txn)
        .await
        .map(drop)
}
