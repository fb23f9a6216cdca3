//! The pipeline that every operation goes through, and the only place that checks a plan, a limit or a scope.
//!
//! The surface authenticates the caller first ([`crate::auth::authenticate`], [`crate::auth::sessions`]). [`execute`] then follows
//! the order of contract.md, section 2: plan, limits, scopes, parameters, and then the operation, which checks resources, states
//! and counts. A conflict of the Idempotency-Key is reported before invalid parameters (section 11). Every call of a metered
//! surface is recorded in the activity view, however it ends.
//!
//! The surfaces differ as follows. A call of an MCP tool may count more than once in the daily limit. The web app, whose callers
//! are sessions, serves every plan, counts in no limit and is not recorded.

use std::panic::AssertUnwindSafe;

use database::on_behalf_of;
use errors::{Error, named_scopes};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use library::context::CoreContext;
use values::id::KeyId;
use values::kind::MeteredSurface;
use values::scope::Scopes;

use crate::auth::caller::{Caller, Principal};
use crate::auth::context::AuthContext;
use crate::auth::limits::{Quota, RateLimitRequest};
use crate::context::OperationContext;
use crate::idempotency::{Claim, ClaimOutcome, Idempotency, IdempotencyKey, StoredResponse};
use crate::ledger::{LedgerEntry, RecordedCall};
use crate::operation::Operation;

pub use crate::ledger::{CallStatus, Endpoint};

/// Returns the status that a surface responds to a result with.
pub type StatusOf<'a, R> = &'a dyn Fn(&Result<Response<R>, Error>) -> CallStatus;

/// The line of the activity view for a call whose reply is an `R`.
pub struct ActivityEntry<'a, R> {
    /// The endpoint that was called.
    pub endpoint: Endpoint,
    /// The status that the surface responds with.
    pub status: StatusOf<'a, R>,
}

/// The wait for a slot for the caller's account ([`Operation::NEEDS_RESPONSE_SLOT`]). It joins the queue when it is first polled.
pub type SlotWait = LocalBoxFuture<'static, Result<(), Error>>;

/// A parsed request, or the error found while parsing it.
pub struct ParsedRequest<O> {
    /// The operation, or what is wrong with the parameters.
    pub operation: Result<O, Error>,
    /// The Idempotency-Key with the request that it identifies; `None` if the request has no such header.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Awaited just before the operation runs, by requests that nothing else refuses.
    pub slot_wait: Option<SlotWait>,
}

impl<O> From<Result<O, Error>> for ParsedRequest<O> {
    fn from(operation: Result<O, Error>) -> Self {
        Self { operation, idempotency_key: None, slot_wait: None }
    }
}

/// The outcome of a call, with what the surface needs to respond.
pub struct Outcome<R> {
    /// The limit with the fewest calls left, for the headers of the response, also of an error; `None` where nothing was counted.
    pub quota: Option<Quota>,
    /// The response, or why the call was refused or failed.
    pub result: Result<Response<R>, Error>,
    /// The claim of the Idempotency-Key, to be settled with the response that is sent.
    pub claim: Option<Claim>,
}

impl<R> Outcome<R> {
    /// The outcome of a call that was refused before it counted in a limit.
    pub fn uncounted(error: Error) -> Self {
        Self { quota: None, result: Err(error), claim: None }
    }

    /// Returns the reply, for surfaces without Idempotency-Keys.
    ///
    /// # Errors
    /// The error of the call; [`Error::Internal`] for a replayed response.
    pub fn into_reply(self) -> Result<R, Error> {
        match self.result? {
            Response::Fresh(reply) => Ok(reply),
            Response::Replayed(_) => {
                Err(Error::internal("a request without an Idempotency-Key was replayed"))
            }
        }
    }
}

/// A response: of an operation that ran now, or one that was stored under an Idempotency-Key.
#[derive(Debug)]
pub enum Response<R> {
    /// The operation ran now and returned this reply.
    Fresh(R),
    /// The same request was carried out before.
    Replayed(StoredResponse),
}

/// Checks a call, runs its operation, and records it in the activity view.
///
/// `parse` reads the operation from the request once the plan allows the surface. An error in it is reported only after limits and
/// scopes were checked. `activity` is `None` for the web app, whose calls are not recorded.
pub async fn execute<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    activity: Option<ActivityEntry<'_, O::Reply>>,
    parse: impl AsyncFnOnce(&Caller) -> ParsedRequest<O>,
) -> Outcome<O::Reply> {
    let (mut quota, mut claim) = (None, None);
    // The order of these steps is a part of the contract. Boxed, because each wrapper around them would be as large on the stack.
    let steps = Box::pin(async {
        // The plan. It comes before the limits: a request that only a larger plan allows costs nothing. The surface comes before the
        // parameters: an account whose plan has no REST API learns nothing about them.
        check_surface(caller)?;
        check_operator::<O>(caller)?;
        let ParsedRequest { operation, idempotency_key, slot_wait } = parse(caller).await;
        // With invalid parameters, the scopes and the weight that every call of the operation has.
        let scopes: Scopes = operation.as_ref().map_or_else(|_| O::SCOPES.into(), Operation::scopes);
        let weight = operation.as_ref().map_or(O::WEIGHT, Operation::weight);
        check_plan(caller, &scopes)?;
        // The limits. A call that a later step refuses has counted.
        quota = count_call(&ctx.auth, caller, weight).await?;
        // The scopes. They come before the parameters, so that a key without the scope learns nothing about these.
        check_scopes(caller, &scopes)?;
        // The parameters and the Idempotency-Key. Only calls of API keys have one.
        let request_key = idempotency_key.zip(caller.key.as_ref().map(|key| key.id));
        let operation = match operation {
            Ok(operation) => operation,
            Err(error) => {
                check_key_conflict(&ctx.requests.idempotency, caller, request_key).await?;
                return Err(error);
            }
        };
        if let Some((idempotency_key, api_key)) = request_key {
            match claim_or_replay(ctx, caller, api_key, idempotency_key, O::NEEDS_SPACE).await? {
                ClaimOutcome::First(first) => claim = Some(first),
                ClaimOutcome::Repeated(stored) => {
                    return restore::<O>(stored, caller, ctx).await.map(Response::Replayed);
                }
            }
        }
        // The space on the disk, and the slot. A request that is refused must not wait, nor take a slot from the valid requests of
        // its account.
        if O::NEEDS_SPACE {
            ctx.disk.require_room()?;
        }
        if let Some(slot_wait) = slot_wait {
            slot_wait.await?;
        }
        // The operation.
        let claiming_caller = claim.as_ref().map(|claim| caller.with_claim(claim.id()));
        let caller = claiming_caller.as_ref().unwrap_or(caller);
        // Boxed for the same reason: the future of an operation is large.
        let reply = Box::pin(operation.run(caller, ctx)).await?;
        Ok::<_, Error>(Response::Fresh(reply))
    });
    // All steps are within the account's share of the connections: parsing reads rows too.
    let result = catch_panic(on_behalf_of(caller.user, steps)).await;
    if let Some(activity) = activity {
        record_call::<O>(ctx, caller, activity, &result, quota.is_some());
    }
    Outcome { quota, result, claim }
}

/// Runs the steps of a call. A panic becomes an internal error of this call, which is recorded like any other and keeps its quota and
/// the claim of its Idempotency-Key; the panic hook has logged the place.
async fn catch_panic<T>(steps: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    // The steps are dropped after a panic. What they share with other calls is behind locks that do not stay poisoned.
    let caught = AssertUnwindSafe(steps).catch_unwind().await;
    caught.unwrap_or_else(|_| Err(Error::internal("the operation panicked")))
}

/// Checks whether the plan of a caller has the surface.
fn check_surface(caller: &Caller) -> Result<(), Error> {
    if caller.surface.is_in_plan(caller.plan) {
        Ok(())
    } else {
        Err(Error::PlanRequired("the REST API".into()))
    }
}

/// Checks whether an operation that is for operators has one as its caller. To others it does not exist.
fn check_operator<O: Operation>(caller: &Caller) -> Result<(), Error> {
    if O::NEEDS_OPERATOR && !caller.is_operator { Err(Error::UnknownRoute) } else { Ok(()) }
}

/// Checks whether the plan allows these scopes. The web app, which is not metered, serves every plan.
fn check_plan(caller: &Caller, scopes: &Scopes) -> Result<(), Error> {
    if !caller.surface.is_metered() {
        return Ok(());
    }
    let beyond = scopes.beyond(caller.plan);
    if beyond.is_empty() {
        Ok(())
    } else {
        Err(Error::PlanRequired(format!("the {}", named_scopes(&beyond)).into()))
    }
}

/// Counts a call in the limits of its principal and its user. Returns `None` for the web app, whose calls have no limit.
async fn count_call(auth: &AuthContext, caller: &Caller, weight: u32) -> Result<Option<Quota>, Error> {
    let (Some(surface), Some(hourly)) = (caller.surface.metered(), hourly_limit(&auth.core, caller)) else {
        return Ok(None);
    };
    let limits = auth.core.plans.limits(caller.plan);
    let (daily, weight) = match surface {
        // A tool may count more than once; a REST request counts once (spec.md: Limits, rule 3).
        MeteredSurface::Rest => (limits.rest_per_day, 1),
        MeteredSurface::Mcp => (limits.mcp_per_day, weight),
    };
    let request =
        RateLimitRequest { bucket: caller.principal, hourly, user: caller.user, surface, daily, weight };
    auth.limits.admit(request).await.map(Some)
}

/// Returns the number of calls that the caller's key or grant may make within an hour; `None` for a session, which has no limit.
fn hourly_limit(core: &CoreContext, caller: &Caller) -> Option<u32> {
    match &caller.principal {
        Principal::Key(_) => caller.key.as_ref().map(|key| key.hourly_limit),
        Principal::Grant(_) => Some(core.plans.limits(caller.plan).hourly_per_key),
        Principal::Session(_) => None,
    }
}

fn check_scopes(caller: &Caller, needed: &Scopes) -> Result<(), Error> {
    let missing = caller.scopes.missing(needed);
    if missing.is_empty() { Ok(()) } else { Err(Error::ScopeRequired(missing)) }
}

/// Checks that the Idempotency-Key of a request with invalid parameters was not used for another request, which is reported before
/// what is wrong with this one (contract.md, section 11).
async fn check_key_conflict(
    idempotency: &Idempotency,
    caller: &Caller,
    request_key: Option<(IdempotencyKey, KeyId)>,
) -> Result<(), Error> {
    match request_key {
        Some((idempotency_key, api_key)) => {
            idempotency.check_conflict(caller.user, api_key, &idempotency_key).await
        }
        None => Ok(()),
    }
}

/// Claims the Idempotency-Key of a request, or finds the stored response of the same request.
async fn claim_or_replay(
    ctx: &OperationContext,
    caller: &Caller,
    api_key: KeyId,
    idempotency_key: IdempotencyKey,
    needs_space: bool,
) -> Result<ClaimOutcome, Error> {
    if needs_space && !ctx.disk.has_room() {
        // A claim is a row too. A stored response needs no space.
        let stored = ctx.requests.idempotency.find(caller.user, api_key, &idempotency_key).await?;
        return stored.map(ClaimOutcome::Repeated).ok_or(Error::StorageFull);
    }
    ctx.requests.idempotency.claim(caller.user, api_key, idempotency_key).await
}

/// Completes the body of a stored success. A stored failure holds no secret and stays as it is.
async fn restore<O: Operation>(
    stored: StoredResponse,
    caller: &Caller,
    ctx: &OperationContext,
) -> Result<StoredResponse, Error> {
    if !(200..300).contains(&stored.status) {
        return Ok(stored);
    }
    let body = serde_json::from_str(&stored.body).map_err(Error::internal)?;
    Ok(StoredResponse { body: O::restore_body(body, caller, ctx).await?.to_string(), ..stored })
}

/// Records a call with the use of its credential. `is_counted` tells whether it counted in the limits.
fn record_call<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    activity: ActivityEntry<'_, O::Reply>,
    result: &Result<Response<O::Reply>, Error>,
    is_counted: bool,
) {
    let Some(surface) = caller.surface.metered() else { return };
    let Some(credential) = caller.principal.used_credential() else { return };
    let count = match result {
        Ok(Response::Fresh(reply)) => O::count(reply),
        Ok(Response::Replayed(_)) | Err(_) => None,
    };
    let call = RecordedCall {
        surface,
        endpoint: activity.endpoint,
        status: (activity.status)(result),
        key_name: caller.key.as_ref().map(|key| key.name.clone()),
        result_count: count.and_then(|count| i32::try_from(count).ok()),
    };
    let (at, client) = (ctx.core.clock.now(), caller.client.clone());
    let entry = LedgerEntry { user: caller.user, credential, at, client, call: Some(call) };
    if is_counted {
        ctx.requests.activity.record(entry);
    } else {
        ctx.requests.activity.record_uncounted(entry);
    }
}
