//! POST /oauth/register: registration of a client (RFC 7591). Unknown members are ignored. The response has no empty members, on which
//! some clients fail.
//!
//! The metadata is refused for its first fault: an error response has one code and one description (RFC 7591, section 3.2.2), and a
//! fault of a redirect URI has a code of its own. So the members are read by name rather than with [`validation::request!`], which
//! reports all faults and refuses unknown members, while unknown metadata must be ignored (section 2).

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::auth::grants::client::{ClientMetadata, InvalidClientMetadata};
use actors::auth::secret::Secret;
use actors::context::OperationContext;
use entity::oauth_client;
use serde_json::{Map, Value, json};
use validation::parse_json;
use values::kind::ClientAuth;

use super::client::record_failure;
use super::error::OAuthError;
use super::open::{self, CacheControl};
use crate::http::budget::Sender;
use crate::http::{body, peer};

const MAX_BODY_BYTES: usize = 64 * 1024;
const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];
const RESPONSE_TYPES: [&str; 1] = ["code"];

/// Responds to a request of any method.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, async {
        register(&request, &ctx.auth, payload).await.map_err(|error| {
            // Counted as a failure of the IP address: attackers try out which redirect URIs may be registered.
            let is_invalid =
                matches!(error, OAuthError::InvalidRedirectUri(_) | OAuthError::InvalidClientMetadata(_));
            if is_invalid { record_failure(&ctx.auth, &request, error) } else { error }
        })
    })
    .await
}

async fn register(
    request: &HttpRequest,
    auth: &AuthContext,
    payload: Payload,
) -> Result<HttpResponse, OAuthError> {
    // Before the body is read: a closed registration should cost nothing.
    if !auth.grants.is_registration_open() {
        return Err(OAuthError::RegistrationClosed);
    }
    let sender = Sender::anonymous(peer::ip_address(request));
    let bytes = body::read_body(request, payload, sender, MAX_BODY_BYTES).await?;
    body::require_json(request)?;
    let members = match parse_json(&bytes) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => {
            return Err(OAuthError::InvalidClientMetadata(
                "the body must be a JSON object without repeated members",
            ));
        }
    };
    let metadata = client_metadata(&members)?;
    let (client, secret) = auth.grants.register_client(peer::ip_address(request), metadata).await?;
    Ok(open::json(StatusCode::CREATED, CacheControl::NoStore, &response_body(&client, secret.as_ref())))
}

/// Reads the metadata of a client. Members that are not used here, such as `software_id`, are ignored.
///
/// # Errors
/// [`InvalidClientMetadata`]: a member has the wrong type, or the client supports nothing that this server supports.
pub fn client_metadata(members: &Map<String, Value>) -> Result<ClientMetadata, InvalidClientMetadata> {
    let redirect_uris = texts(members, "redirect_uris")
        .map_err(|()| InvalidClientMetadata::RedirectUri("redirect_uris must be an array of strings"))?
        .ok_or(InvalidClientMetadata::RedirectUri("redirect_uris is missing"))?;
    // `refresh_token` alone is not enough: every grant begins with a code.
    require_any(members, "grant_types", &GRANT_TYPES[..1], "grant_types must contain authorization_code")?;
    require_any(members, "response_types", &RESPONSE_TYPES, "response_types must contain code")?;
    // `None` stands for `client_secret_basic` (RFC 7591, section 2).
    let auth = match read_text(members, "token_endpoint_auth_method")? {
        None => None,
        Some(name) => Some(name.parse::<ClientAuth>().map_err(|_| {
            InvalidClientMetadata::Other(
                "token_endpoint_auth_method must be none, client_secret_post or client_secret_basic",
            )
        })?),
    };
    Ok(ClientMetadata {
        name: read_text(members, "client_name")?,
        uri: read_text(members, "client_uri")?,
        redirect_uris,
        auth,
    })
}

/// Requires that a list, if it is sent, contains one of the supported values. Clients list everything that they can do; what is not
/// supported here is left out of the registration, as RFC 7591 allows.
fn require_any(
    members: &Map<String, Value>,
    name: &str,
    supported: &[&str],
    why: &'static str,
) -> Result<(), InvalidClientMetadata> {
    match texts(members, name) {
        Ok(None) => Ok(()),
        Ok(Some(listed)) if listed.iter().any(|one| supported.contains(&one.as_str())) => Ok(()),
        Ok(Some(_)) | Err(()) => Err(InvalidClientMetadata::Other(why)),
    }
}

/// Returns a string; `None` if it is missing, null or empty.
fn read_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, InvalidClientMetadata> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(InvalidClientMetadata::Other(
                "client_name, client_uri and token_endpoint_auth_method must be strings",
            ))
        }
    }
}

/// Returns a list of strings; `None` if it is missing or null.
///
/// # Errors
/// `()` when the member is anything else.
pub fn texts(members: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, ()> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Some).ok_or(())
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => Err(()),
    }
}

fn response_body(client: &oauth_client::Model, secret: Option<&Secret>) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    put("client_id", json!(client.id));
    // Whole seconds: some clients reject a number with a fraction.
    put("client_id_issued_at", json!(client.created_at.millis().div_euclid(1000)));
    // Absent members are left out: some clients reject `null` and empty strings.
    if let Some(secret) = secret {
        put("client_secret", json!(secret.expose()));
        // Required with a secret (RFC 7591, section 3.2.1). Zero means that it does not expire.
        put("client_secret_expires_at", json!(0));
    }
    if let Some(name) = &client.name {
        put("client_name", json!(name));
    }
    if let Some(uri) = &client.uri {
        put("client_uri", json!(uri));
    }
    put("redirect_uris", json!(client.redirect_uris.0));
    put("token_endpoint_auth_method", json!(client.auth));
    // Both, whatever was requested: clients that omit `grant_types` expect a refresh token nevertheless.
    put("grant_types", json!(GRANT_TYPES));
    put("response_types", json!(RESPONSE_TYPES));
    Value::Object(body)
}
