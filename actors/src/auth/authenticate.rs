//! Who asks: from what a request presents to a caller, and the note that a key or a connection was used.

use std::net::IpAddr;

use entity::kind::{KeyKind, Surface};

use crate::app::App;
use crate::caller::{Caller, CallerKey, Credential, Proof, Via};
use crate::error::Error;
use crate::grants::{self, Known};
use crate::keys::secret::Secret;
use crate::keys::{Used, rules};

/// Who presents this. Whoever is recognised has used the key: it is for the surface to note that with [`used`], once it
/// knows what the client calls itself.
pub async fn recognise(
    app: &App,
    credential: Result<Option<Credential>, Error>,
    surface: Surface,
    address: Option<IpAddr>,
    client: Option<String>,
) -> Result<Caller, Error> {
    match (credential?.ok_or(Error::KeyInvalid)?, surface) {
        (Credential::ApiKey(secret), _) => by_key(app, &secret, surface, address, client).await,
        (Credential::AccessToken(secret), Surface::Mcp) => by_token(app, &secret, address, client).await,
        // Access tokens are for the MCP server alone (spec.md: API keys, rule 8).
        (Credential::AccessToken(_), Surface::Rest) | (Credential::Other, _) => {
            Err(app.failures.failed(address))
        }
    }
}

async fn by_key(
    app: &App,
    secret: &Secret,
    surface: Surface,
    address: Option<IpAddr>,
    client: Option<String>,
) -> Result<Caller, Error> {
    let row = match app.keys.authenticate(secret).await {
        Ok(row) => row,
        Err(Error::KeyInvalid) => return Err(app.failures.failed(address)),
        Err(other) => return Err(other),
    };
    let client = match surface {
        Surface::Mcp => row.key.mcp_client.clone().or(client),
        Surface::Rest => client,
    };
    let key = CallerKey {
        id: row.key.id,
        name: row.key.name.clone(),
        kind: row.key.kind,
        scopes: row.key.scopes.clone(),
        hourly_limit: rules::hourly_limit(row.key.hourly_limit, app.plans.limits(row.plan)),
        is_new: row.key.first_used_at.is_none(),
    };
    let caller = Caller {
        user: row.key.user_id,
        plan: row.plan,
        scopes: row.key.scopes.within(row.plan),
        via: Via::Key(row.key.id),
        key: Some(key),
        surface: Some(surface),
        client,
        claim: None,
        _proof: Proof,
    };
    if surface == Surface::Mcp && row.key.kind != KeyKind::Mcp {
        used(app, &caller);
        return Err(Error::NotForMcp);
    }
    Ok(caller)
}

/// An access token that has run out is no sign of guessing: its holder comes back with another (contract.md, section 3).
async fn by_token(
    app: &App,
    secret: &Secret,
    address: Option<IpAddr>,
    user_agent: Option<String>,
) -> Result<Caller, Error> {
    let access = match app.grants.authenticate(secret).await? {
        Known::Good(access) => access,
        Known::Expired => return Err(Error::KeyInvalid),
        Known::Unknown => return Err(app.failures.failed(address)),
    };
    let name = Some(access.client_name.clone()).filter(|name| !name.is_empty());
    Ok(Caller {
        user: access.user,
        plan: access.plan,
        scopes: access.scopes.within(access.plan),
        via: Via::App(access.grant),
        key: None,
        surface: Some(Surface::Mcp),
        client: access.mcp_client.clone().or(name).or(user_agent),
        claim: None,
        _proof: Proof,
    })
}

/// Notes that the caller's key or connection was used.
pub fn used(app: &App, caller: &Caller) {
    if let Some(grant) = grant_used(app, caller, None) {
        app.grants.used(grant);
    }
    if let Some(key) = key_used(app, caller, None) {
        app.keys.used(key);
    }
}

/// Notes a use whose client introduced itself by an MCP `initialize`: calls that do not name themselves bear this name
/// from then on.
///
/// # Errors
/// The name could not be written.
pub async fn introduced(app: &App, caller: &Caller, client: String) -> Result<(), Error> {
    if caller.client.as_deref() == Some(&*client) {
        used(app, caller);
        return Ok(());
    }
    if let Some(grant) = grant_used(app, caller, Some(client.clone())) {
        app.grants.introduced(grant).await?;
    }
    if let Some(key) = key_used(app, caller, Some(client)) {
        app.keys.introduced(key).await?;
    }
    Ok(())
}

fn grant_used(app: &App, caller: &Caller, mcp_client: Option<String>) -> Option<grants::Used> {
    let Via::App(grant) = caller.via else { return None };
    Some(grants::Used { grant, at: app.clock.now(), mcp_client })
}

fn key_used(app: &App, caller: &Caller, mcp_client: Option<String>) -> Option<Used> {
    let key = caller.key.as_ref()?;
    Some(Used {
        key: key.id,
        user: caller.user,
        name: key.name.clone(),
        first: key.is_new,
        at: app.clock.now(),
        client: mcp_client.clone().or_else(|| caller.client.clone()),
        mcp_client,
    })
}
