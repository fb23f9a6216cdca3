//! Clients whose id is the URL of a document with their metadata (Client ID Metadata Document,
//! draft-ietf-oauth-client-id-metadata-document; MCP 2026-07-28), where `oauth.client_metadata_documents` allows it.
//!
//! The document is fetched by the guarded HTTP client when a user is sent to sign in, and stored for a while. Redirects are not
//! followed, and each fetch counts as a registration of the IP address whose request causes it.

use std::net::IpAddr;

use actors::auth::context::AuthContext;
use actors::auth::grants::client::ClientMetadata;
use actors::auth::grants::redirect::is_local;
use actors::auth::grants::{DocumentAge, RegistrationError};
use actors::context::OperationContext;
use entity::oauth_client;
use serde_json::{Map, Value};
use tracing::warn;
use url::Url;
use validation::parse_json;
use values::kind::ClientAuth;
use web::{FetchError, FetchRequest, PageUrl};

use super::error::AuthorizationError;
use super::register::{client_metadata, texts};

/// The longest document. Widely used ones have two or three kilobytes; the draft advises a limit of 5 KiB.
const MAX_DOCUMENT_BYTES: u64 = 16 * 1024;
/// The longest client id, which is that of a redirect URI: an index of the database contains it.
const MAX_ID_BYTES: usize = 2048;

/// Returns whether a client id is the URL of a document, and such ids are accepted.
pub fn is_document_id(auth: &AuthContext, id: &str) -> bool {
    auth.grants.can_read_documents() && (id.starts_with("https://") || id.starts_with("http://"))
}

/// The client of the document at this URL, as the document is now or was a short while ago.
///
/// # Errors
/// [`AuthorizationError::Page`] when the document is refused, or could not be fetched.
pub async fn find_client(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    id: &str,
) -> Result<oauth_client::Model, AuthorizationError> {
    if !is_document_url(id, &ctx.core.base_url) {
        return Err(refused("its client_id is not an https URL with a path"));
    }
    let known = ctx.auth.grants.find_client(id).await?;
    let known = known.map(|known| (ctx.auth.grants.document_age(&known), known));
    if let Some((DocumentAge::Fresh, known)) = known {
        return Ok(known);
    }
    // An app whose site is unreachable for a while can still be connected by its last document.
    let document = match fetch(ctx, from, id).await {
        Ok(document) => document,
        Err(error) => match known {
            Some((DocumentAge::Usable, known)) => return Ok(known),
            Some(_) | None => return Err(error),
        },
    };
    ctx.auth.grants.store_client_document(id, check(&document, id)?).await.map_err(|error| match error {
        RegistrationError::Internal(error) => error.into(),
        invalid @ (RegistrationError::Closed
        | RegistrationError::InvalidMetadata(_)
        | RegistrationError::TooManyAttempts(_)) => refused(&invalid.to_string()),
    })
}

/// The page for the user of an app whose document is refused for this reason.
fn refused(why: &str) -> AuthorizationError {
    AuthorizationError::Page {
        title: "This app cannot be connected",
        text: format!("The document that describes the app was refused: {why}."),
    }
}

/// Returns whether the id is an https URL with a path, in its normal form. A server on this machine accepts http URLs of this machine
/// too.
fn is_document_url(id: &str, base_url: &str) -> bool {
    let Ok(parsed) = Url::parse(id) else { return false };
    if id.len() > MAX_ID_BYTES {
        return false;
    }
    let is_plain = parsed.username().is_empty() && parsed.password().is_none() && parsed.fragment().is_none();
    let are_both_local = is_local(base_url) && is_local(id);
    let is_scheme_allowed = parsed.scheme() == "https" || (parsed.scheme() == "http" && are_both_local);
    // Only the normal form: each other spelling of the URL would be a client of its own.
    is_scheme_allowed && is_plain && parsed.path() != "/" && parsed.as_str() == id
}

async fn fetch(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    id: &str,
) -> Result<Map<String, Value>, AuthorizationError> {
    let too_many = "too many new apps were connected from your IP address; try again later";
    // Before the fetch, which any client can cause without an account.
    ctx.auth.grants.admit_document_read(from).map_err(|_| refused(too_many))?;
    let url = PageUrl::parse(id).map_err(|_| refused("its client_id is not a URL that may be fetched"))?;
    let request = FetchRequest {
        accept: "application/json",
        max_bytes: Some(MAX_DOCUMENT_BYTES),
        // Another URL would describe a client that does not have this id.
        follow_redirects: false,
        ..FetchRequest::page()
    };
    let fetched = ctx.ingest.fetcher.get(&url, request).await.map_err(|error| fetch_failed(&error))?;
    let is_json = |kind: &str| kind == "application/json" || kind.ends_with("+json");
    if !fetched.content_type.is_some_and(|kind| is_json(kind.essence())) {
        return Err(refused("it is not sent as application/json"));
    }
    match parse_json(&fetched.body) {
        Ok(Value::Object(document)) => Ok(document),
        Ok(_) | Err(_) => Err(refused("it is not a JSON object, or one with repeated members")),
    }
}

fn fetch_failed(error: &FetchError) -> AuthorizationError {
    if matches!(error, FetchError::TooManyRedirects) {
        return refused("its URL redirects to another one");
    }
    warn!(cause = %error, "could not fetch the metadata document of a client");
    refused("it could not be fetched")
}

/// Reads the metadata in a document. The client must be a public one: there is no way to give it a secret.
fn check(document: &Map<String, Value>, id: &str) -> Result<ClientMetadata, AuthorizationError> {
    if document.get("client_id").and_then(Value::as_str) != Some(id) {
        return Err(refused("its client_id is that of another app"));
    }
    // Everyone can read the document, so what it contains is no secret.
    if document.contains_key("client_secret") || document.contains_key("client_secret_expires_at") {
        return Err(refused("it contains a client secret"));
    }
    // ChatGPT's document prefers `private_key_jwt` and lists `none` besides.
    let is_public = document.get("token_endpoint_auth_method").is_none_or(|method| method == "none")
        || matches!(texts(document, "token_endpoint_auth_methods_supported"), Ok(Some(all)) if all.iter().any(|one| one == "none"));
    if !is_public {
        return Err(refused("its token_endpoint_auth_method must be none"));
    }
    let mut document = document.clone();
    // It may name a method that `client_metadata` refuses; the client counts as public whatever it prefers.
    document.remove("token_endpoint_auth_method");
    let metadata = client_metadata(&document).map_err(|invalid| refused(&invalid.to_string()))?;
    // The home page is shown only if it is on the document's own host: nothing proves that the client belongs to another one.
    let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let uri = metadata.uri.filter(|uri| host(uri) == host(id));
    Ok(ClientMetadata { auth: Some(ClientAuth::None), uri, ..metadata })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn id_is_an_https_url_with_a_path_in_normal_form() {
        let public = "https://carrel.example";
        assert!(is_document_url("https://app.example/client.json", public));
        assert!(is_document_url("https://app.example:8443/a/b?c=d", public));
        for other in [
            "https://app.example",
            "https://app.example/",
            "https://APP.example/client.json",
            "https://app.example/a/../client.json",
            "https://app.example/client.json#part",
            "https://user@app.example/client.json",
            "http://app.example/client.json",
            "http://127.0.0.1:1/client.json",
            "ftp://app.example/client.json",
            "client.json",
            &format!("https://app.example/{}", "a".repeat(MAX_ID_BYTES)),
        ] {
            assert!(!is_document_url(other, public), "{other}");
        }
        assert!(is_document_url("http://127.0.0.1:1/client.json", "http://127.0.0.1:8080"));
        assert!(!is_document_url("http://app.example/client.json", "http://127.0.0.1:8080"));
    }

    #[test]
    fn document_names_its_own_url_and_holds_no_secret() {
        let id = "https://app.example/client.json";
        let good =
            json!({ "client_id": id, "redirect_uris": ["https://app.example/cb"], "client_name": "App" });
        let with = |name: &str, value: Value| {
            let mut document = good.as_object().unwrap().clone();
            document.insert(name.to_owned(), value);
            check(&document, id)
        };

        assert_eq!(with("token_endpoint_auth_method", json!("none")).unwrap().auth, Some(ClientAuth::None));
        let many = json!(["private_key_jwt", "none"]);
        assert!(with("token_endpoint_auth_methods_supported", many).is_ok());
        for (name, value) in [
            ("client_id", json!("https://app.example/other.json")),
            ("client_id", json!(7)),
            ("client_secret", json!("s")),
            ("token_endpoint_auth_method", json!("client_secret_post")),
            ("redirect_uris", json!("https://app.example/cb")),
            ("grant_types", json!(["client_credentials"])),
        ] {
            assert!(with(name, value.clone()).is_err(), "{name}: {value}");
        }
    }
}
