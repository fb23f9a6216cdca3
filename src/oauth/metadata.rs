//! The metadata documents: RFC 9728 for the MCP server, RFC 8414 for the authorization server. Every URL in them comes from the
//! settings, never from the request.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::auth::grants::pkce;
use actors::context::OperationContext;
use serde_json::{Value, json};
use values::kind::ClientAuth;
use values::scope::Scope;

use super::open::{self, CacheControl};

/// Mounts the metadata documents below /.well-known.
pub fn mount(config: &mut ServiceConfig) {
    config
        .service(
            web::resource([
                // Clients try the path form first, then the root.
                "/.well-known/oauth-protected-resource",
                "/.well-known/oauth-protected-resource/mcp",
            ])
            .to(protected_resource),
        )
        .service(
            web::resource([
                // The form with the path is for clients that append the path of the MCP server.
                "/.well-known/oauth-authorization-server",
                "/.well-known/oauth-authorization-server/mcp",
            ])
            .to(authorization_server),
        )
        // Clients probe several paths, such as `openid-configuration`, and some take a page of HTML with status 200
        // for metadata.
        .service(web::resource(["/.well-known/{name:.*}", "/mcp/.well-known/{name:.*}"]).to(not_found));
}

async fn protected_resource(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    open::document(&request, || open::json(StatusCode::OK, CacheControl::Public, &resource(&ctx.auth)))
}

async fn authorization_server(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    open::document(&request, || open::json(StatusCode::OK, CacheControl::Public, &server(&ctx.auth)))
}

async fn not_found(request: HttpRequest) -> HttpResponse {
    open::document(&request, || {
        open::json(StatusCode::NOT_FOUND, CacheControl::Public, &json!({ "error": "not_found" }))
    })
}

fn resource(auth: &AuthContext) -> Value {
    json!({
        // Clients compare it with the URL that the user entered, and refuse any other.
        "resource": auth.grants.resource(),
        // The same bytes as `issuer` and as the `iss` of responses: strict clients compare them.
        "authorization_servers": [&*auth.core.base_url],
        // Only scopes that can be granted: clients request all that are listed.
        "scopes_supported": scopes(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Carrel",
    })
}

fn server(auth: &AuthContext) -> Value {
    let base = &auth.core.base_url;
    let mut document = json!({
        "issuer": &**base,
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "scopes_supported": scopes(),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ClientAuth::NAMES,
        "revocation_endpoint_auth_methods_supported": ClientAuth::NAMES,
        // MCP clients refuse a server whose metadata does not list S256.
        "code_challenge_methods_supported": [pkce::METHOD],
        // Clients that know RFC 9207 expect `iss` exactly if this announces it.
        "authorization_response_iss_parameter_supported": true,
    });
    if let (true, Some(document)) = (auth.grants.is_registration_open(), document.as_object_mut()) {
        document.insert("registration_endpoint".to_owned(), json!(format!("{base}/oauth/register")));
    }
    if let (true, Some(document)) = (auth.grants.can_read_documents(), document.as_object_mut()) {
        document.insert("client_id_metadata_document_supported".to_owned(), json!(true));
    }
    document
}

fn scopes() -> [&'static str; 5] {
    Scope::GRANTABLE.map(Scope::name)
}
