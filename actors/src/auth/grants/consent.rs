//! The consent page: what it asks for waits here until the person answers, once.
//!
//! The page holds a ticket and nothing else of the request, so a form cannot widen it. A ticket is good for the browser
//! that it was shown to, for ten minutes, and for one answer: taking it and issuing the code are one transaction.

use std::time::Duration;

use database::{Transaction, on_behalf_of};
use entity::id::{SessionId, UserId};
use entity::kind::CodeState;
use entity::oauth_consent;
use entity::plan::Plan;
use entity::scope::{Scope, Scopes};
use entity::{oauth_client, oauth_code, session};
use sea_orm::sea_query::{Expr, ExprTrait, Order, Query};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};

use super::end::living_owner;
use super::{Terms, client};
use errors::Error;
use crate::auth::secret::Secret;

/// What the ticket in a consent page begins with.
pub const TICKET_PREFIX: &str = "ct_";
/// What an authorization code begins with.
pub const CODE_PREFIX: &str = "cc_";
/// A browser has so many consent pages open at a time; older ones are good no more.
const MOST_TICKETS: u64 = 20;
const TICKET_LIFE: Duration = Duration::from_secs(600);

/// A request for authorization that was found good.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub client: oauth_client::Model,
    /// Where the answer goes: one of the client's addresses.
    pub redirect_uri: String,
    /// What the client wants back.
    pub state: String,
    /// SHA-256 of the client's verifier.
    pub challenge: String,
    /// What it asks for, of what may be granted at all.
    pub scopes: Scopes,
}

impl Request {
    /// What the person is offered: what was asked for and the plan allows, and else the default (contract.md, section 11).
    pub fn offered(&self, plan: Plan) -> Scopes {
        let within = self.scopes.within(plan);
        if within.is_empty() { [Scope::ReadLibrary].as_slice().into() } else { within }
    }
}

/// A signed-in browser.
#[derive(Clone, Copy, Debug)]
pub struct Browser {
    /// Who is signed in.
    pub user: UserId,
    /// Its session.
    pub session: SessionId,
}

/// What came of a consent page.
#[derive(Debug)]
pub struct Decided {
    /// Where the answer goes.
    pub redirect_uri: String,
    /// What the client wants back.
    pub state: String,
    /// The code; none where the person declined.
    pub code: Option<Secret>,
}

/// Keeps what a consent page asks for; the ticket that stands for it.
pub(super) async fn ask(
    terms: &Terms,
    request: Request,
    browser: Browser,
    offered: Scopes,
) -> Result<Secret, Error> {
    let (now, ticket) = (terms.clock.now(), Secret::new_token(TICKET_PREFIX).map_err(Error::internal)?);
    let row = oauth_consent::Model {
        hash: ticket.hash().bytes().to_vec(),
        session_id: browser.session,
        user_id: browser.user,
        client_id: request.client.id,
        redirect_uri: request.redirect_uri,
        state: request.state,
        challenge: request.challenge,
        scopes: offered,
        expires_at: now + TICKET_LIFE,
    };
    let txn = on_behalf_of(browser.user, terms.db.begin()).await?;
    let hash = row.hash.clone();
    oauth_consent::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    let newest = Query::select()
        .column(oauth_consent::Column::Hash)
        .from(oauth_consent::Entity)
        .and_where(oauth_consent::Column::SessionId.eq(browser.session))
        .order_by(oauth_consent::Column::ExpiresAt, Order::Desc)
        .limit(MOST_TICKETS)
        .take();
    oauth_consent::Entity::delete_many()
        .filter(oauth_consent::Column::SessionId.eq(browser.session))
        .filter(oauth_consent::Column::Hash.ne(hash))
        .filter(Expr::col(oauth_consent::Column::Hash).not_in_subquery(newest))
        .exec(&txn)
        .await?;
    txn.commit().await?;
    Ok(ticket)
}

/// Takes the ticket and issues the code for what was ticked; nothing ticked is a refusal. `None` where the ticket is not
/// one of this browser, or not any more.
pub(super) async fn decide(
    terms: &Terms,
    browser: Browser,
    ticket: &Secret,
    ticked: Scopes,
) -> Result<Option<Decided>, Error> {
    let (now, hash) = (terms.clock.now(), ticket.hash());
    let txn = on_behalf_of(browser.user, terms.db.begin()).await?;
    // Whoever changes the password or shuts the account waits, or has ended the session before.
    let Some(owner) = living_owner(&txn, browser.user).await? else { return Ok(None) };
    if session::Entity::owned_by(owner.id)
        .filter(session::Column::Id.eq(browser.session))
        .one(&txn)
        .await?
        .is_none()
    {
        return Ok(None);
    }
    let shown = oauth_consent::Entity::shown_to(owner.id, browser.session, hash.bytes());
    let Some(asked) = shown.one(&txn).await?.filter(|asked| now < asked.expires_at) else { return Ok(None) };
    let taken = oauth_consent::Entity::delete_by_id(hash.bytes().to_vec()).exec(&txn).await?;
    if taken.rows_affected != 1 || !client::touch(&txn, asked.client_id, now).await? {
        return Ok(None);
    }
    // What an application says of itself may have changed since the page was shown.
    let client = oauth_client::Entity::find_by_id(asked.client_id).one(&txn).await?;
    let still = |client: &oauth_client::Model| {
        terms.redirects.registered(&client.redirect_uris.0, &asked.redirect_uri)
    };
    if !client.is_some_and(|client| still(&client)) {
        return Ok(None);
    }
    let granted = ticked.intersection(&asked.scopes).within(owner.plan);
    let (redirect_uri, state) = (asked.redirect_uri.clone(), asked.state.clone());
    let code = if granted.is_empty() { None } else { Some(issue(&txn, terms, asked, granted).await?) };
    txn.commit().await?;
    Ok(Some(Decided { redirect_uri, state, code }))
}

/// A code for what was granted of this.
async fn issue(
    txn: &Transaction,
    terms: &Terms,
    asked: oauth_consent::Model,
    granted: Scopes,
) -> Result<Secret, Error> {
    let (now, code) = (terms.clock.now(), Secret::new_token(CODE_PREFIX).map_err(Error::internal)?);
    let row = oauth_code::Model {
        hash: code.hash().bytes().to_vec(),
        user_id: asked.user_id,
        client_id: asked.client_id,
        redirect_uri: asked.redirect_uri,
        challenge: asked.challenge,
        scopes: granted,
        issued_at: now,
        expires_at: now + terms.code,
        state: CodeState::Issued,
        branch: None,
    };
    oauth_code::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(code)
}
