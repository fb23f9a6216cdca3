//! The pipeline that every operation goes through, and the only place that checks a plan, a limit or a scope.
//!
//! The surface authenticates the caller first ([`crate::auth::authenticate`], [`crate::auth::sessions`]). [`execute`] then follows
//! the order of contract.md, section 2: plan, limits, scopes, parameters, and then the operation, which checks resources, states
//! and counts. A conflict of the Idempotency-Key is reported before invalid parameters (section 11). Every call of an API key or
//! a connected application is recorded in the activity view, however it ends.
//!
//! The surfaces differ as follows. A call of an MCP tool may count more than once in the daily limit. The web app, whose callers
//! are sessions, serves every plan, counts in no limit and is not recorded.

use std::panic::AssertUnwindSafe;

use database::on_behalf_of;
use entity::activity;
use entity::id::ActivityId;
use entity::kind::Surface;
use entity::scope::Scopes;
use errors::{Error, named_scopes};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::auth::caller::{Caller, Principal};
use crate::auth::limits::{Quota, RateLimitRequest};
use crate::context::OperationContext;
use crate::idempotency::{Claim, ClaimOutcome, IdempotencyKey, StoredResponse};
use crate::operation::Operation;

/// The endpoint that was called, as the activity view names it.
#[derive(Clone, Copy, Debug)]
pub enum Endpoint<'a> {
    /// Method and pattern of a route, without the version.
    Route(&'a str),
    /// The name of an MCP tool.
    Tool(&'static str),
}

/// Returns the status that a surface answers a result with.
pub type StatusOf<'a, R> = &'a dyn Fn(&Result<Response<R>, Error>) -> String;

/// What the activity view shows of a call whose reply is an `R`.
pub struct ActivityEntry<'a, R> {
    /// The endpoint that was called.
    pub endpoint: Endpoint<'a>,
    /// The status that the surface answers with.
    pub status: StatusOf<'a, R>,
}

/// The wait for a slot for the caller's account ([`Operation::NEEDS_ANSWER_SLOT`]). It joins the queue when it is first polled.
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
    /// The same request was answered before.
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
    let has_surface = match caller.surface {
        // Before the request is parsed: an account whose plan has no REST API learns nothing about its parameters.
        Some(Surface::Rest) => caller.plan.has_rest(),
        Some(Surface::Mcp) | None => true,
    };
    let outcome = if has_surface {
        let call = async {
            // Parsing may read rows, so it is within the account's share of the connections too.
            let request = on_behalf_of(caller.user, parse(caller)).await;
            check_and_run(ctx, caller, request).await
        };
        catch_panic(call).await.unwrap_or_else(Outcome::uncounted)
    } else {
        Outcome::uncounted(Error::PlanRequired("the REST API".into()))
    };
    if let Some(activity) = activity {
        let count = match &outcome.result {
            Ok(Response::Fresh(reply)) => O::count(reply),
            Ok(Response::Replayed(_)) | Err(_) => None,
        };
        record(ctx, caller, activity.endpoint, (activity.status)(&outcome.result), count);
    }
    outcome
}

async fn check_and_run<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    request: ParsedRequest<O>,
) -> Outcome<O::Reply> {
    // Before anything is counted: a request that only a larger plan allows costs nothing.
    if let Err(error) = check_plan(caller, &request) {
        return Outcome::uncounted(error);
    }
    // A tool may count more than once; a REST request counts once (spec.md: Limits, rule 3).
    let weight = match caller.surface {
        Some(Surface::Mcp) => request.operation.as_ref().map_or(O::WEIGHT, Operation::weight),
        Some(Surface::Rest) | None => 1,
    };
    let quota = match admit(ctx, caller, weight).await {
        Ok(quota) => quota,
        Err(error) => return Outcome::uncounted(error),
    };
    let (result, claim) = on_behalf_of(caller.user, run_or_replay(ctx, caller, request)).await;
    Outcome { quota, result, claim }
}

/// Checks whether the plan allows the scopes of a request. The web app serves every plan.
fn check_plan<O: Operation>(caller: &Caller, request: &ParsedRequest<O>) -> Result<(), Error> {
    if caller.surface.is_none() {
        return Ok(());
    }
    let beyond = needed_scopes(request).beyond(caller.plan);
    if beyond.is_empty() {
        Ok(())
    } else {
        Err(Error::PlanRequired(format!("the {}", named_scopes(&beyond)).into()))
    }
}

/// Runs the operation, or finds the stored response of the same request. Also returns the claim of
/// the Idempotency-Key, if the request has one.
async fn run_or_replay<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    mut request: ParsedRequest<O>,
) -> (Result<Response<O::Reply>, Error>, Option<Claim>) {
    let slot_wait = request.slot_wait.take();
    match check_request(ctx, caller, request).await {
        Ok((operation, claim)) => {
            let result = match &claim {
                Some(claim) => run(operation, slot_wait, &caller.with_claim(claim.id()), ctx).await,
                None => run(operation, slot_wait, caller, ctx).await,
            };
            (result.map(Response::Fresh), claim)
        }
        Err(NotRun::Refused(error)) => (Err(error), None),
        Err(NotRun::Replayed(stored)) => {
            (restore::<O>(stored, caller, ctx).await.map(Response::Replayed), None)
        }
    }
}

/// Runs an operation for which everything has been checked except the space on the disk, once it has its slot.
async fn run<O: Operation>(
    operation: O,
    slot_wait: Option<SlotWait>,
    caller: &Caller,
    ctx: &OperationContext,
) -> Result<O::Reply, Error> {
    if operation.needs_space() {
        ctx.disk.require_room()?;
    }
    // Last: a request that is refused must not wait, nor take a slot from the valid requests of its account.
    if let Some(slot_wait) = slot_wait {
        slot_wait.await?;
    }
    // Caught here already, so that the outcome keeps its quota and the Idempotency-Key is released.
    catch_panic(operation.run(caller, ctx)).await?
}

/// Runs a part of a call. A panic becomes an internal error of this call, which is recorded like any other;
/// the panic hook has logged the place.
async fn catch_panic<T>(part: impl Future<Output = T>) -> Result<T, Error> {
    // The part is dropped after a panic. What it shares with other calls is behind locks that do not stay poisoned.
    // Boxed, because the future of an operation is large and each wrapper around it would be as large on the stack.
    let caught = AssertUnwindSafe(Box::pin(part)).catch_unwind().await;
    caught.map_err(|_| Error::internal("the operation panicked"))
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

/// Why an operation does not run.
enum NotRun {
    Refused(Error),
    /// The same request was answered before.
    Replayed(StoredResponse),
}

impl<E: Into<Error>> From<E> for NotRun {
    fn from(error: E) -> Self {
        NotRun::Refused(error.into())
    }
}

/// Returns the scopes that a request needs; with invalid parameters, those that every call of its operation needs.
fn needed_scopes<O: Operation>(request: &ParsedRequest<O>) -> Scopes {
    request.operation.as_ref().map_or_else(|_| O::SCOPES.into(), Operation::scopes)
}

/// Checks scopes, then the Idempotency-Key, then the parameters.
async fn check_request<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    request: ParsedRequest<O>,
) -> Result<(O, Option<Claim>), NotRun> {
    // Before the parameters, so that a key without the scope learns nothing about them (contract.md, section 2).
    let missing = caller.scopes.missing(&needed_scopes(&request));
    if !missing.is_empty() {
        return Err(Error::ScopeRequired(missing).into());
    }
    let ParsedRequest { operation, idempotency_key, .. } = request;
    let (Some(name), Some(key)) = (idempotency_key, &caller.key) else { return Ok((operation?, None)) };
    let operation = match operation {
        Ok(operation) => operation,
        Err(error) => {
            // A key that was used for another request is reported before what is wrong with this one (contract.md, section 11).
            ctx.idempotency.check_conflict(caller.user, key.id, &name).await?;
            return Err(error.into());
        }
    };
    if operation.needs_space() && !ctx.disk.has_room() {
        // A claim is a row too. A stored response needs no space.
        let stored = ctx.idempotency.find(caller.user, key.id, &name).await?;
        return Err(stored.map_or(NotRun::Refused(Error::StorageFull), NotRun::Replayed));
    }
    match ctx.idempotency.claim(caller.user, key.id, name).await? {
        ClaimOutcome::First(claim) => Ok((operation, Some(claim))),
        ClaimOutcome::Answered(stored) => Err(NotRun::Replayed(stored)),
    }
}

/// Counts a call in the limits of its principal and its user. Returns `None` where nothing is limited, as for the web app.
async fn admit(ctx: &OperationContext, caller: &Caller, weight: u32) -> Result<Option<Quota>, Error> {
    let (Some(surface), Some(hourly)) = (caller.surface, hourly_limit(ctx, caller)) else { return Ok(None) };
    let limits = ctx.core.plans.limits(caller.plan);
    let daily = match surface {
        Surface::Rest => limits.rest_per_day,
        Surface::Mcp => limits.mcp_per_day,
    };
    let request = RateLimitRequest {
        bucket: caller.principal.clone(),
        hourly,
        user: caller.user,
        surface,
        daily,
        weight,
    };
    ctx.limits.admit(request).await.map(Some)
}

/// Returns the number of calls that the caller's key or connection may make within an hour; `None` for a session, which has no limit.
fn hourly_limit(ctx: &OperationContext, caller: &Caller) -> Option<u32> {
    match &caller.principal {
        Principal::Key(_) => caller.key.as_ref().map(|key| key.hourly_limit),
        Principal::App(_) => Some(ctx.core.plans.limits(caller.plan).hourly_per_key),
        Principal::Session(_) => None,
    }
}

fn record(
    ctx: &OperationContext,
    caller: &Caller,
    endpoint: Endpoint<'_>,
    status: String,
    count: Option<usize>,
) {
    let Some(surface) = caller.surface else { return };
    let (key_id, app_id) = match caller.principal {
        Principal::Key(key) => (Some(key), None),
        Principal::App(app) => (None, Some(app)),
        Principal::Session(_) => return,
    };
    let now = ctx.core.clock.now();
    let (route, tool) = match endpoint {
        Endpoint::Route(route) => (Some(route.to_owned()), None),
        Endpoint::Tool(tool) => (None, Some(tool.to_owned())),
    };
    ctx.activity.record(activity::Model {
        id: ActivityId::new(now),
        user_id: caller.user,
        at: now,
        surface,
        key_id,
        app_id,
        key_name: caller.key.as_ref().map(|key| key.name.clone()),
        route,
        tool,
        status,
        client: caller.client.clone(),
        result_count: count.and_then(|count| i32::try_from(count).ok()),
    });
}
