//! Who asks: from what a request presents to a caller, and the note that a key or a connection was used.

use std::net::IpAddr;

use entity::kind::{KeyKind, Surface};

use crate::context::OperationContext;
use crate::auth::caller::{Caller, CallerKey, Credential, Proof, Principal};
use errors::Error;
use crate::auth::grants::{self, Known};
use crate::auth::secret::Secret;
use crate::auth::keys::{Used, rules};

/// Who presents this. Whoever is recognised has used the key: it is for the surface to note that with [`used`], once it
/// knows what the client calls itself.
pub async fn recognise(
    ctx: &OperationContext,
    credential: Result<Option<Credential>, Error>,
    surface: Surface,
    address: Option<IpAddr>,
    client: Option<String>,
) -> Result<Caller, Error> {
    match (credential?.ok_or(Error::KeyInvalid)?, surface) {
        (Credential::ApiKey(secret), _) => by_key(ctx, &secret, surface, address, client).await,
        (Credential::AccessToken(secret), Surface::Mcp) => by_token(ctx, &secret, address, client).await,
        // Access tokens are for the MCP server alone (spec.md: API keys, rule 8).
        (Credential::AccessToken(_), Surface::Rest) | (Credential::Other, _) => {
            Err(ctx.failures.failed(address))
        }
    }
}

async fn by_key(
    ctx: &OperationContext,
    secret: &Secret,
    surface: Surface,
    address: Option<IpAddr>,
    client: Option<String>,
) -> Result<Caller, Error> {
    let row = match ctx.keys.authenticate(secret).await {
        Ok(row) => row,
        Err(Error::KeyInvalid) => return Err(ctx.failures.failed(address)),
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
        hourly_limit: rules::hourly_limit(row.key.hourly_limit, ctx.core.plans.limits(row.plan)),
        is_new: row.key.first_used_at.is_none(),
    };
    let caller = Caller {
        user: row.key.user_id,
        plan: row.plan,
        scopes: row.key.scopes.within(row.plan),
        via: Principal::Key(row.key.id),
        key: Some(key),
        surface: Some(surface),
        client,
        claim: None,
        _proof: Proof,
    };
    if surface == Surface::Mcp && row.key.kind != KeyKind::Mcp {
        used(ctx, &caller);
        return Err(Error::NotForMcp);
    }
    Ok(caller)
}

/// An access token that has run out is no sign of guessing: its holder comes back with another (contract.md, section 3).
async fn by_token(
    ctx: &OperationContext,
    secret: &Secret,
    address: Option<IpAddr>,
    user_agent: Option<String>,
) -> Result<Caller, Error> {
    let access = match ctx.grants.authenticate(secret).await? {
        Known::Good(access) => access,
        Known::Expired => return Err(Error::KeyInvalid),
        Known::Unknown => return Err(ctx.failures.failed(address)),
    };
    let name = Some(access.client_name.clone()).filter(|name| !name.is_empty());
    Ok(Caller {
        user: access.user,
        plan: access.plan,
        scopes: access.scopes.within(access.plan),
        via: Principal::App(access.grant),
        key: None,
        surface: Some(Surface::Mcp),
        client: access.mcp_client.clone().or(name).or(user_agent),
        claim: None,
        _proof: Proof,
    })
}

/// Notes that the caller's key or connection was used.
pub fn used(ctx: &OperationContext, caller: &Caller) {
    if let Some(grant) = grant_used(ctx, caller, None) {
        ctx.grants.used(grant);
    }
    if let Some(key) = key_used(ctx, caller, None) {
        ctx.keys.used(key);
    }
}

/// Notes a use whose client introduced itself by an MCP `initialize`: calls that do not name themselves bear this name
/// from then on.
///
/// # Errors
/// The name could not be written.
pub async fn introduced(ctx: &OperationContext, caller: &Caller, client: String) -> Result<(), Error> {
    if caller.client.as_deref() == Some(&*client) {
        used(ctx, caller);
        return Ok(());
    }
    if let Some(grant) = grant_used(ctx, caller, Some(client.clone())) {
        ctx.grants.introduced(grant).await?;
    }
    if let Some(key) = key_used(ctx, caller, Some(client)) {
        ctx.keys.introduced(key).await?;
    }
    Ok(())
}

fn grant_used(ctx: &OperationContext, caller: &Caller, mcp_client: Option<String>) -> Option<grants::Used> {
    let Principal::App(grant) = caller.via else { return None };
    Some(grants::Used { grant, at: ctx.core.clock.now(), mcp_client })
}

fn key_used(ctx: &OperationContext, caller: &Caller, mcp_client: Option<String>) -> Option<Used> {
    let key = caller.key.as_ref()?;
    Some(Used {
        key: key.id,
        user: caller.user,
        name: key.name.clone(),
        first: key.is_new,
        at: ctx.core.clock.now(),
        client: mcp_client.clone().or_else(|| caller.client.clone()),
        mcp_client,
    })
}
