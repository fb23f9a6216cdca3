//! Applications that are named by the address of a document about themselves (Client ID Metadata Document,
//! draft-ietf-oauth-client-id-metadata-document; MCP 2026-07-28), where `oauth.client_metadata_documents` allows it.
//!
//! The document is fetched by the one guarded door when a person comes to sign in, and kept for a while. Nobody is signed
//! in by what a redirect leads to, and each fetch counts as a registration of whoever's request it is for.

use std::net::IpAddr;

use actors::context::OperationContext;
use validation;
use actors::auth::grants::client::Introduction;
use actors::auth::grants::redirect::is_local;
use actors::auth::grants::{DocumentAge, RegistrationError};
use entity::kind::ClientAuth;
use entity::oauth_client;
use serde_json::{Map, Value};
use tracing::warn;
use url::Url;
use web::{FetchError, FetchRequest, PageUrl};

use super::error::AuthorizationError;
use super::register::{introduction, texts};

/// Widely used documents have two or three kilobytes; the draft advises to take no more than 5 KiB from anybody.
const LONGEST: u64 = 16 * 1024;
/// As long as a redirect address may be; an index of the database holds it.
const LONGEST_NAME: usize = 2048;

/// Whether a client is named by an address, and such names are taken here.
pub fn is_named(ctx: &OperationContext, id: &str) -> bool {
    ctx.grants.reads_documents() && (id.starts_with("https://") || id.starts_with("http://"))
}

/// The client of the document at this address, as the document is now or was a short while ago.
pub async fn client(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    id: &str,
) -> Result<oauth_client::Model, AuthorizationError> {
    if !is_address(id, &ctx.core.base_url) {
        return Err(refused("its client_id is not an https URL with a path"));
    }
    let known = ctx.grants.client(id).await?;
    let known = known.map(|known| (ctx.grants.document_age(&known), known));
    if let Some((DocumentAge::Fresh, known)) = known {
        return Ok(known);
    }
    let said = match read(ctx, from, id).await {
        Ok(said) => said,
        Err(not) => match known {
            Some((DocumentAge::Usable, known)) => return Ok(known),
            Some(_) | None => return Err(not),
        },
    };
    ctx.grants.keep_document(id, introduced(&said, id)?).await.map_err(|error| match error {
        RegistrationError::Internal(error) => error.into(),
        invalid @ (RegistrationError::Closed
        | RegistrationError::InvalidMetadata(_)
        | RegistrationError::TooManyAttempts(_)) => refused(&invalid.to_string()),
    })
}

/// The page for the user of an application whose document is refused for this reason.
fn refused(why: &str) -> AuthorizationError {
    AuthorizationError::Page {
        title: "This app cannot be connected",
        text: format!("The document that describes the app was refused: {why}."),
    }
}

/// https with a path, written in the one way that it is compared by. A service on this machine alone takes http on this
/// machine too.
fn is_address(id: &str, base_url: &str) -> bool {
    let Ok(parsed) = Url::parse(id) else { return false };
    if id.len() > LONGEST_NAME {
        return false;
    }
    let plain = parsed.username().is_empty() && parsed.password().is_none() && parsed.fragment().is_none();
    let at_home = is_local(base_url) && is_local(id);
    let scheme = parsed.scheme() == "https" || (parsed.scheme() == "http" && at_home);
    scheme && plain && parsed.path() != "/" && parsed.as_str() == id
}

async fn read(ctx: &OperationContext, from: Option<IpAddr>, id: &str) -> Result<Map<String, Value>, AuthorizationError> {
    let too_many = "too many new apps were connected from your IP address; try again later";
    ctx.grants.may_read(from).map_err(|_| refused(too_many))?;
    let url = PageUrl::parse(id).map_err(|_| refused("its client_id is not a URL that may be fetched"))?;
    let request = FetchRequest {
        accept: "application/json",
        max_bytes: Some(LONGEST),
        follow_redirects: false,
        ..FetchRequest::page()
    };
    let fetched = ctx.ingest.fetcher.get(&url, request).await.map_err(|error| not_fetched(&error))?;
    let json = |kind: &str| kind == "application/json" || kind.ends_with("+json");
    if !fetched.content_type.is_some_and(|kind| json(kind.essence())) {
        return Err(refused("it is not sent as application/json"));
    }
    match fields::parse_json(&fetched.body) {
        Ok(Value::Object(said)) => Ok(said),
        Ok(_) | Err(_) => Err(refused("it is not a JSON object, or one with repeated members")),
    }
}

fn not_fetched(error: &FetchError) -> AuthorizationError {
    if matches!(error, FetchError::TooManyRedirects) {
        return refused("its URL redirects to another one");
    }
    warn!(cause = %error, "could not fetch what an application says of itself");
    refused("it could not be fetched")
}

/// What the document says, of an application without a secret: there is no way to have given it one.
fn introduced(said: &Map<String, Value>, id: &str) -> Result<Introduction, AuthorizationError> {
    if said.get("client_id").and_then(Value::as_str) != Some(id) {
        return Err(refused("its client_id is that of another app"));
    }
    if said.contains_key("client_secret") || said.contains_key("client_secret_expires_at") {
        return Err(refused("it contains a client secret"));
    }
    let without_proof = said.get("token_endpoint_auth_method").is_none_or(|method| method == "none")
        || matches!(texts(said, "token_endpoint_auth_methods_supported"), Ok(Some(all)) if all.iter().any(|one| one == "none"));
    if !without_proof {
        return Err(refused("its token_endpoint_auth_method must be none"));
    }
    let mut said = said.clone();
    said.remove("token_endpoint_auth_method");
    let introduction = introduction(&said).map_err(|unfit| refused(&unfit.to_string()))?;
    // The document's host is known; of another one it may say what it likes.
    let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    let uri = introduction.uri.filter(|uri| host(uri) == host(id));
    Ok(Introduction { auth: Some(ClientAuth::None), uri, ..introduction })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_an_https_address_with_a_path_written_in_one_way() {
        let public = "https://carrel.example";
        assert!(is_address("https://app.example/client.json", public));
        assert!(is_address("https://app.example:8443/a/b?c=d", public));
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
            &format!("https://app.example/{}", "a".repeat(LONGEST_NAME)),
        ] {
            assert!(!is_address(other, public), "{other}");
        }
        assert!(is_address("http://127.0.0.1:1/client.json", "http://127.0.0.1:8080"));
        assert!(!is_address("http://app.example/client.json", "http://127.0.0.1:8080"));
    }

    #[test]
    fn a_document_is_about_itself_and_holds_no_secret() {
        let id = "https://app.example/client.json";
        let good =
            json!({ "client_id": id, "redirect_uris": ["https://app.example/cb"], "client_name": "App" });
        let with = |name: &str, value: Value| {
            let mut said = good.as_object().unwrap().clone();
            said.insert(name.to_owned(), value);
            introduced(&said, id)
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
