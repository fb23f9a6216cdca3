//! Connections: applications that people let in by OAuth, from registration to the end (contract.md, sections 8 and 11).
//!
//! A connection is one person and one application. It has a number that moves on whenever it is made anew or ends, and a
//! token works only under the number that it was issued under: so there is never more than one living branch of tokens,
//! whatever happens at once on however many nodes. Recognised access tokens are cached under the same epoch as keys, so a
//! revoked one stops before its revocation is answered, and within a second where another process revoked it.

mod actor;
pub mod client;
mod code;
mod connection_test;
mod connections;
mod consent;
mod ending;
mod lifecycle;
pub mod pkce;
pub mod redirect;
mod sign_in_ticket;
mod sweep;
mod token;
mod token_error;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::id::{ClientId, GrantId, UserId};
use entity::plan::Plan;
use entity::scope::Scopes;
use entity::time::Timestamp;
use entity::{oauth_client, oauth_grant, user};
use moka::sync::Cache;
use runtime::{Flush, Port, SupervisorConfig, supervise};
use sea_orm::{DbErr, EntityTrait};

use library::clock::Clock;
use errors::Error;
use crate::auth::keys::cache_epoch::CacheEpoch;
use crate::auth::secret::{Secret, SecretHash};
use crate::auth::limits::IpRateLimiter;
use crate::service_state;
use actor::{ConsentOffer, ConsentAnswer, Disconnection, GrantActor, GrantClientInfo, TokenRevocation};
use client::{ClientMetadata, InvalidClientMetadata, ClientCredentials};
use connection_test::ConnectionTests;
use redirect::RedirectRules;

pub use actor::GrantUse;
pub use code::CodeExchange;
pub use connection_test::ConnectionTestLock;
pub use connections::{disconnect, list_connections};
pub use consent::{Browser, ConsentDecision, AuthorizationRequest, TICKET_PREFIX};
pub(crate) use ending::end_all;
pub use sign_in_ticket::SIGN_IN_PREFIX;
pub use token::{ACCESS_PREFIX, TokenPair, TokenRefresh};
pub use token_error::TokenError;

const CACHED: u64 = 10_000;
/// Each leaves a row until the next clean-up. A whole office behind one address opens fewer.
const SIGN_IN_PAGES_PER_MINUTE: u32 = 600;
/// A document about an application is read no more often.
const DOCUMENT_FRESH: Duration = Duration::from_secs(900);
/// For so long it does where it cannot be read again.
const DOCUMENT_USABLE: Duration = Duration::from_secs(24 * 3600);

/// How long ago a document about an application was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentAge {
    /// A moment ago: it is not read again.
    Fresh,
    /// It is read again, and does where that fails.
    Usable,
    /// It is read again.
    Old,
}

/// What the operator has set.
#[derive(Clone, Debug)]
pub struct GrantSettings {
    /// Whether applications may register themselves.
    pub open: bool,
    /// Whether an application may be named by the address of a document about itself.
    pub documents: bool,
    /// Registrations of one address in an hour.
    pub registrations_per_hour: u32,
    /// Life of a code.
    pub code: Duration,
    /// Life of an access token.
    pub access: Duration,
    /// A client unused for longer is forgotten.
    pub unused_client: Duration,
    /// What may be a redirect address.
    pub redirects: RedirectRules,
}

/// What every step is made with.
#[derive(Clone)]
pub(crate) struct GrantContext {
    db: Db,
    clock: Arc<dyn Clock>,
    /// Raised by each step that ends a token, before it is answered.
    cache_epoch: Arc<CacheEpoch>,
    /// What tokens are for: the MCP server of this service (RFC 8707).
    resource: Arc<str>,
    code: Duration,
    access: Duration,
    unused_client: Duration,
    redirects: Arc<RedirectRules>,
}

/// What is known of an access token that was presented.
#[derive(Clone, Debug)]
pub struct TokenAccess {
    /// The connection.
    pub grant: GrantId,
    /// Who connected it.
    pub user: UserId,
    /// That person's plan.
    pub plan: Plan,
    /// What the token allows.
    pub scopes: Scopes,
    /// What the application calls itself.
    pub client_name: String,
    /// Name and version of its latest MCP `initialize`.
    pub mcp_client: Option<String>,
    expires_at: Timestamp,
    epoch: u64,
}

/// Whether an access token is one.
#[derive(Clone, Debug)]
pub enum TokenLookup {
    /// It is.
    Good(Arc<TokenAccess>),
    /// It was one.
    Expired,
    /// It is not, or not any more.
    Unknown,
}

/// Why an application was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// The operator does not allow applications to register themselves (`oauth.registration`).
    #[error("registration is closed; the operator opens it with the setting oauth.registration")]
    Closed,
    /// The metadata of the application is not valid.
    #[error(transparent)]
    InvalidMetadata(#[from] InvalidClientMetadata),
    /// Too many registrations from one IP address; how long to wait.
    #[error("too many registrations from this IP address; try again later")]
    TooManyAttempts(Duration),
    /// Another error, such as of the database.
    #[error(transparent)]
    Internal(#[from] Error),
}

/// The connections of everybody.
#[derive(Clone)]
pub struct Grants {
    ctx: GrantContext,
    open: bool,
    documents: bool,
    registrations: Arc<IpRateLimiter>,
    readings: Arc<IpRateLimiter>,
    pages: Arc<IpRateLimiter>,
    connection_tests: ConnectionTests,
    cache: Cache<SecretHash, Arc<TokenAccess>>,
    port: Port<GrantActor>,
}

impl Grants {
    /// Starts the actor; the epoch is that of the keys.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        cache_epoch: Arc<CacheEpoch>,
        base_url: &str,
        settings: GrantSettings,
    ) -> Self {
        let ctx = GrantContext {
            db,
            clock: clock.clone(),
            cache_epoch,
            resource: format!("{base_url}/mcp").into(),
            code: settings.code,
            access: settings.access,
            unused_client: settings.unused_client,
            redirects: Arc::new(settings.redirects),
        };
        let config = SupervisorConfig { name: "grants", permits: 64, timeout: Duration::from_secs(8) };
        let kept = ctx.clone();
        Self {
            ctx,
            open: settings.open,
            documents: settings.documents,
            registrations: Arc::new(IpRateLimiter::per_hour(settings.registrations_per_hour, clock.clone())),
            readings: Arc::new(IpRateLimiter::per_hour(settings.registrations_per_hour, clock.clone())),
            pages: Arc::new(IpRateLimiter::per_minute(SIGN_IN_PAGES_PER_MINUTE, clock)),
            connection_tests: ConnectionTests::new(),
            cache: Cache::builder().max_capacity(CACHED).time_to_idle(Duration::from_secs(600)).build(),
            port: supervise(on, config, move || GrantActor::new(kept.clone())),
        }
    }

    /// Starts a connection test.
    ///
    /// # Errors
    /// [`Error::Busy`] while another one runs, and for a moment after it.
    pub fn begin_connection_test(&self) -> Result<ConnectionTestLock, Error> {
        self.connection_tests.begin()
    }

    /// Removes a client with its connections and tokens; none of them works any more when this returns.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn remove_client(&self, client: ClientId) -> Result<(), Error> {
        let txn = self.ctx.db.begin().await?;
        oauth_client::Entity::delete_by_id(client).exec(&txn).await?;
        service_state::raise_generation(&txn).await?;
        txn.commit().await?;
        self.ctx.cache_epoch.bump();
        Ok(())
    }

    /// Whether applications may register themselves.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// What may be a redirect address.
    pub fn redirects(&self) -> &RedirectRules {
        &self.ctx.redirects
    }

    /// The canonical name of what tokens are for.
    pub fn resource(&self) -> &str {
        &self.ctx.resource
    }

    /// Registers an application; its secret, where it has one, is never to be had again.
    pub async fn register(
        &self,
        address: Option<IpAddr>,
        metadata: ClientMetadata,
    ) -> Result<(oauth_client::Model, Option<Secret>), RegistrationError> {
        if !self.open {
            return Err(RegistrationError::Closed);
        }
        let client = metadata.accept(&self.ctx.redirects, self.ctx.clock.now())?;
        if !self.connection_tests.is_client(client.name.as_deref()) {
            self.registrations.take(address).map_err(RegistrationError::TooManyAttempts)?;
        }
        let (client, secret) = client::register(&self.ctx.db, client).await?;
        self.connection_tests.record(&client);
        Ok((client, secret))
    }

    /// Counts a document that is read for an address, as many as there may be registrations.
    ///
    /// # Errors
    /// Too many; the wait until there may be one more.
    pub fn may_read(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        self.readings.take(address)
    }

    /// Whether an application may be named by the address of a document about itself.
    pub fn reads_documents(&self) -> bool {
        self.documents
    }

    /// How well the document of an application is known.
    pub fn document_age(&self, client: &oauth_client::Model) -> DocumentAge {
        let read = client.document_read_at.map(|read| self.ctx.clock.now().since(read));
        match read {
            Some(age) if age < DOCUMENT_FRESH => DocumentAge::Fresh,
            Some(age) if age < DOCUMENT_USABLE => DocumentAge::Usable,
            Some(_) | None => DocumentAge::Old,
        }
    }

    /// Keeps what the document at this address says.
    ///
    /// # Errors
    /// What is unfit in it, or the database.
    pub async fn keep_document(
        &self,
        address: &str,
        said: ClientMetadata,
    ) -> Result<oauth_client::Model, RegistrationError> {
        let client = said.accept(&self.ctx.redirects, self.ctx.clock.now())?;
        Ok(client::keep_document(&self.ctx.db, address, client).await?)
    }

    /// The application of this name, looked at by whoever is about to sign in.
    pub async fn client(&self, id: &str) -> Result<Option<oauth_client::Model>, Error> {
        let Some(client) = self.find(id).await? else { return Ok(None) };
        client::glance(&self.ctx.db, &client, self.ctx.clock.now()).await?;
        Ok(Some(client))
    }

    /// The application of this name, if it proves to be itself.
    pub async fn authenticated(&self, id: &str, proof: &ClientCredentials) -> Result<oauth_client::Model, TokenError> {
        let found = self.find(id).await?;
        found.filter(|client| client::is_proved(client, proof)).ok_or(TokenError::InvalidClient)
    }

    /// One that is named by a document is known only where such names are taken.
    async fn find(&self, name: &str) -> Result<Option<oauth_client::Model>, DbErr> {
        let found = client::find(self.ctx.db.read(), name).await?;
        Ok(found.filter(|client| self.documents || client.document.is_none()))
    }

    /// Keeps the query that a sign-in page goes on with; the ticket for its form.
    ///
    /// # Errors
    /// [`Error::TooManyFailures`] where one address opened as many pages as it may.
    pub async fn keep_sign_in(&self, address: Option<IpAddr>, query: String) -> Result<Secret, Error> {
        self.pages.take(address).map_err(Error::TooManyFailures)?;
        sign_in_ticket::keep(&self.ctx, query).await
    }

    /// The query that a sign-in page goes on with; `None` where the page is too old, or somebody signed in on it.
    pub async fn kept_sign_in(&self, ticket: &Secret) -> Result<Option<String>, Error> {
        sign_in_ticket::kept(&self.ctx, ticket).await
    }

    /// Somebody signs in on the page with this ticket; `false` where somebody did already.
    pub async fn spend_sign_in(&self, ticket: &Secret) -> Result<bool, Error> {
        sign_in_ticket::spend(&self.ctx, ticket).await
    }

    /// Keeps what a consent page asks for; the ticket for its form.
    pub async fn ask(&self, request: AuthorizationRequest, browser: Browser, offered: Scopes) -> Result<Secret, Error> {
        self.port.ask(ConsentOffer(request, browser, offered)).await?
    }

    /// Takes the answer to a consent page; `None` where it is not one that this browser was shown, or was answered.
    pub async fn decide(
        &self,
        browser: Browser,
        ticket: Secret,
        ticked: Scopes,
    ) -> Result<Option<ConsentDecision>, Error> {
        self.port.ask(ConsentAnswer { browser, ticket, ticked }).await?
    }

    /// Exchanges a code for the first tokens of a connection; it has been made when this returns.
    pub async fn exchange(&self, asked: CodeExchange) -> Result<TokenPair, TokenError> {
        self.port.ask(asked).await?
    }

    /// Exchanges a refresh token for the next pair.
    pub async fn refresh(&self, asked: TokenRefresh) -> Result<TokenPair, TokenError> {
        self.port.ask(asked).await?
    }

    /// Ends the connection of a token of this client, if it is one.
    pub async fn revoke(&self, client: oauth_client::Model, token: String) -> Result<(), TokenError> {
        self.port.ask(TokenRevocation(client, token)).await?
    }

    /// Ends a connection of a person; its tokens have stopped when this returns.
    pub async fn disconnect(&self, user: UserId, grant: GrantId) -> Result<(), Error> {
        self.port.ask(Disconnection(user, grant)).await?
    }

    /// What a person is or was connected with, latest first, and who that is.
    pub async fn connections(
        &self,
        user: UserId,
    ) -> Result<Vec<(oauth_grant::Model, oauth_client::Model)>, Error> {
        list_connections(&self.ctx.db, user).await
    }

    /// Whom an access token lets in.
    pub async fn authenticate(&self, secret: &Secret) -> Result<TokenLookup, Error> {
        let hash = secret.hash();
        let cached = self.cache.get(&hash).filter(|known| self.ctx.cache_epoch.is_current(known.epoch));
        let known = match cached {
            Some(known) => Some(known),
            None => self.look(secret, hash).await?,
        };
        Ok(match known {
            Some(known) if self.ctx.clock.now() < known.expires_at => TokenLookup::Valid(known),
            Some(_) => TokenLookup::Expired,
            None => TokenLookup::Unknown,
        })
    }

    /// Into the cache with the epoch of before the read: a change meanwhile makes it count for nothing.
    async fn look(&self, secret: &Secret, hash: SecretHash) -> Result<Option<Arc<TokenAccess>>, Error> {
        let (db, epoch) = (self.ctx.db.read(), self.ctx.cache_epoch.current());
        let found = token::find_access(db, secret).await?;
        let Some((token, grant)) = found.filter(|(token, grant)| token::is_of(&self.ctx, token, grant))
        else {
            return Ok(None);
        };
        let owner = user::Entity::find_by_id(grant.user_id).one(db).await?;
        let Some(owner) = owner.filter(|owner| owner.disabled_at.is_none()) else { return Ok(None) };
        let Some(client) = oauth_client::Entity::find_by_id(grant.client_id).one(db).await? else {
            return Ok(None);
        };
        let known = Arc::new(TokenAccess {
            grant: grant.id,
            user: owner.id,
            plan: owner.plan,
            scopes: token.scopes,
            client_name: client::shown_name(&client),
            mcp_client: grant.mcp_client,
            expires_at: token.expires_at,
            epoch,
        });
        self.cache.insert(hash, known.clone());
        Ok(Some(known))
    }

    /// Notes a use. What is lost when the actor has no room is one "last used".
    pub fn used(&self, used: GrantUse) {
        self.port.tell(used);
    }

    /// Notes a use whose client said what it is called; that name holds when this returns.
    pub async fn introduced(&self, used: GrantUse) -> Result<(), Error> {
        self.port.ask(GrantClientInfo(used)).await?
    }

    /// Writes what was noted.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush::default()).await?
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<GrantActor> {
        &self.port
    }
}
