//! An HTTP client and the responses that it receives.

use carrel::routing::undescribed;
use carrel::{openapi, rest};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::{Value, json};

/// The content type of [`form_with`].
const FORM_CONTENT_TYPE: &str = "multipart/form-data; boundary=reeds";

/// Sends requests to one server, with the same headers each time.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

impl Client {
    /// Returns a client without credentials.
    pub fn new(base: &str) -> Self {
        // An error means that the server in this process has installed a provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // No redirects: the tests check where the server sends a browser.
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), headers: HeaderMap::new() }
    }

    /// Returns the same client without transparent decompression; it sends only the `Accept-Encoding` that is set.
    pub fn without_decoding(&self) -> Self {
        let plain = reqwest::Client::builder().no_proxy().redirect(Policy::none());
        Self { http: plain.no_gzip().no_deflate().no_zstd().build().unwrap(), ..self.clone() }
    }

    /// Sets a header, replacing one of the same name.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Adds a header to those of the same name.
    pub fn with_additional(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Sends this API key or access token.
    pub fn with_key(self, secret: &str) -> Self {
        self.with("authorization", &format!("Bearer {secret}"))
    }

    /// Signs in to the web app and returns a client with the session cookie.
    pub async fn sign_in(&self, email: &str, password: &str) -> Self {
        let answer = self.post("/app/api/session", json!({ "email": email, "password": password })).await;
        answer.data(200);
        self.clone().with("cookie", answer.header("set-cookie").split(';').next().unwrap())
    }

    /// The base URL of the server.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// The value of a header that the client sends.
    pub fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    /// Gets the elements of a page that have these ids, as a script asks for them.
    pub async fn get_part(&self, path: &str, ids: &str) -> Response {
        Response::receive(self.request(Method::GET, path).header("carrel-part", ids)).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, Some(body)).await
    }

    /// Posts a text as JSON without checking it.
    pub async fn post_text(&self, path: &str, body: &str) -> Response {
        self.with_text(Method::POST, path, Some(body.to_owned())).await.unwrap()
    }

    pub async fn patch(&self, path: &str, body: Value) -> Response {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, None).await
    }

    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        self.try_send(method, path, body).await.unwrap()
    }

    /// Does the same as [`Self::send`], and returns an error if the connection fails.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Result<Response> {
        self.with_text(method, path, body.map(|body| body.to_string())).await
    }

    async fn with_text(&self, method: Method, path: &str, body: Option<String>) -> reqwest::Result<Response> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        Response::receive(request).await
    }

    pub async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.try_post_form(path, fields).await.unwrap()
    }

    /// Does the same as [`Self::post_form`], and returns an error if the connection fails.
    pub async fn try_post_form(&self, path: &str, fields: &[(&str, &str)]) -> reqwest::Result<Response> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = "application/x-www-form-urlencoded";
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, kind).body(body)).await
    }

    /// Posts a multipart form with a file, as a browser does.
    pub async fn post_file(&self, path: &str, file: &[u8], fields: &[(&str, &str)]) -> Response {
        self.post_bytes(path, FORM_CONTENT_TYPE, form_with(file, fields)).await
    }

    /// Does the same as [`Self::post_file`] without a `Content-Length`.
    pub async fn post_file_in_chunks(&self, path: &str, file: &[u8]) -> Response {
        let form = form_with(file, &[]);
        let chunks: Vec<_> =
            form.chunks(1 << 16).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, FORM_CONTENT_TYPE).body(body))
            .await
            .unwrap()
    }

    /// Posts a body of this content type.
    pub async fn post_bytes(&self, path: &str, kind: &str, body: Vec<u8>) -> Response {
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, kind).body(body))
            .await
            .unwrap()
    }

    /// Returns status, headers and body of a GET request.
    pub async fn download(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        self.receive(Method::GET, path, None).await
    }

    /// Does the same as [`Self::send`], and returns the body as bytes.
    pub async fn receive(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, HeaderMap, Vec<u8>) {
        let mut request = self.request(method.clone(), path);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, headers, url) =
            (response.status().as_u16(), response.headers().clone(), response.url().clone());
        let bytes = response.bytes().await.unwrap().to_vec();
        if status >= 400 {
            assert_error_is_described(
                &method,
                url.path(),
                &serde_json::from_slice(&bytes).unwrap_or_default(),
            );
        }
        (status, headers, bytes)
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone())
    }
}

/// Asserts that the API description lists the error of a failed response among those of its REST route. Other paths and methods are
/// ignored, and so are responses without an error code: the HTTP layer or a proxy sent them, before a route saw the request.
fn assert_error_is_described(method: &Method, path: &str, body: &Value) {
    let tables = [("/rest/v1", rest::V1), ("/rest/v2", rest::V2)];
    let route = tables.into_iter().find_map(|(mounted, routes)| {
        let path = path.strip_prefix(mounted)?;
        // The first pattern that matches is the one that the server chooses, whatever the method.
        let pattern = undescribed(routes).find(|route| matches(route.pattern, path))?.pattern;
        undescribed(routes).find(|route| route.pattern == pattern && route.method.as_str() == method.as_str())
    });
    let (Some(route), Some(code)) = (route, body["error"]["code"].as_str()) else { return };
    let is_described = openapi::codes_of_route(route).any(|described| described.name == code);
    assert!(is_described, "neither the table of errors nor its operation gives {code} to {}", route.name());
}

/// Returns whether a path matches the pattern of a route, whose parameters are in braces.
fn matches(pattern: &str, path: &str) -> bool {
    let is_parameter = |part: &str| part.starts_with('{');
    pattern.split('/').count() == path.split('/').count()
        && pattern.split('/').zip(path.split('/')).all(|(part, actual)| is_parameter(part) || part == actual)
}

/// A multipart form with these fields and a file.
fn form_with(file: &[u8], fields: &[(&str, &str)]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, value) in fields {
        let head = format!("--reeds\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        form.extend_from_slice(head.as_bytes());
    }
    let head = "--reeds\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\nContent-Type: text/html\r\n\r\n";
    form.extend_from_slice(head.as_bytes());
    form.extend_from_slice(file);
    form.extend_from_slice(b"\r\n--reeds--\r\n");
    form
}

/// A response of the server.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Response {
    async fn receive(request: reqwest::RequestBuilder) -> reqwest::Result<Self> {
        let (http, request) = request.build_split();
        let request = request?;
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = http.execute(request).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        // Any test may meet any error, so each is checked here and not in a test of its own.
        if status >= 400 {
            assert_error_is_described(&method, &path, &body);
        }
        Ok(Self { status, headers, body, text })
    }

    /// The value of a header; empty if it is missing.
    pub fn header(&self, header: &str) -> &str {
        self.headers.get(header).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts a success with this status and returns its data.
    #[track_caller]
    pub fn data(&self, status: u16) -> &Value {
        assert_eq!((self.status, &self.body["success"]), (status, &Value::Bool(true)), "{}", self.body);
        &self.body["data"]
    }

    /// Asserts a failure with this status and a complete envelope, and returns its error code.
    #[track_caller]
    pub fn error_code(&self, status: u16) -> &str {
        assert_eq!((self.status, &self.body["success"]), (status, &Value::Bool(false)), "{}", self.body);
        assert_eq!(self.body["data"], Value::Null);
        assert_eq!(self.body["meta"]["statusCode"], status);
        self.body["error"]["code"].as_str().unwrap()
    }

    /// The names of the fields that a failure reports.
    pub fn faults(&self) -> Vec<&str> {
        let fields = self.body["error"]["details"]["fields"].as_array().into_iter().flatten();
        fields.filter_map(|fault| fault["field"].as_str()).collect()
    }

    /// The value of a header as a number.
    #[track_caller]
    pub fn header_number(&self, header: &str) -> u64 {
        self.headers[header].to_str().unwrap().parse().unwrap()
    }
}
