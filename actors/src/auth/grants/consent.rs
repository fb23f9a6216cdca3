//! The consent page: what it offers is stored until the user answers, once.
//!
//! The page contains a ticket and nothing else of the request, so its form cannot widen the request. A ticket is valid in the browser
//! that it was shown to, for ten minutes, and for one answer: using it up and issuing the code are one transaction.

use std::time::Duration;

use database::{Transaction, on_behalf_of};
use entity::oauth_consent;
use entity::{oauth_client, oauth_code, session};
use errors::Error;
use sea_orm::sea_query::{Expr, ExprTrait, Order, Query};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::{ClientId, SessionId, UserId};
use values::kind::CodeState;
use values::plan::Plan;
use values::scope::{Scope, Scopes};

use super::client;
use super::context::GrantContext;
use super::revocation::lock_active_owner;
use crate::auth::secret::Secret;

/// The prefix of the ticket in a consent page.
pub const TICKET_PREFIX: &str = "ct_";
/// The prefix of an authorization code.
pub const CODE_PREFIX: &str = "cc_";
/// Consent pages that a browser may have open at the same time; the tickets of older ones are invalid.
const MAX_TICKETS: u64 = 20;
/// Codes that are kept of a user and a client. Consents are not limited, and a code is kept for 90 days, exchanged or not.
pub(super) const MAX_CODES: u64 = 100;
const TICKET_LIFETIME: Duration = Duration::from_secs(600);

/// An authorization request whose parameters were checked (RFC 6749, section 4.1.1).
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    /// The registered client that sends it.
    pub client: oauth_client::Model,
    /// The URL that the user is redirected to: one of the client's redirect URIs.
    pub redirect_uri: String,
    /// The value that the client gets back unchanged.
    pub state: String,
    /// The PKCE code challenge, of the method S256.
    pub challenge: String,
    /// The requested scopes, as far as they can be granted at all.
    pub scopes: Scopes,
}

impl AuthorizationRequest {
    /// Returns the scopes that the user is offered: the requested ones within the plan, or else the default (contract.md, section 11).
    pub fn offered(&self, plan: Plan) -> Scopes {
        let within = self.scopes.within(plan);
        if within.is_empty() { [Scope::ReadLibrary].as_slice().into() } else { within }
    }
}

/// A signed-in browser, to which the tickets of its consent pages are bound.
#[derive(Clone, Copy, Debug)]
pub struct Browser {
    /// The user who is signed in.
    pub user: UserId,
    /// The session of the browser.
    pub session: SessionId,
}

/// The user's decision on a consent page.
#[derive(Debug)]
pub struct ConsentDecision {
    /// The URL that the user is redirected to.
    pub redirect_uri: String,
    /// The value that the client gets back unchanged.
    pub state: String,
    /// The authorization code; `None` if the user declined.
    pub code: Option<Secret>,
}

/// Stores what a consent page offers, and returns its ticket.
pub(super) async fn create_ticket(
    ctx: &GrantContext,
    request: AuthorizationRequest,
    browser: Browser,
    offered: Scopes,
) -> Result<Secret, Error> {
    let (now, ticket) = (ctx.clock.now(), Secret::new_token(TICKET_PREFIX).map_err(Error::internal)?);
    let row = oauth_consent::Model {
        hash: ticket.hash().bytes().to_vec(),
        session_id: browser.session,
        user_id: browser.user,
        client_id: request.client.id,
        redirect_uri: request.redirect_uri,
        state: request.state,
        challenge: request.challenge,
        scopes: offered,
        expires_at: now + TICKET_LIFETIME,
    };
    let txn = on_behalf_of(browser.user, ctx.db.begin()).await?;
    let hash = row.hash.clone();
    oauth_consent::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    let newest = Query::select()
        .column(oauth_consent::Column::Hash)
        .from(oauth_consent::Entity)
        .and_where(oauth_consent::Column::SessionId.eq(browser.session))
        .order_by(oauth_consent::Column::ExpiresAt, Order::Desc)
        .limit(MAX_TICKETS)
        .take();
    oauth_consent::Entity::delete_owned(browser.user)
        .filter(oauth_consent::Column::SessionId.eq(browser.session))
        // The new ticket stays even if the clock was set back and others expire later.
        .filter(oauth_consent::Column::Hash.ne(hash))
        .filter(Expr::col(oauth_consent::Column::Hash).not_in_subquery(newest))
        .exec(&txn)
        .await?;
    txn.commit().await?;
    Ok(ticket)
}

/// Uses up the ticket and issues the code for the ticked scopes; no ticked scope is a refusal. Returns `None` if the ticket is not
/// one of this browser, or no longer valid.
pub(super) async fn decide(
    ctx: &GrantContext,
    browser: Browser,
    ticket: &Secret,
    ticked: Scopes,
) -> Result<Option<ConsentDecision>, Error> {
    let (now, hash) = (ctx.clock.now(), ticket.hash());
    let txn = on_behalf_of(browser.user, ctx.db.begin()).await?;
    // A change of the password and the disabling of the account lock the same row: they wait, or have ended the session before.
    let Some(owner) = lock_active_owner(&txn, browser.user).await? else { return Ok(None) };
    if session::Entity::owned_by(owner.id)
        .filter(session::Column::Id.eq(browser.session))
        .one(&txn)
        .await?
        .is_none()
    {
        return Ok(None);
    }
    let shown = oauth_consent::Entity::shown_to(owner.id, browser.session, hash.bytes());
    let Some(offer) = shown.one(&txn).await?.filter(|offer| now < offer.expires_at) else { return Ok(None) };
    // The row count: of two answers to the same page at the same time, the one that deletes the row counts.
    let is_spent = oauth_consent::Entity::delete_owned_row(&txn, owner.id, offer.clone()).await?;
    if !is_spent || !client::touch(&txn, offer.client_id, now).await? {
        return Ok(None);
    }
    // The metadata of the client may have changed since the page was shown.
    let client = oauth_client::Entity::find_by_id(offer.client_id).one(&txn).await?;
    let is_registered = |client: &oauth_client::Model| {
        ctx.redirects.is_registered(&client.redirect_uris.0, &offer.redirect_uri)
    };
    if !client.is_some_and(|client| is_registered(&client)) {
        return Ok(None);
    }
    // The form of the page may have been changed, and the plan of the user too.
    let granted = ticked.intersection(&offer.scopes).within(owner.plan);
    let (redirect_uri, state) = (offer.redirect_uri.clone(), offer.state.clone());
    let code = if granted.is_empty() { None } else { Some(issue_code(&txn, ctx, offer, granted).await?) };
    txn.commit().await?;
    Ok(Some(ConsentDecision { redirect_uri, state, code }))
}

/// Issues a code for the granted scopes of an offer.
async fn issue_code(
    txn: &Transaction,
    ctx: &GrantContext,
    offer: oauth_consent::Model,
    granted: Scopes,
) -> Result<Secret, Error> {
    let (now, code) = (ctx.clock.now(), Secret::new_token(CODE_PREFIX).map_err(Error::internal)?);
    let row = oauth_code::Model {
        hash: code.hash().bytes().to_vec(),
        user_id: offer.user_id,
        client_id: offer.client_id,
        redirect_uri: offer.redirect_uri,
        challenge: offer.challenge,
        scopes: granted,
        issued_at: now,
        expires_at: now + ctx.code_lifetime,
        state: CodeState::Issued,
        token_family: None,
    };
    let (user, client, hash) = (row.user_id, row.client_id, row.hash.clone());
    oauth_code::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    remove_oldest_codes(txn, user, client, hash).await?;
    Ok(code)
}

/// Removes the codes of a user and a client that are older than the newest [`MAX_CODES`], except the one that was just issued. The user
/// has consented to each newer one, and the exchange of a newer one ends the tokens of the older ones.
async fn remove_oldest_codes(
    txn: &Transaction,
    user: UserId,
    client: ClientId,
    issued: Vec<u8>,
) -> Result<(), DbErr> {
    use oauth_code::Column;
    let oldest_kept = Query::select()
        .column(Column::IssuedAt)
        .from(oauth_code::Entity)
        .and_where(Column::UserId.eq(user))
        .and_where(Column::ClientId.eq(client))
        .order_by(Column::IssuedAt, Order::Desc)
        .limit(1)
        .offset(MAX_CODES - 1)
        .take();
    oauth_code::Entity::delete_owned(user)
        .filter(Column::ClientId.eq(client))
        .filter(Expr::col((oauth_code::Entity, Column::IssuedAt)).lt(oldest_kept))
        // The new code stays even if the clock was set back and others were issued later.
        .filter(Column::Hash.ne(issued))
        .exec(txn)
        .await
        .map(drop)
}
