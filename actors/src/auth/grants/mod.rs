//! OAuth clients and grants, from the registration of a client to the end of a grant (contract.md, sections 8 and 11).
//!
//! A grant is what one user gave one client. RFC 6749 has the word grant, so code, columns and logs use it; users see apps that
//! they connected, so operations, the command line and notices call it a connected app. It has a number that is raised whenever the grant
//! is made again or ends, and a token works only under the number that it was issued under. So at most one token family is valid at
//! any time, whatever happens at the same time in any number of processes. Access tokens are cached under the same epoch as keys, so a
//! revoked one stops working before its revocation is answered, and within a second if another process revoked it.

mod access_row;
mod actor;
pub mod client;
mod code;
mod connection_test;
mod consent;
mod context;
mod last_uses;
mod lifecycle;
pub mod pkce;
pub mod redirect;
mod revocation;
mod sign_in_ticket;
mod sweep;
mod token;
mod token_error;
mod user_grants;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::{oauth_client, oauth_grant};
use errors::Error;
use library::clock::Clock;
use moka::sync::Cache;
use runtime::{Port, SupervisorConfig, supervise};
use sea_orm::DbErr;
use values::id::{ClientId, GrantId, UserId};
use values::plan::Plan;
use values::scope::Scopes;
use values::time::Timestamp;

use crate::auth::client_names::ClientName;
use crate::auth::keys::CACHE_LIFETIME;
use crate::auth::keys::cache_epoch::CacheEpoch;
use crate::auth::limits::IpRateLimiter;
use crate::auth::secret::{Secret, SecretHash};
use crate::write_behind::Flush;
use access_row::find_access;
use actor::{GrantActor, GrantClientName};
use client::{ClientCredentials, ClientMetadata, InvalidClientMetadata};
use connection_test::ConnectionTests;
use context::GrantContext;
use redirect::RedirectRules;

pub use code::CodeExchange;
pub use connection_test::ConnectionTestLock;
pub use consent::{AuthorizationRequest, Browser, ConsentDecision, TICKET_PREFIX};
pub use context::GrantSettings;
pub(crate) use last_uses::write_last_uses;
pub(crate) use revocation::end_all_grants;
pub use sign_in_ticket::SIGN_IN_PREFIX;
pub use token::{ACCESS_PREFIX, TokenPair, TokenRefresh};
pub use token_error::{INVALID_CLIENT, SCOPE_EXCEEDED, TokenError};
pub use user_grants::{disconnect, list_grants};

const MAX_CACHED_TOKENS: u64 = 10_000;
/// Sign-in pages that may be opened from one IP address within a minute; an office opens fewer. Each stores a row until the clean-up.
const MAX_SIGN_IN_PAGES_PER_MINUTE: u32 = 600;
/// A client metadata document is not read again within this time.
const DOCUMENT_FRESH: Duration = Duration::from_secs(900);
/// A client metadata document is used for this long while it cannot be read again.
const DOCUMENT_USABLE: Duration = Duration::from_secs(24 * 3600);

/// The time since the metadata document of a client was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentAge {
    /// Recently: it is not read again.
    Fresh,
    /// It is read again, and used as it is if that fails.
    Usable,
    /// It must be read again.
    Old,
}

/// The access that a valid access token grants.
#[derive(Clone, Debug)]
pub struct TokenAccess {
    /// The grant that the token belongs to.
    pub grant: GrantId,
    /// The user who connected the client.
    pub user: UserId,
    /// The plan of that user.
    pub plan: Plan,
    /// The scopes of the token.
    pub scopes: Scopes,
    /// The name of the client.
    pub client_name: Arc<str>,
    /// Name and version that the client stated in its latest MCP `initialize`.
    pub mcp_client: Option<Arc<str>>,
    expires_at: Timestamp,
    epoch: u64,
}

/// The result of looking up an access token.
#[derive(Clone, Debug)]
pub enum TokenLookup {
    /// The token is valid; what it grants.
    Valid(Arc<TokenAccess>),
    /// The token has expired at most a week ago. It does not count as a guess.
    Expired,
    /// There is no such token, or it was revoked.
    Unknown,
}

/// The description of [`RegistrationError::Closed`].
pub const REGISTRATION_CLOSED: &str =
    "registration is closed; the operator opens it with the setting oauth.registration";

/// Why a client was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// The operator does not allow clients to register themselves (`oauth.registration`).
    #[error("{}", REGISTRATION_CLOSED)]
    Closed,
    /// The metadata of the client is not valid.
    #[error(transparent)]
    InvalidMetadata(#[from] InvalidClientMetadata),
    /// Too many registrations from one IP address; how long to wait.
    #[error("too many registrations from this IP address; try again later")]
    TooManyAttempts(Duration),
    /// Another error, such as of the database.
    #[error(transparent)]
    Internal(#[from] Error),
}

/// Handle of the actor of grants, with its cache. Clones share both.
///
/// The steps that issue or end tokens run to their end, however long the database takes and although the caller is gone. Otherwise a
/// client that is asked to try again would present a code or a refresh token that the first attempt spends, which ends the grant;
/// and a token that was ended could stay valid in the cache, because the epoch is advanced after the commit. Each step is one transaction
/// of few statements, which the timeouts of the database bound: on SQLite 5 s to begin; on PostgreSQL 8 s to begin, 2 s for a lock and 30 s
/// for a statement.
#[derive(Clone)]
pub struct Grants {
    ctx: GrantContext,
    is_registration_open: bool,
    client_documents: bool,
    registrations: Arc<IpRateLimiter>,
    document_reads: Arc<IpRateLimiter>,
    sign_in_pages: Arc<IpRateLimiter>,
    connection_tests: ConnectionTests,
    cache: Cache<SecretHash, Arc<TokenAccess>>,
    port: Port<GrantActor>,
}

impl Grants {
    /// Starts the actor. `cache_epoch` is that of the keys.
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
            code_lifetime: settings.code_lifetime,
            access_lifetime: settings.access_lifetime,
            unused_client_lifetime: settings.unused_client_lifetime,
            redirects: Arc::new(settings.redirects),
        };
        let config = SupervisorConfig { name: "grants", permits: 64, timeout: Duration::from_secs(8) };
        let actor_ctx = ctx.clone();
        Self {
            ctx,
            is_registration_open: settings.is_registration_open,
            client_documents: settings.client_documents,
            registrations: Arc::new(IpRateLimiter::per_hour(settings.registrations_per_hour, clock.clone())),
            document_reads: Arc::new(IpRateLimiter::per_hour(settings.registrations_per_hour, clock.clone())),
            sign_in_pages: Arc::new(IpRateLimiter::per_minute(MAX_SIGN_IN_PAGES_PER_MINUTE, clock)),
            connection_tests: ConnectionTests::new(),
            cache: Cache::builder().max_capacity(MAX_CACHED_TOKENS).time_to_live(CACHE_LIFETIME).build(),
            port: supervise(on, config, move || GrantActor::new(actor_ctx.clone())),
        }
    }

    /// Starts a connection test. One runs at a time in a process.
    ///
    /// # Errors
    /// [`Error::Busy`] while another one runs, and for a moment after it.
    pub fn begin_connection_test(&self) -> Result<ConnectionTestLock, Error> {
        self.connection_tests.begin()
    }

    /// Removes a client with its grants and tokens; none of them works any more when this returns.
    ///
    /// It takes no permit of the port, so it is not refused while many clients ask for tokens. The caller must run to its end: dropped
    /// after the commit, it would leave cached tokens valid until the next check of the generation.
    pub async fn remove_client(&self, client: ClientId) -> Result<(), Error> {
        client::remove(&self.ctx.db, client).await.inspect(|()| self.ctx.cache_epoch.bump())
    }

    /// Returns whether clients may register themselves.
    pub fn is_registration_open(&self) -> bool {
        self.is_registration_open
    }

    /// Returns the rules for redirect URIs.
    pub fn redirect_rules(&self) -> &RedirectRules {
        &self.ctx.redirects
    }

    /// Returns the canonical URI of the resource that tokens are for (RFC 8707).
    pub fn resource(&self) -> &str {
        &self.ctx.resource
    }

    /// Registers a client. Its secret, if it has one, cannot be read again.
    ///
    /// # Errors
    /// [`RegistrationError`], each of its variants.
    pub async fn register_client(
        &self,
        ip_address: Option<IpAddr>,
        metadata: ClientMetadata,
    ) -> Result<(oauth_client::Model, Option<Secret>), RegistrationError> {
        if !self.is_registration_open {
            return Err(RegistrationError::Closed);
        }
        // Before the count: an invalid registration stores no row, and does not count.
        let client = metadata.into_row(&self.ctx.redirects, self.ctx.clock.now())?;
        if !self.connection_tests.is_client(client.name.as_deref()) {
            self.registrations.admit(ip_address).map_err(RegistrationError::TooManyAttempts)?;
        }
        let (client, secret) = client::register(&self.ctx.db, client).await?;
        self.connection_tests.record(&client);
        Ok((client, secret))
    }

    /// Counts a client metadata document that is read because of a request from this IP address. The limit is that of registrations.
    ///
    /// # Errors
    /// The time until the next one is allowed, as a [`Duration`].
    pub fn admit_document_read(&self, ip_address: Option<IpAddr>) -> Result<(), Duration> {
        self.document_reads.admit(ip_address)
    }

    /// Returns whether a client may be identified by the URL of its client metadata document.
    pub fn can_read_documents(&self) -> bool {
        self.client_documents
    }

    /// Returns how long ago the metadata document of a client was read.
    pub fn document_age(&self, client: &oauth_client::Model) -> DocumentAge {
        let read = client.metadata_read_at.map(|read| self.ctx.clock.now().since(read));
        match read {
            Some(age) if age < DOCUMENT_FRESH => DocumentAge::Fresh,
            Some(age) if age < DOCUMENT_USABLE => DocumentAge::Usable,
            Some(_) | None => DocumentAge::Old,
        }
    }

    /// Stores the metadata from the document at this URL.
    ///
    /// # Errors
    /// [`RegistrationError::InvalidMetadata`]; [`RegistrationError::Internal`] when the database fails.
    pub async fn store_client_document(
        &self,
        url: &str,
        metadata: ClientMetadata,
    ) -> Result<oauth_client::Model, RegistrationError> {
        let client = metadata.into_row(&self.ctx.redirects, self.ctx.clock.now())?;
        Ok(client::store_document(&self.ctx.db, url, client).await?)
    }

    /// Returns the client with this client id, and records that its sign-in page was opened.
    pub async fn find_client(&self, id: &str) -> Result<Option<oauth_client::Model>, Error> {
        let Some(client) = self.find(id).await? else { return Ok(None) };
        client::record_page_view(&self.ctx.db, &client, self.ctx.clock.now()).await?;
        Ok(Some(client))
    }

    /// Returns the client with this client id, if its credentials are valid.
    ///
    /// # Errors
    /// [`TokenError::InvalidClient`]; [`TokenError::Internal`] when the database fails.
    pub async fn authenticate_client(
        &self,
        id: &str,
        credentials: &ClientCredentials,
    ) -> Result<oauth_client::Model, TokenError> {
        let found = self.find(id).await?;
        found.filter(|client| client::is_authentic(client, credentials)).ok_or(TokenError::InvalidClient)
    }

    /// Finds a client. Clients that are identified by a document exist only while the operator allows such ids.
    async fn find(&self, id: &str) -> Result<Option<oauth_client::Model>, DbErr> {
        let found = client::find(self.ctx.db.read(), id).await?;
        Ok(found.filter(|client| self.client_documents || client.metadata_url.is_none()))
    }

    /// Stores the query with which authorization continues after the sign-in, and returns the ticket for the sign-in form.
    ///
    /// # Errors
    /// [`Error::TooManyFailures`] when too many pages were opened from one IP address.
    pub async fn create_sign_in_ticket(
        &self,
        ip_address: Option<IpAddr>,
        query: String,
    ) -> Result<Secret, Error> {
        self.sign_in_pages.admit(ip_address).map_err(Error::TooManyFailures)?;
        sign_in_ticket::create(&self.ctx, query).await
    }

    /// Returns the query of a sign-in ticket; `None` if the ticket has expired or was used.
    pub async fn find_sign_in_query(&self, ticket: &Secret) -> Result<Option<String>, Error> {
        sign_in_ticket::find_query(&self.ctx, ticket).await
    }

    /// Uses up a sign-in ticket, and returns whether it was still unused.
    pub async fn spend_sign_in_ticket(&self, ticket: &Secret) -> Result<bool, Error> {
        sign_in_ticket::spend(&self.ctx, ticket).await
    }

    /// Stores what a consent page offers, and returns the ticket for its form.
    pub async fn create_consent_ticket(
        &self,
        request: AuthorizationRequest,
        browser: Browser,
        offered: Scopes,
    ) -> Result<Secret, Error> {
        consent::create_ticket(&self.ctx, request, browser, offered).await
    }

    /// Takes the user's answer to a consent page; `None` if the ticket was not issued to this browser, has expired or was used.
    pub async fn decide_consent(
        &self,
        browser: Browser,
        ticket: &Secret,
        ticked: Scopes,
    ) -> Result<Option<ConsentDecision>, Error> {
        consent::decide(&self.ctx, browser, ticket, ticked).await
    }

    /// Exchanges a code for the first tokens of a grant, which exists when this returns.
    ///
    /// # Errors
    /// [`TokenError::InvalidGrant`] and [`TokenError::UnknownGrant`] for a code that gives no tokens; [`TokenError::InvalidVerifier`] without
    /// a code verifier; [`TokenError::InvalidClient`] for a client that was removed meanwhile; [`TokenError::Internal`] when the database
    /// fails, or when too many steps are in progress.
    pub async fn exchange_code(&self, exchange: CodeExchange) -> Result<TokenPair, TokenError> {
        // Before the permit is taken, so that guesses keep no client from its tokens. The same holds for the two steps below.
        let found = code::find_code(&self.ctx, &exchange.code).await?;
        let ctx = self.ctx.clone();
        self.port.run_to_end(async move || code::exchange(&ctx, exchange, found).await).await?
    }

    /// Exchanges a refresh token for the next pair of tokens. A token that was exchanged before ends its grant.
    ///
    /// # Errors
    /// The errors of [`Self::exchange_code`]; [`TokenError::InvalidScope`] for scopes that the user did not grant.
    pub async fn refresh_tokens(&self, refresh: TokenRefresh) -> Result<TokenPair, TokenError> {
        let (token, grant) = token::find_refresh_token(&self.ctx, &refresh).await?;
        let ctx = self.ctx.clone();
        self.port.run_to_end(async move || token::refresh(&ctx, refresh, token, grant).await).await?
    }

    /// Ends the grant of a token, if it is a token of this client.
    ///
    /// # Errors
    /// [`TokenError::Internal`] when the database fails, or when too many steps are in progress.
    pub async fn revoke_token(&self, client: oauth_client::Model, token: String) -> Result<(), TokenError> {
        let found = token::find_own_token(&self.ctx, &client, &token).await?;
        let Some((token, grant)) = found else { return Ok(()) };
        let ctx = self.ctx.clone();
        self.port.run_to_end(async move || token::revoke(&ctx, token, grant).await).await?
    }

    /// Ends a grant of a user. Its tokens no longer work when this returns.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the user has no such grant or it has ended.
    pub async fn disconnect(&self, user: UserId, grant: GrantId) -> Result<(), Error> {
        let ctx = self.ctx.clone();
        let ended = self.port.run_to_end(async move || {
            let generation = disconnect(&ctx.db, user, grant).await?;
            ctx.cache_epoch.record_own_change(user, generation);
            Ok::<(), Error>(())
        });
        ended.await?
    }

    /// Returns the grants of a user, ended ones too, with their clients; the latest connected first.
    pub async fn list_grants(
        &self,
        user: UserId,
    ) -> Result<Vec<(oauth_grant::Model, oauth_client::Model)>, Error> {
        list_grants(&self.ctx.db, user).await
    }

    /// Returns what an access token grants.
    pub async fn authenticate(&self, secret: &Secret) -> Result<TokenLookup, Error> {
        let hash = secret.hash();
        let is_current =
            |access: &Arc<TokenAccess>| self.ctx.cache_epoch.is_current(access.user, access.epoch);
        let cached = self.cache.get(&hash).filter(is_current);
        let access = match cached {
            Some(access) => Some(access),
            None => self.load_access(hash).await?,
        };
        Ok(match access {
            Some(access) if self.ctx.clock.now() < access.expires_at => TokenLookup::Valid(access),
            Some(_) => TokenLookup::Expired,
            None => TokenLookup::Unknown,
        })
    }

    /// Reads an access token for the cache; `None` if it is unknown or revoked, or its owner is disabled. An expired one is returned.
    async fn load_access(&self, hash: SecretHash) -> Result<Option<Arc<TokenAccess>>, Error> {
        // The epoch from before the read: a change meanwhile makes the entry outdated, although it is inserted after that change.
        let epoch = self.ctx.cache_epoch.current();
        let Some(found) = find_access(&self.ctx, &hash).await? else { return Ok(None) };
        let access = Arc::new(TokenAccess {
            grant: found.grant,
            user: found.user,
            plan: found.plan,
            scopes: found.scopes,
            client_name: found.client_name.into(),
            mcp_client: found.mcp_client.map(Arc::from),
            expires_at: found.expires_at,
            epoch,
        });
        self.cache.insert(hash, access.clone());
        Ok(Some(access))
    }

    /// Stores the name that the client of a user's grant stated. Later calls have that name when this returns.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn record_client_name(
        &self,
        user: UserId,
        grant: GrantId,
        name: Arc<str>,
    ) -> Result<(), Error> {
        self.port.ask(GrantClientName { grant, stated: ClientName { user, name } }).await?
    }

    /// Writes the names of clients that are in memory alone.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush).await?
    }

    /// Returns the actor's port, for health checks and the drain.
    pub fn port(&self) -> &Port<GrantActor> {
        &self.port
    }
}
