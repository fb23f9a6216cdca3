//! The page at `/`, for a user who opens the server's URL in a browser: what runs here, how the first account is created, and
//! where assistants and programs connect. Every caller gets the same page, so it says nothing about accounts.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use actix_web::web::{self, Data, ServiceConfig};
use actors::context::OperationContext;
use askama::Template;
use tracing::error;

/// The page loads its stylesheet and nothing else, sends nothing anywhere, and is never framed.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Mounts the page at `/`, which needs no session.
pub fn mount(config: &mut ServiceConfig) {
    config.route("/", web::get().to(serve));
}

async fn serve(ctx: Data<OperationContext>) -> HttpResponse {
    let page = StartPage { mcp_url: ctx.auth.grants.resource() };
    match page.render() {
        Ok(html) => HttpResponse::Ok()
            .content_type("text/html; charset=utf-8")
            .insert_header((CACHE_CONTROL, "public, max-age=300"))
            .insert_header((CONTENT_SECURITY_POLICY, POLICY))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .body(html),
        Err(cause) => {
            error!(%cause, "the start page could not be rendered");
            HttpResponse::InternalServerError().finish()
        }
    }
}

/// The links are relative, so that they also work behind a proxy that serves Carrel under a path.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Carrel</title>
<link rel="stylesheet" href="oauth/style.css">
</head>
<body>
<main>
<p class="brand">Carrel</p>
<h1>Your reading library is running</h1>
<p class="lead">Carrel stores web pages, feeds, PDFs and recordings, and lets your programs and assistants search them.</p>
<h2>If there is no account yet, create the first one</h2>
<p>On the machine that runs Carrel, with the settings of the server (--config FILE before the subcommand, or the folder in which the
server was started):
<code>carrel user add --email you@home.example --plan research</code></p>
<h2>Connect an assistant</h2>
<p>Give your assistant this URL. It sends you to a page of Carrel, where you sign in and choose what it may do.
<code>{{ mcp_url }}</code></p>
<h2>Use the REST API</h2>
<p>Create a key that can search the library and save pages, on the same machine and with the same settings:
<code>carrel key create --kind rest --name "my program" --scope read:library --scope read:bookmarks --scope write:bookmarks</code></p>
<p>All operations, with examples: <a href="docs">API documentation</a></p>
<p class="other"><a href="readyz">State of the server</a></p>
</main>
</body>
</html>
"#
)]
struct StartPage<'a> {
    mcp_url: &'a str,
}
