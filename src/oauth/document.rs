//! Applications that are named by the address of a document about themselves (Client ID Metadata Document,
//! draft-ietf-oauth-client-id-metadata-document; MCP 2026-07-28), where `oauth.client_metadata_documents` allows it.
//!
//! The document is fetched by the one guarded door when a person comes to sign in, and kept for a while. Nobody is signed
//! in by what a redirect leads to, and each fetch counts as a registration of whoever's request it is for.

use std::net::IpAddr;

use actors::adapters::fetch::Wanted;
use actors::address::PageUrl;
use actors::app::App;
use actors::error::Error;
use actors::grants::NotRegistered;
use actors::grants::client::Introduction;
use entity::kind::ClientAuth;
use entity::oauth_client;
use serde_json::{Map, Value};
use url::{Host, Url};

use super::register::{introduction, texts};

/// A larger document is none of a client (draft, section 6.6 has 5 KiB for a reason).
const LONGEST: u64 = 16 * 1024;

/// Why an application's document is not taken.
#[derive(Debug)]
pub enum NotRead {
    /// In words for the person who came to sign in.
    Told(String),
    /// Something inside went wrong.
    Inside(Error),
}

impl From<Error> for NotRead {
    fn from(error: Error) -> Self {
        NotRead::Inside(error)
    }
}

/// Whether a client is named by an address, and such names are taken here.
pub fn is_named(app: &App, id: &str) -> bool {
    app.grants.reads_documents() && (id.starts_with("https://") || id.starts_with("http://"))
}

/// The client of the document at this address, as the document is now or was a short while ago.
pub async fn client(app: &App, from: Option<IpAddr>, id: &str) -> Result<oauth_client::Model, NotRead> {
    if !is_address(id, &app.base_url) {
        return Err(told("its name is no https address with a path"));
    }
    if let Some(known) = app.grants.fresh_document(id).await? {
        return Ok(known);
    }
    app.grants
        .may_register(from)
        .map_err(|_| told("too many new apps come from your address; try again later"))?;
    let said = fetched(app, id).await?;
    app.grants.by_document(id, introduced(&said, id)?).await.map_err(|not| match not {
        NotRegistered::Inside(error) => NotRead::Inside(error),
        unfit @ (NotRegistered::Closed | NotRegistered::Unfit(_) | NotRegistered::TooMany(_)) => {
            told(&unfit.to_string())
        }
    })
}

fn told(why: &str) -> NotRead {
    NotRead::Told(format!("The app's description of itself was not taken: {why}."))
}

/// https with a path, written in the one way that it is compared by. A service on this machine alone takes http on this
/// machine too.
fn is_address(id: &str, base_url: &str) -> bool {
    let Ok(parsed) = Url::parse(id) else { return false };
    let plain = parsed.username().is_empty() && parsed.password().is_none() && parsed.fragment().is_none();
    let is_here = |url: &Url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let at_home = Url::parse(base_url).is_ok_and(|base| is_here(&base)) && is_here(&parsed);
    let scheme = parsed.scheme() == "https" || (parsed.scheme() == "http" && at_home);
    scheme && plain && parsed.path() != "/" && parsed.as_str() == id
}

async fn fetched(app: &App, id: &str) -> Result<Map<String, Value>, NotRead> {
    let url = PageUrl::parse(id).map_err(|_| told("its name is no address that may be fetched"))?;
    let wanted = Wanted {
        accept: "application/json",
        if_none_match: None,
        if_modified_since: None,
        max_bytes: Some(LONGEST),
    };
    let fetched = app.fetcher.get(&url, wanted).await.map_err(|_| told("it could not be fetched"))?;
    if fetched.url.as_str() != id {
        return Err(told("its address leads to another one"));
    }
    match serde_json::from_slice(&fetched.body) {
        Ok(Value::Object(said)) => Ok(said),
        Ok(_) | Err(_) => Err(told("it is no JSON object")),
    }
}

/// What the document says, of an application without a secret: there is no way to have given it one.
fn introduced(said: &Map<String, Value>, id: &str) -> Result<Introduction, NotRead> {
    if said.get("client_id").and_then(Value::as_str) != Some(id) {
        return Err(told("it is about another app"));
    }
    if said.contains_key("client_secret") || said.contains_key("client_secret_expires_at") {
        return Err(told("it holds a secret"));
    }
    let without_proof = said.get("token_endpoint_auth_method").is_none_or(|method| method == "none")
        || matches!(texts(said, "token_endpoint_auth_methods_supported"), Ok(Some(all)) if all.iter().any(|one| one == "none"));
    if !without_proof {
        return Err(told("it wants to prove itself in a way that is not taken here"));
    }
    let mut said = said.clone();
    said.remove("token_endpoint_auth_method");
    let introduction = introduction(&said).map_err(|unfit| told(&unfit.to_string()))?;
    Ok(Introduction { auth: Some(ClientAuth::None), ..introduction })
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
