//! The disk floor of routes that need no account ([`disk`]): clients without an account must not use up the space that is left
//! for users.
//!
//! An operation states by [`actors::operation::Operation::NEEDS_SPACE`] whether it is refused below the floor. Routes that need no
//! account have no operation. They are mounted by [`resource`], which takes their rule, so none of them can be without one
//! (`tests/tidy.rs` lists the exceptions).

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::{Next, from_fn};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse, Resource};
use actors::context::OperationContext;
use errors::Error;

use super::session::signed_in;

/// Which requests a resource serves while the disk is below its floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BelowFloor {
    /// Those of all clients: it adds no rows, or it is part of signing in or of the end of a connection.
    ServesAll,
    /// Those of signed-in users: a request of another client adds a row.
    ServesSignedIn,
    /// No requests: each one adds rows.
    Refuses,
}

/// The function by which the surface of a resource responds to a request that it refuses.
pub type Refusal = fn(&HttpRequest, &OperationContext, Error) -> HttpResponse;

/// The rule of one resource, which its middleware finds in the resource's data.
#[derive(Clone, Copy)]
struct DiskFloorRule {
    below_floor: BelowFloor,
    refusal: Refusal,
}

/// A resource whose requests below the floor are served or refused by this rule. A preflight is always served, so that pages of
/// other origins can read the refusal.
pub fn resource(
    path: &'static str,
    below_floor: BelowFloor,
    refusal: Refusal,
) -> Resource<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = actix_web::Error,
        InitError = (),
    >,
> {
    web::resource(path).app_data(DiskFloorRule { below_floor, refusal }).wrap(from_fn(require_room))
}

async fn require_room(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let refusal = find_refusal(request.request()).await;
    match refusal {
        Some(response) => Ok(request.into_response(response)),
        None => next.call(request).await,
    }
}

/// The response to a request that is refused; `None` for one that is served.
async fn find_refusal(request: &HttpRequest) -> Option<HttpResponse> {
    let (rule, ctx) = (request.app_data::<DiskFloorRule>()?, request.app_data::<Data<OperationContext>>()?);
    // A preflight writes nothing, and a browser gives up on the request behind it if it is refused.
    if *request.method() == Method::OPTIONS {
        return None;
    }
    let error = check(request, ctx, rule.below_floor).await.err()?;
    Some((rule.refusal)(request, ctx, error))
}

async fn check(request: &HttpRequest, ctx: &OperationContext, below_floor: BelowFloor) -> Result<(), Error> {
    match below_floor {
        BelowFloor::ServesAll => Ok(()),
        BelowFloor::ServesSignedIn => {
            // The room first: the session is looked up in the database only below the floor.
            let Err(full) = ctx.disk.require_room() else { return Ok(()) };
            match signed_in(request, &ctx.auth).await {
                Ok(_) => Ok(()),
                Err(Error::NotSignedIn) => Err(full.into()),
                Err(other) => Err(other),
            }
        }
        BelowFloor::Refuses => Ok(ctx.disk.require_room()?),
    }
}
