//! Authentication of API keys and access tokens: from the credential of a request to its caller, and the record of its use.

use std::net::IpAddr;
use std::sync::Arc;

use errors::Error;
use library::context::CoreContext;
use values::kind::{KeyKind, MeteredSurface};

use crate::auth::caller::{Caller, CallerKey, Credential, Principal};
use crate::auth::grants::{Grants, TokenLookup};
use crate::auth::keys::{FirstKeyUse, Keys, rules};
use crate::auth::limits::AuthFailures;
use crate::auth::secret::Secret;
use crate::ledger::{Ledger, LedgerEntry};

/// The parts of a request that authenticate its caller.
pub struct RequestInfo {
    /// The credential; `None` if the request presents none, an error if it presents one in a place that is not allowed.
    pub credential: Result<Option<Credential>, Error>,
    /// The surface that received the request. The web app has sessions instead ([`crate::auth::sessions`]).
    pub surface: MeteredSurface,
    /// The IP address of the client.
    pub ip_address: Option<IpAddr>,
    /// The name by which the client identifies itself: the first product of the User-Agent.
    pub client: Option<Arc<str>>,
}

/// Authenticates API keys and access tokens.
#[derive(Clone, Copy)]
pub struct Authenticator<'a> {
    /// The clock, and the plans with their limits.
    pub core: &'a CoreContext,
    /// The keys of REST and MCP clients.
    pub keys: &'a Keys,
    /// The access tokens of OAuth clients.
    pub grants: &'a Grants,
    /// Failed authentications, by IP address.
    pub failures: &'a AuthFailures,
    /// The ledger of the uses of keys and grants.
    pub ledger: &'a Ledger,
}

impl Authenticator<'_> {
    /// Authenticates the caller of a request. Once the surface knows the name of the client, it records the use with
    /// [`Self::record_use`] or [`Self::record_client_info`], or with [`Self::notify_first_use`] if the pipeline records the call.
    ///
    /// # Errors
    /// [`Error::KeyInvalid`] for a missing or invalid credential; [`Error::TooManyFailures`] after too many invalid ones from the same
    /// IP address; [`Error::NotForMcp`] for an API key for REST on the MCP server, and [`Error::TokenNotForRest`] for an access token
    /// on the REST API.
    pub async fn authenticate(&self, request: RequestInfo) -> Result<Caller, Error> {
        let RequestInfo { credential, surface, ip_address, client } = request;
        match (credential?.ok_or(Error::KeyInvalid)?, surface) {
            (Credential::ApiKey(secret), _) => self.by_key(&secret, surface, ip_address, client).await,
            (Credential::AccessToken(secret), MeteredSurface::Mcp) => {
                self.by_token(&secret, ip_address, client).await
            }
            // Access tokens are for the MCP server alone (spec.md: API keys, rule 8).
            (Credential::AccessToken(_), MeteredSurface::Rest) => {
                let refused = self.failures.record(ip_address);
                Err(if matches!(refused, Error::KeyInvalid) { Error::TokenNotForRest } else { refused })
            }
            (Credential::Other, _) => Err(self.failures.record(ip_address)),
        }
    }

    async fn by_key(
        &self,
        secret: &Secret,
        surface: MeteredSurface,
        ip_address: Option<IpAddr>,
        client: Option<Arc<str>>,
    ) -> Result<Caller, Error> {
        let row = match self.keys.authenticate(secret).await {
            Ok(row) => row,
            Err(Error::KeyInvalid) => return Err(self.failures.record(ip_address)),
            Err(other) => return Err(other),
        };
        let client = match surface {
            MeteredSurface::Mcp => row.mcp_client.clone().or(client),
            MeteredSurface::Rest => client,
        };
        let key = CallerKey {
            id: row.key.id,
            name: row.name.clone(),
            kind: row.key.kind,
            scopes: row.key.scopes.clone(),
            hourly_limit: rules::hourly_limit(row.key.hourly_limit, self.core.plans.limits(row.plan)),
            is_new: row.key.first_used_at.is_none(),
        };
        let caller = Caller::of_key(row.key.user_id, row.plan, key, surface, client);
        // The key is valid and was used, so its owner sees the use although it is refused here.
        if surface == MeteredSurface::Mcp && row.key.kind != KeyKind::Mcp {
            self.record_use(&caller);
            return Err(Error::NotForMcp);
        }
        Ok(caller)
    }

    /// An expired access token does not count as a guess: its client refreshes it (contract.md, section 3).
    async fn by_token(
        &self,
        secret: &Secret,
        ip_address: Option<IpAddr>,
        user_agent: Option<Arc<str>>,
    ) -> Result<Caller, Error> {
        let access = match self.grants.authenticate(secret).await? {
            TokenLookup::Valid(access) => access,
            // Not counted as a failure: the client had this token, and refreshes it now.
            TokenLookup::Expired => return Err(Error::KeyInvalid),
            TokenLookup::Unknown => return Err(self.failures.record(ip_address)),
        };
        let name = Some(access.client_name.clone()).filter(|name| !name.is_empty());
        let client = access.mcp_client.clone().or(name).or(user_agent);
        Ok(Caller::of_grant(access.user, access.plan, access.grant, &access.scopes, client))
    }

    /// Records that the caller's key or grant was used, and notifies the first use of a key.
    pub fn record_use(&self, caller: &Caller) {
        self.push_use(caller, caller.client.clone());
        self.notify_first_use(caller);
    }

    /// Notifies the first use of the caller's key, if it is one. The use itself is recorded by the pipeline.
    pub fn notify_first_use(&self, caller: &Caller) {
        self.notify_first_use_by(caller, caller.client.clone());
    }

    /// Records a use with the name that the client stated in an MCP `initialize`. Later calls that do not state a name have this one.
    ///
    /// # Errors
    /// [`Error::Busy`] or [`Error::Internal`] if the name could not be written.
    pub async fn record_client_info(&self, caller: &Caller, client: Arc<str>) -> Result<(), Error> {
        if caller.client.as_deref() == Some(&*client) {
            self.record_use(caller);
            return Ok(());
        }
        self.push_use(caller, Some(client.clone()));
        self.notify_first_use_by(caller, Some(client.clone()));
        match caller.principal {
            Principal::Grant(grant) => self.grants.record_client_name(caller.user, grant, client).await,
            Principal::Key(key) => self.keys.record_client_name(caller.user, key, client).await,
            Principal::Session(_) => Ok(()),
        }
    }

    /// Adds a use without a line of the activity view to the ledger.
    fn push_use(&self, caller: &Caller, client: Option<Arc<str>>) {
        if let Some(credential) = caller.principal.used_credential() {
            let at = self.core.clock.now();
            self.ledger.push(LedgerEntry { user: caller.user, credential, at, client, call: None });
        }
    }

    fn notify_first_use_by(&self, caller: &Caller, client: Option<Arc<str>>) {
        let Some(key) = caller.key.as_ref().filter(|key| key.is_new) else { return };
        let (user, name, at) = (caller.user, key.name.clone(), self.core.clock.now());
        self.keys.notify_first_use(FirstKeyUse { key: key.id, user, name, at, client });
    }
}
