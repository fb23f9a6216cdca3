//! Requesting a link that sets a new password, and following it. Nobody is signed in meanwhile.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::password_resets;
use actors::context::OperationContext;
use errors::Error;
use serde_json::json;
use validation::{Password, Words, request};

use super::handler::WebApp;
use super::session::{read_body, refuse, to_end};
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::envelope::{failure, success};
use crate::http::peer;
use crate::http::session::require_own_origin;
use crate::routing;

request! {
    /// A request for a link that sets a new password.
    struct RequestResetRequest {
        /// The e-mail address of the account.
        email: Words<1, 254>,
    }
}

request! {
    /// A new password for the account to which a link was sent.
    struct ResetPasswordRequest {
        /// The secret of the link: its parameter `token`.
        token: Words<1, 100>,
        /// The new password of the account.
        new: Password<1024>,
    }
}

/// Mounts the routes.
pub fn mount(config: &mut ServiceConfig) {
    let resource = |path, below_floor| {
        let resource = disk_floor::resource(path, below_floor, refuse);
        resource.default_service(routing::refuse::<WebApp>(vec!["POST".to_owned()]))
    };
    config
        .service(
            resource("/password/forgot", BelowFloor::Refuses).route(web::post().to(to_end(request_reset))),
        )
        // It is part of signing in.
        .service(
            resource("/password/reset", BelowFloor::ServesAll).route(web::post().to(to_end(reset_password))),
        );
}

async fn request_reset(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let requested = async {
        require_own_origin(&request, &ctx.core)?;
        let RequestResetRequest { email } = read_body(&request, payload).await?;
        let (ip_address, email) = (peer::ip_address(&request), email.into_inner());
        password_resets::request(&ctx.core, &ctx.auth.password_resets, &ctx.job_signal, ip_address, email)
    };
    respond(&request, &ctx, StatusCode::ACCEPTED, requested.await)
}

async fn reset_password(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let done = async {
        require_own_origin(&request, &ctx.core)?;
        let ResetPasswordRequest { token, new } = read_body(&request, payload).await?;
        let (auth, new) = (&ctx.auth, new.into_inner());
        password_resets::reset(&ctx.core, &auth.keys, &auth.sign_ins, &token.into_inner(), new).await
    };
    respond(&request, &ctx, StatusCode::OK, done.await)
}

fn respond(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    done: Result<(), Error>,
) -> HttpResponse {
    match done {
        Ok(()) => success(request, ctx, status, &json!({})),
        Err(error) => failure(request, ctx, &error),
    }
}
