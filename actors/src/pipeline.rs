//! The one pipeline that every call goes through, and the only place that checks a plan, a limit or a scope; whose key it
//! is, [`recognise`](mod@crate::auth::authenticate) says.
//!
//! The order is the contract's (section 2): key - plan - limits - scopes - parameters - resource - state and counts; an
//! Idempotency-Key that stands for another request is told before the parameters (section 11).
//! Whoever the key recognised finds the call in the activity view, however it ended.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use database::on_behalf_of;
use entity::activity;
use entity::id::ActivityId;
use entity::kind::Surface;
use entity::plan::Plan;
use entity::scope::{Scope, Scopes};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::context::OperationContext;
use crate::auth::caller::{Caller, Credential, Proof, Principal};
use errors::{Error, named_scopes};
use crate::idempotency::{Claim, Claimed, Replay, Stored};
use crate::auth::limits::{Ask, Quota};
use crate::auth::authenticate::{recognise, used};

/// Something that can be asked.
pub trait Operation: Sized + 'static {
    /// What it answers: as JSON, and as the shape that the surfaces describe it by.
    type Reply: Serialize + JsonSchema + 'static;
    /// Needed in any case, by a faulty call too.
    const SCOPES: &'static [Scope];
    /// What a faulty call counts for; 2 for a write tool.
    const WEIGHT: u32 = 1;
    /// Whether it is refused while the disk has less than `storage.min_free_bytes` left: what writes, but for deletions.
    const NEEDS_SPACE: bool = Scope::any_writes(Self::SCOPES);

    /// Whether a call waits for a turn of its account before it runs, and holds it until its answer is built: what reads much of a
    /// library into one answer. What waits for something else while it runs, such as a model, another server or the turns of
    /// search, needs none, nor do answers of a few fixed fields.
    const TAKES_TURN: bool = !Self::SCOPES.is_empty() && !Scope::any_writes(Self::SCOPES);

    /// Whether this call is refused then: [`Self::NEEDS_SPACE`], unless it depends on the parameters.
    fn needs_space(&self) -> bool {
        Self::NEEDS_SPACE
    }

    /// What this call needs: [`Self::SCOPES`], and more where what it names is more.
    fn scopes(&self) -> Scopes {
        Self::SCOPES.into()
    }

    /// What this call counts for.
    fn weight(&self) -> u32 {
        Self::WEIGHT
    }

    /// How many results the answer holds, for the activity view.
    fn count(_reply: &Self::Reply) -> Option<usize> {
        None
    }

    /// What of the answer an Idempotency-Key stands for: all of it but its secrets (contract.md, section 11).
    fn kept(reply: &Self::Reply) -> serde_json::Result<Value> {
        serde_json::to_value(reply)
    }

    /// Makes a kept answer whole again, with secrets that are made anew.
    fn renewed(kept: Value, _caller: &Caller, _app: &OperationContext) -> impl Future<Output = Result<Value, Error>> {
        async { Ok(kept) }
    }

    /// Does it. Whoever calls this has checked nothing more than that the caller is one.
    fn run(self, caller: &Caller, ctx: &OperationContext) -> impl Future<Output = Result<Self::Reply, Error>>;
}

/// By what name a call stands in the activity view.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Method and pattern of a route, without the version.
    Route(&'static str),
    /// A tool.
    Tool(&'static str),
}

/// A request at the door, as its surface read it.
pub struct Door {
    /// What was presented; `None` where nothing was.
    pub credential: Result<Option<Credential>, Error>,
    /// Which surface it came by.
    pub surface: Surface,
    /// Where it came from.
    pub address: Option<IpAddr>,
    /// What it calls itself: the User-Agent's first product.
    pub client: Option<String>,
    /// Its name in the activity view.
    pub entry: Entry,
}

/// The wait for a turn of the caller's account ([`Operation::TAKES_TURN`]). It joins the queue when it is first polled.
pub type TurnWait = LocalBoxFuture<'static, Result<(), Error>>;

/// What a request came to, once it was read.
pub struct Asked<O> {
    /// What is asked, or what is wrong with it.
    pub operation: Result<O, Error>,
    /// Its Idempotency-Key, with what that stands for.
    pub replay: Option<Replay>,
    /// Awaited before the operation runs, and only by a request that nothing else refuses.
    pub turn: Option<TurnWait>,
}

impl<O> From<Result<O, Error>> for Asked<O> {
    fn from(operation: Result<O, Error>) -> Self {
        Self { operation, replay: None, turn: None }
    }
}

/// What came of a call.
pub struct Performed<R> {
    /// The limit that is nearest to its end; it stands on errors too.
    pub quota: Option<Quota>,
    /// The answer.
    pub result: Result<Answer<R>, Error>,
    /// The claim of an Idempotency-Key, to be settled with what is sent.
    pub claim: Option<Claim>,
}

impl<R> Performed<R> {
    /// A call that was refused before anything was counted.
    fn uncounted(error: Error) -> Self {
        Self { quota: None, result: Err(error), claim: None }
    }
}

/// An answer, made now or stored before.
#[derive(Debug)]
pub enum Answer<R> {
    /// The operation ran.
    Fresh(R),
    /// The same request was answered before.
    Stored(Stored),
}

/// Lets a request in, does what it asks, and writes it down.
///
/// `asked` reads the operation from the request: it is called with the caller once the key and the plan are known, and what is wrong with it
/// stands back until limits and scopes have been looked at. `verdict` says how the surface tells what came of it, for the
/// activity view.
pub async fn perform<O: Operation>(
    ctx: &OperationContext,
    door: Door,
    verdict: impl Fn(&Result<Answer<O::Reply>, Error>) -> String,
    asked: impl AsyncFnOnce(&Caller) -> Asked<O>,
) -> Performed<O::Reply> {
    let Door { credential, surface, address, client, entry } = door;
    match recognise(ctx, credential, surface, address, client).await {
        Ok(caller) => {
            used(ctx, &caller);
            perform_as(ctx, &caller, entry, verdict, asked).await
        }
        Err(error) => Performed::uncounted(error),
    }
}

/// The pipeline from the plan on, for a caller that is recognised already.
pub async fn perform_as<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    entry: Entry,
    verdict: impl Fn(&Result<Answer<O::Reply>, Error>) -> String,
    asked: impl AsyncFnOnce(&Caller) -> Asked<O>,
) -> Performed<O::Reply> {
    let has_surface = match caller.surface {
        Some(Surface::Rest) => caller.plan.has_rest(),
        Some(Surface::Mcp) | None => true,
    };
    let performed = if has_surface {
        let call = async {
            let asked = asked(caller).await;
            admitted(ctx, caller, asked).await
        };
        catch_panic(call).await.unwrap_or_else(Performed::uncounted)
    } else {
        Performed::uncounted(Error::PlanRequired("the REST API".into()))
    };
    let count = match &performed.result {
        Ok(Answer::Fresh(reply)) => O::count(reply),
        Ok(Answer::Stored(_)) | Err(_) => None,
    };
    record(ctx, caller, entry, verdict(&performed.result), count);
    performed
}

async fn admitted<O: Operation>(ctx: &OperationContext, caller: &Caller, asked: Asked<O>) -> Performed<O::Reply> {
    // The plan is looked at before anything is counted: what an upgrade would bring costs nothing to ask for.
    let beyond = needed(&asked).beyond(caller.plan);
    if !beyond.is_empty() {
        return Performed::uncounted(Error::PlanRequired(format!("the {}", named_scopes(&beyond)).into()));
    }
    // A tool may count more than once; a request is a request (spec.md: Limits, rule 3).
    let weight = match caller.surface {
        Some(Surface::Mcp) => asked.operation.as_ref().map_or(O::WEIGHT, Operation::weight),
        Some(Surface::Rest) | None => 1,
    };
    let quota = match admit(ctx, caller, weight).await {
        Ok(quota) => quota,
        Err(error) => return Performed::uncounted(error),
    };
    let (result, claim) = on_behalf_of(caller.user, carry_out(ctx, caller, asked)).await;
    Performed { quota, result, claim }
}

/// Does what is asked, or finds the answer that was given before; with the claim of an Idempotency-Key, where there is one.
async fn carry_out<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    mut asked: Asked<O>,
) -> (Result<Answer<O::Reply>, Error>, Option<Claim>) {
    let turn = asked.turn.take();
    match allowed(ctx, caller, asked).await {
        Ok((operation, claim)) => {
            let result = match &claim {
                Some(claim) => run(operation, turn, &caller.with_claim(claim.id()), ctx).await,
                None => run(operation, turn, caller, ctx).await,
            };
            (result.map(Answer::Fresh), claim)
        }
        Err(Refused::With(error)) => (Err(error), None),
        Err(Refused::For(stored)) => (renewed::<O>(stored, caller, ctx).await.map(Answer::Stored), None),
    }
}

/// Runs an operation that everything has been checked for but the space on the disk, once it has its turn.
async fn run<O: Operation>(
    operation: O,
    turn: Option<TurnWait>,
    caller: &Caller,
    ctx: &OperationContext,
) -> Result<O::Reply, Error> {
    if operation.needs_space() {
        ctx.disk.require_room()?;
    }
    // Last: a request that is refused must not wait, nor take a turn from the valid requests of its account.
    if let Some(turn) = turn {
        turn.await?;
    }
    // Caught here already, so that the answer keeps its quota and the Idempotency-Key is freed.
    catch_panic(operation.run(caller, ctx)).await?
}

/// Runs a part of a call. A panic becomes an internal error of this call, which is then written down like any other; the panic
/// hook has logged the place.
async fn catch_panic<T>(part: impl Future<Output = T>) -> Result<T, Error> {
    // The part is dropped after a panic. What it shares with other calls is behind locks that do not stay poisoned.
    // Boxed, because the future of an operation is large and each wrapper around it would be as large on the stack.
    let caught = AssertUnwindSafe(Box::pin(part)).catch_unwind().await;
    caught.map_err(|_| Error::internal("the operation panicked"))
}

/// A stored success is made whole again; a stored failure holds no secret.
async fn renewed<O: Operation>(stored: Stored, caller: &Caller, ctx: &OperationContext) -> Result<Stored, Error> {
    if !(200..300).contains(&stored.status) {
        return Ok(stored);
    }
    let kept = serde_json::from_str(&stored.body).map_err(Error::internal)?;
    Ok(Stored { body: O::renewed(kept, caller, ctx).await?.to_string(), ..stored })
}

/// Why an operation does not run: an error, or an answer that was given before.
enum Refused {
    With(Error),
    For(Stored),
}

impl<E: Into<Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Refused::With(error.into())
    }
}

/// The scopes that a call needs; a faulty one those that any call needs.
fn needed<O: Operation>(asked: &Asked<O>) -> Scopes {
    asked.operation.as_ref().map_or_else(|_| O::SCOPES.into(), Operation::scopes)
}

/// Scopes, then the Idempotency-Key, then the parameters.
async fn allowed<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    asked: Asked<O>,
) -> Result<(O, Option<Claim>), Refused> {
    let missing = caller.scopes.missing(&needed(&asked));
    if !missing.is_empty() {
        return Err(Error::ScopeRequired(missing).into());
    }
    let Asked { operation, replay, .. } = asked;
    let (Some(replay), Some(key)) = (replay, &caller.key) else { return Ok((operation?, None)) };
    let operation = match operation {
        Ok(operation) => operation,
        Err(error) => {
            // A key that stands for another request is told before what is wrong with this one.
            ctx.idempotency.must_not_conflict(caller.user, key.id, &replay).await?;
            return Err(error.into());
        }
    };
    if operation.needs_space() && !ctx.disk.has_room() {
        // A claim is a row too. An answer that is stored needs no space.
        let stored = ctx.idempotency.find(caller.user, key.id, &replay).await?;
        return Err(stored.map_or(Refused::With(Error::StorageFull), Refused::For));
    }
    match ctx.idempotency.claim(caller.user, key.id, replay).await? {
        Claimed::First(claim) => Ok((operation, Some(claim))),
        Claimed::Answered(stored) => Err(Refused::For(stored)),
    }
}

/// Requests an hour of what the caller came in by; none where it counts nowhere.
fn hourly(ctx: &OperationContext, caller: &Caller) -> Option<u32> {
    match &caller.via {
        Principal::Key(_) => caller.key.as_ref().map(|key| key.hourly_limit),
        Principal::App(_) => Some(ctx.core.plans.limits(caller.plan).hourly_per_key),
        Principal::Session(_) => None,
    }
}

async fn admit(ctx: &OperationContext, caller: &Caller, weight: u32) -> Result<Option<Quota>, Error> {
    let (Some(surface), Some(hourly)) = (caller.surface, hourly(ctx, caller)) else { return Ok(None) };
    let limits = ctx.core.plans.limits(caller.plan);
    let daily = match surface {
        Surface::Rest => limits.rest_per_day,
        Surface::Mcp => limits.mcp_per_day,
    };
    let ask = Ask { bucket: caller.via.clone(), hourly, user: caller.user, surface, daily, weight };
    ctx.limits.admit(ask).await.map(Some)
}

fn record(ctx: &OperationContext, caller: &Caller, entry: Entry, status: String, count: Option<usize>) {
    let Some(surface) = caller.surface else { return };
    let (key_id, app_id) = match caller.via {
        Principal::Key(key) => (Some(key), None),
        Principal::App(app) => (None, Some(ctx)),
        Principal::Session(_) => return,
    };
    let now = ctx.core.clock.now();
    let (route, tool) = match entry {
        Entry::Route(route) => (Some(route.to_owned()), None),
        Entry::Tool(tool) => (None, Some(tool.to_owned())),
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

/// Does what the web app asks: the session's door has recognised the caller, and nothing counts.
pub async fn perform_for<O: Operation>(
    ctx: &OperationContext,
    caller: &Caller,
    asked: impl AsyncFnOnce() -> Result<O, Error>,
) -> Result<O::Reply, Error> {
    on_behalf_of(caller.user, async { run(asked().await?, None, caller, ctx).await }).await
}

/// The caller behind the session's door.
pub(crate) fn own_caller(user: entity::id::UserId, plan: Plan, via: Principal) -> Caller {
    let scopes = Scope::ALL.into();
    Caller { user, plan, scopes, via, key: None, surface: None, client: None, claim: None, _proof: Proof }
}
