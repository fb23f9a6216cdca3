//! An assistant that connects by OAuth: its own requests and those of the user's browser.

use serde_json::{Value, json};

use super::client::{Client, Response};

/// The redirect URI of the assistants.
pub const REDIRECT_URI: &str = "http://127.0.0.1:43117/callback";
/// The PKCE verifier of RFC 7636, appendix B.
pub const CODE_VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// The S256 challenge of [`CODE_VERIFIER`].
const CODE_CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A registered OAuth client.
#[derive(Clone)]
pub struct OAuthClient {
    pub client: Client,
    pub id: String,
    pub secret: Option<String>,
}

/// The tokens of a token response.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
    pub scope: String,
}

impl OAuthClient {
    /// Registers a public client.
    pub async fn new(client: Client) -> Self {
        Self::register(client, json!({ "token_endpoint_auth_method": "none" })).await
    }

    /// Registers a client with this metadata; redirect URI and name have defaults.
    pub async fn register(client: Client, metadata: Value) -> Self {
        let mut metadata = metadata;
        let fields = metadata.as_object_mut().unwrap();
        fields.entry("redirect_uris").or_insert(json!([REDIRECT_URI]));
        fields.entry("client_name").or_insert(json!("Heron"));
        let response = client.post("/oauth/register", metadata).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().map(str::to_owned);
        Self { client, id: text("client_id").unwrap(), secret: text("client_secret") }
    }

    /// The path and query of an authorization request, with these parameters changed. An empty value leaves a parameter out.
    pub fn authorization_url(&self, changes: &[(&str, &str)]) -> String {
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", self.id.as_str()),
            ("redirect_uri", REDIRECT_URI),
            ("scope", "read:library"),
            ("state", "xyz"),
            ("code_challenge", CODE_CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in changes {
            fields.retain(|(kept, _)| kept != name);
            if !value.is_empty() {
                fields.push((name, value));
            }
        }
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        format!("/oauth/authorize?{query}")
    }

    /// Opens the consent page for the `requested` scopes, allows the `ticked` ones and returns the response.
    pub async fn decide(&self, browser: &Client, requested: &str, ticked: &[&str]) -> Response {
        let page = browser.get(&self.authorization_url(&[("scope", requested)])).await;
        let ticket = read_ticket(&page);
        let mut fields = vec![("ticket", ticket.as_str()), ("decision", "allow")];
        fields.extend(ticked.iter().map(|scope| ("scope", *scope)));
        browser.post_form("/oauth/consent", &fields).await
    }

    /// Allows all scopes and returns the authorization code.
    pub async fn obtain_code(&self, browser: &Client, scope: &str) -> String {
        let ticked: Vec<_> = scope.split(' ').collect();
        let response = self.decide(browser, scope, &ticked).await;
        redirect_params(&response)["code"].as_str().unwrap().to_owned()
    }

    /// Posts these fields and the client's credentials to the token endpoint. A field with an empty value is left out.
    pub async fn request_token(&self, fields: &[(&str, &str)]) -> Response {
        self.post_as_client("/oauth/token", fields).await
    }

    /// Does the same as [`Self::request_token`] at any path.
    pub async fn post_as_client(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let mut all = vec![("client_id", self.id.as_str())];
        all.extend(self.secret.as_deref().map(|secret| ("client_secret", secret)));
        all.extend(fields.iter().copied().filter(|(_, value)| !value.is_empty()));
        self.client.post_form(path, &all).await
    }

    pub async fn exchange(&self, code: &str) -> Response {
        self.exchange_with(code, &[]).await
    }

    /// Exchanges a code with these fields changed.
    pub async fn exchange_with(&self, code: &str, changes: &[(&str, &str)]) -> Response {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT_URI),
            ("code_verifier", CODE_VERIFIER),
        ];
        for (name, value) in changes {
            fields.retain(|(kept, _)| kept != name);
            fields.push((name, value));
        }
        self.request_token(&fields).await
    }

    pub async fn refresh(&self, token: &str) -> Response {
        self.request_token(&[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// Obtains a code and exchanges it for tokens.
    pub async fn connect(&self, browser: &Client, scope: &str) -> Tokens {
        Tokens::from_response(&self.exchange(&self.obtain_code(browser, scope).await).await)
    }

    /// Lists the tools with an access token and returns the HTTP status.
    pub async fn call_status(&self, access: &str) -> u16 {
        self.list_tools(access).await.status
    }

    /// Lists the tools with an access token.
    pub async fn list_tools(&self, access: &str) -> Response {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        self.client.clone().with_key(access).post("/mcp", message).await
    }

    /// The same OAuth client at another server.
    pub fn with_client(&self, client: Client) -> Self {
        Self { client, ..self.clone() }
    }
}

impl Tokens {
    /// Asserts a successful token response and returns its tokens.
    #[track_caller]
    pub fn from_response(response: &Response) -> Self {
        assert_eq!(response.status, 200, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token"), scope: text("scope") }
    }
}

/// Returns the ticket in the form of a sign-in or consent page.
#[track_caller]
pub fn read_ticket(page: &Response) -> String {
    assert_eq!(page.status, 200, "{}", page.text);
    let (_, rest) = page.text.split_once("name=\"ticket\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Asserts a redirect to [`REDIRECT_URI`] and returns its query parameters.
#[track_caller]
pub fn redirect_params(response: &Response) -> Value {
    assert_eq!(response.status, 303, "{}", response.text);
    let (address, query) = response.header("location").split_once('?').unwrap();
    assert_eq!(address, REDIRECT_URI);
    url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| (name.into_owned(), Value::from(value.into_owned())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
