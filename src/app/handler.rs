//! Serves the routes of the web app: the same operations as those of REST, called with a browser session.

use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operation::FromRequest;
use actors::pipeline::{self, ParsedRequest};
use errors::Error;

use crate::http::context::operation_context;
use crate::http::envelope::{failure, success};
use crate::http::fields::{read_body, read_fields, target};
use crate::http::response_slots::slot_wait;
use crate::http::session::{require_own_origin, signed_in};
use crate::http::task::run_to_end;
use crate::routing::{ReplyStatus, Route, RouteSurface};

/// The surface of the web app. A session authenticates every request, which counts towards no limit and is not recorded.
pub struct WebApp;

impl RouteSurface for WebApp {
    async fn handle<O: FromRequest>(
        route: &'static Route,
        status: ReplyStatus<O::Reply>,
        request: HttpRequest,
        payload: Payload,
    ) -> HttpResponse {
        run_to_end(request.clone(), async move {
            let ctx = match operation_context(&request) {
                Ok(ctx) => ctx,
                Err(response) => return response,
            };
            match execute::<O>(&ctx, &request, route.pattern, payload).await {
                Ok(reply) => success(&request, &ctx, status.for_reply(&reply), &reply),
                Err(error) => failure(&request, &ctx, &error),
            }
        })
        .await
    }

    async fn refuse(request: HttpRequest, methods: Vec<String>) -> HttpResponse {
        let error = if methods.is_empty() { Error::UnknownRoute } else { Error::MethodNotAllowed(methods) };
        match operation_context(&request) {
            Ok(ctx) => failure(&request, &ctx, &error),
            Err(response) => response,
        }
    }
}

async fn execute<O: FromRequest>(
    ctx: &OperationContext,
    request: &HttpRequest,
    pattern: &str,
    payload: Payload,
) -> Result<O::Reply, Error> {
    // Before the session is looked up: a request that another site caused must not even be a use of it.
    require_own_origin(request, &ctx.core)?;
    let caller = signed_in(request, &ctx.auth).await?;
    let parse = async |caller: &Caller| {
        let operation = async {
            let body = read_body(request, caller, payload).await?;
            O::from_request(&target(request, pattern), read_fields(request, &body)?)
        };
        ParsedRequest {
            operation: operation.await,
            // The header is part of REST only.
            idempotency_key: None,
            slot_wait: slot_wait::<O>(request, caller),
        }
    };
    pipeline::execute(ctx, &caller, None, parse).await.into_reply()
}
