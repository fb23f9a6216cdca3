//! POST /oauth/register: an application introduces itself (RFC 7591). What is not known is passed over; what is answered
//! holds no empty fields, which clients choke on.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use validation;
use actors::auth::grants::client::{Introduction, InvalidClientMetadata};
use actors::auth::secret::Secret;
use entity::kind::ClientAuth;
use entity::oauth_client;
use serde_json::{Map, Value, json};

use super::client::failed;
use super::error::OAuthError;
use super::open::{self, Kept};
use crate::http::budget::Sender;
use crate::http::{body, peer};

const LONGEST: usize = 64 * 1024;
const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];
const RESPONSE_TYPES: [&str; 1] = ["code"];

/// Answers whatever comes to the address.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, async {
        register(&request, &ctx, payload).await.map_err(|error| {
            // Trying what may be registered is a way to look for holes.
            let is_bad =
                matches!(error, OAuthError::InvalidRedirectUri(_) | OAuthError::InvalidClientMetadata(_));
            if is_bad { failed(&ctx, &request, error) } else { error }
        })
    })
    .await
}

async fn register(request: &HttpRequest, ctx: &OperationContext, payload: Payload) -> Result<HttpResponse, OAuthError> {
    if !ctx.grants.is_open() {
        return Err(OAuthError::RegistrationClosed);
    }
    let sender = Sender::stranger(peer::address(request));
    let bytes = body::read(request, payload, sender, LONGEST).await?;
    body::must_be_json(request)?;
    let said = match fields::parse_json(&bytes) {
        Ok(Value::Object(said)) => said,
        Ok(_) | Err(_) => {
            return Err(OAuthError::InvalidClientMetadata(
                "the body must be a JSON object without repeated members",
            ));
        }
    };
    let introduction = introduction(&said)?;
    let (client, secret) = ctx.grants.register(peer::address(request), introduction).await?;
    Ok(open::json(StatusCode::CREATED, Kept::Never, &record(&client, secret.as_ref())))
}

/// What an application says of itself.
pub fn introduction(said: &Map<String, Value>) -> Result<Introduction, InvalidClientMetadata> {
    let redirect_uris = texts(said, "redirect_uris")
        .map_err(|()| InvalidClientMetadata::RedirectUri("redirect_uris must be an array of strings"))?
        .ok_or(InvalidClientMetadata::RedirectUri("redirect_uris is missing"))?;
    holds_ours(said, "grant_types", &GRANT_TYPES[..1], "grant_types must contain authorization_code")?;
    holds_ours(said, "response_types", &RESPONSE_TYPES, "response_types must contain code")?;
    let auth = match text(said, "token_endpoint_auth_method")? {
        None => None,
        Some(name) => Some(name.parse::<ClientAuth>().map_err(|_| {
            InvalidClientMetadata::Other(
                "token_endpoint_auth_method must be none, client_secret_post or client_secret_basic",
            )
        })?),
    };
    Ok(Introduction { name: text(said, "client_name")?, uri: text(said, "client_uri")?, redirect_uris, auth })
}

/// Applications list all that they can do; what is not done here is left out of the record, as RFC 7591 allows.
fn holds_ours(
    said: &Map<String, Value>,
    name: &str,
    ours: &[&str],
    why: &'static str,
) -> Result<(), InvalidClientMetadata> {
    match texts(said, name) {
        Ok(None) => Ok(()),
        Ok(Some(listed)) if listed.iter().any(|one| ours.contains(&one.as_str())) => Ok(()),
        Ok(Some(_)) | Err(()) => Err(InvalidClientMetadata::Other(why)),
    }
}

/// A text; an empty one is none.
fn text(said: &Map<String, Value>, name: &str) -> Result<Option<String>, InvalidClientMetadata> {
    match said.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(InvalidClientMetadata::Other(
                "client_name, client_uri and token_endpoint_auth_method must be strings",
            ))
        }
    }
}

/// A list of texts, where there is one.
pub fn texts(said: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, ()> {
    match said.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Some).ok_or(())
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => Err(()),
    }
}

fn record(client: &oauth_client::Model, secret: Option<&Secret>) -> Value {
    let mut record = Map::new();
    let mut put = |name: &str, value: Value| record.insert(name.to_owned(), value);
    put("client_id", json!(client.id));
    put("client_id_issued_at", json!(client.created_at.millis().div_euclid(1000)));
    if let Some(secret) = secret {
        put("client_secret", json!(secret.expose()));
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
    put("grant_types", json!(GRANT_TYPES));
    put("response_types", json!(RESPONSE_TYPES));
    Value::Object(record)
}
