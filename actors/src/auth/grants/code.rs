//! The exchange of an authorization code for a grant: once, by the client that it was issued to, with the right verifier.
//!
//! The first authenticated client that presents a code spends it, whether that client gets tokens or not. A code that is presented
//! again ends the grant that it made (OAuth 2.1, section 4.1.3).

use database::{Transaction, on_behalf_of};
use entity::{oauth_client, oauth_code, oauth_grant, oauth_token};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use tracing::warn;
use values::id::GrantId;
use values::kind::{CodeState, GrantState};
use values::time::Timestamp;

use super::consent::CODE_PREFIX;
use super::context::GrantContext;
use super::lifecycle::{TransitionError, present_code, redeem_code};
use super::pkce::CodeVerifier;
use super::revocation::{GrantEnd, end, lock_active_owner};
use super::token::{TokenPair, issue, record_reuse};
use super::token_error::TokenError;
use super::{client, pkce};
use crate::auth::secret::Secret;
use crate::{notices, service_state};

/// Ended token families of a grant whose tokens are kept, so that presenting one of them does not count as a guess. A user may connect
/// a client again without limit, and each time adds tokens that are kept for up to 91 days.
pub(super) const MAX_ENDED_FAMILIES: i64 = 100;

/// A request of a client for its first tokens. Without `Debug`, which would show the code.
pub struct CodeExchange {
    /// The client, whose credentials were checked.
    pub client: oauth_client::Model,
    /// The code, as the client sent it.
    pub code: String,
    /// The redirect URI of the authorization request, which the client must repeat.
    pub redirect_uri: Option<String>,
    /// The PKCE code verifier (RFC 7636, section 4.5); `None` if it is missing or malformed. The code is spent in that case too, because
    /// it has been presented.
    pub verifier: Option<CodeVerifier>,
}

impl CodeExchange {
    /// Checks whether the code was issued for this exchange.
    fn check(&self, code: &oauth_code::Model, now: Timestamp) -> Result<(), TokenError> {
        let Some(verifier) = &self.verifier else { return Err(TokenError::InvalidVerifier) };
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
        if !pkce::is_match(&code.challenge, verifier) {
            return Err(TokenError::InvalidGrant("code_verifier does not match the code_challenge"));
        }
        Ok(())
    }
}

const INVALID_CODE: &str = "the code is unknown, has expired or was used; authorize again";
const CODE_SPENT: TokenError = TokenError::InvalidGrant(INVALID_CODE);
const CODE_UNKNOWN: TokenError = TokenError::UnknownGrant(INVALID_CODE);

/// Finds the code that a client sent, in whatever state it is. It is presented by [`exchange`] alone.
///
/// # Errors
/// [`TokenError::UnknownGrant`] if there is no such code; [`TokenError::Internal`] when the database fails.
pub(super) async fn find_code(ctx: &GrantContext, sent: &str) -> Result<oauth_code::Model, TokenError> {
    let hash = Secret::parse_token(CODE_PREFIX, sent).ok_or(CODE_UNKNOWN)?.hash();
    oauth_code::Entity::by_hash(hash.bytes()).one(ctx.db.read()).await?.ok_or(CODE_UNKNOWN)
}

/// Exchanges the code that [`find_code`] returned for the first tokens of a grant.
///
/// # Errors
/// [`TokenError::InvalidGrant`] and [`TokenError::InvalidVerifier`]; the code is spent then.
pub(super) async fn exchange(
    ctx: &GrantContext,
    request: CodeExchange,
    mut found: oauth_code::Model,
) -> Result<TokenPair, TokenError> {
    let now = ctx.clock.now();
    let txn = on_behalf_of(found.user_id, ctx.db.begin()).await?;
    let owner = lock_active_owner(&txn, found.user_id).await?.ok_or(CODE_SPENT)?;
    if !client::lock_for_use(&txn, &request.client, now).await? {
        return Err(TokenError::InvalidClient);
    }
    match present_code(&txn, &mut found).await {
        Ok(()) => {}
        Err(TransitionError::AlreadyUsed) => {
            if let Some(generation) = end_reused(&txn, &found.hash, &request.client, now).await? {
                txn.commit().await?;
                ctx.cache_epoch.record_own_change(owner.id, generation);
            }
            return Err(CODE_SPENT);
        }
        Err(TransitionError::Database(error)) => return Err(error.into()),
    }
    if let Err(error) = request.check(&found, now) {
        // Committed although the exchange fails: the code stays spent, so a verifier cannot be guessed by further attempts.
        txn.commit().await?;
        return Err(error);
    }
    let grant = connect(&txn, ctx, &found, now).await?;
    redeem_code(&txn, &mut found, grant.token_family).await?;
    let issued = issue(&txn, ctx, &grant, grant.scopes.clone(), now).await?;
    notices::app_connected(&txn, owner.id, grant.id, &client::shown_name(&request.client), now).await?;
    let generation = service_state::raise_generation(&txn).await?;
    txn.commit().await?;
    ctx.cache_epoch.record_own_change(owner.id, generation);
    Ok(issued)
}

/// Ends the grant that a code made, if it is still the same one. Returns the generation that this raised; `None` if no grant ended.
async fn end_reused(
    txn: &Transaction,
    hash: &[u8],
    client: &oauth_client::Model,
    now: Timestamp,
) -> Result<Option<i64>, DbErr> {
    let Some(code) = oauth_code::Entity::by_hash(hash).one(txn).await? else { return Ok(None) };
    let Some(grant) = oauth_grant::Entity::between(code.user_id, code.client_id).one(txn).await? else {
        return Ok(None);
    };
    if code.token_family != Some(grant.token_family) {
        return Ok(None);
    }
    let ended = end(txn, &grant, GrantEnd::Revoked).await?;
    if ended.is_some() {
        record_reuse(txn, &grant, client, "CODE_REUSED", now).await?;
        warn!(grant.id = %grant.id, "ended a grant: its authorization code was used twice");
    }
    Ok(ended)
}

/// Makes the grant, or makes it again: then every earlier token and code of it ends (contract.md, section 11).
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
        token_family: 1,
        scopes: code.scopes.clone(),
        resource: ctx.resource.to_string(),
        connected_at: now,
        last_used_at: None,
        mcp_client: None,
    };
    let update = OnConflict::columns([Column::UserId, Column::ClientId])
        .update_columns([Column::State, Column::Scopes, Column::Resource, Column::ConnectedAt])
        .value(Column::TokenFamily, Expr::col((oauth_grant::Entity, Column::TokenFamily)).add(1))
        .to_owned();
    // An upsert: the row of a grant that has ended stays, and its number must rise, never start again at 1.
    oauth_grant::Entity::insert(new.into_active_model())
        .on_conflict(update)
        .exec_without_returning(txn)
        .await?;
    let between = oauth_grant::Entity::between(code.user_id, code.client_id);
    let grant = between.one(txn).await?.ok_or(CODE_SPENT)?;
    remove_earlier_codes(txn, code).await?;
    remove_earlier_tokens(txn, &grant).await?;
    Ok(grant)
}

/// Removes the tokens of families that ended before the latest [`MAX_ENDED_FAMILIES`]. None of them is valid.
async fn remove_earlier_tokens(txn: &Transaction, grant: &oauth_grant::Model) -> Result<(), DbErr> {
    let first_kept = grant.token_family.saturating_sub(MAX_ENDED_FAMILIES);
    oauth_token::Entity::delete_many()
        .filter(oauth_token::Column::GrantId.eq(grant.id))
        .filter(oauth_token::Column::TokenFamily.lt(first_kept))
        .exec(txn)
        .await
        .map(drop)
}

/// Removes codes of the same grant that were issued before this one and not exchanged yet.
async fn remove_earlier_codes(txn: &Transaction, code: &oauth_code::Model) -> Result<(), DbErr> {
    oauth_code::Entity::delete_owned(code.user_id)
        .filter(oauth_code::Column::ClientId.eq(code.client_id))
        .filter(oauth_code::Column::State.eq(CodeState::Issued))
        .filter(oauth_code::Column::IssuedAt.lte(code.issued_at))
        .exec(txn)
        .await
        .map(drop)
}
