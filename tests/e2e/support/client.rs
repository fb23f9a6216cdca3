//! A client of the wire, and the answers it gets.

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde_json::{Value, json};

/// The type of [`form_with`].
const FORM_CONTENT_TYPE: &str = "multipart/form-data; boundary=reeds";

/// Asks one service, with the same headers each time.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

impl Client {
    /// Presents nothing.
    pub fn new(base: &str) -> Self {
        // An Err says that the service of this process has installed one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), headers: HeaderMap::new() }
    }

    /// The same client, which leaves a compressed body as it comes and accepts what its headers say.
    pub fn without_decoding(&self) -> Self {
        let plain = reqwest::Client::builder().no_proxy().redirect(Policy::none());
        Self { http: plain.no_gzip().no_deflate().no_zstd().build().unwrap(), ..self.clone() }
    }

    /// Sends this header too.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Sends this header beside another of its name.
    pub fn with_additional(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Presents this key.
    pub fn with_key(self, secret: &str) -> Self {
        self.with("authorization", &format!("Bearer {secret}"))
    }

    /// Signs in to the web app; whoever it is from then on.
    pub async fn sign_in(&self, email: &str, password: &str) -> Self {
        let answer = self.post("/app/api/session", json!({ "email": email, "password": password })).await;
        answer.data(200);
        self.clone().with("cookie", answer.header("set-cookie").split(';').next().unwrap())
    }

    /// Where it asks.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// What it sends in this header.
    pub fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, Some(body)).await
    }

    /// Posts this text as it is.
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

    /// As [`Self::send`], where the service may go away meanwhile.
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

    /// Sends a form as a browser does.
    pub async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.try_post_form(path, fields).await.unwrap()
    }

    /// As [`Self::form`], where the service may go away meanwhile.
    pub async fn try_post_form(&self, path: &str, fields: &[(&str, &str)]) -> reqwest::Result<Response> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = "application/x-www-form-urlencoded";
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, kind).body(body)).await
    }

    /// Sends a form with a file, as a browser does.
    pub async fn post_file(&self, path: &str, file: &[u8], fields: &[(&str, &str)]) -> Response {
        self.post_bytes(path, FORM_CONTENT_TYPE, form_with(file, fields)).await
    }

    /// As [`Self::file`], without saying how long the form is.
    pub async fn post_file_in_chunks(&self, path: &str, file: &[u8]) -> Response {
        let form = form_with(file, &[]);
        let chunks: Vec<_> =
            form.chunks(1 << 16).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, FORM_CONTENT_TYPE).body(body))
            .await
            .unwrap()
    }

    /// Posts this body of this type.
    pub async fn post_bytes(&self, path: &str, kind: &str, body: Vec<u8>) -> Response {
        Response::receive(self.request(Method::POST, path).header(CONTENT_TYPE, kind).body(body))
            .await
            .unwrap()
    }

    /// What an address gives, as it comes.
    pub async fn download(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        self.receive(Method::GET, path, None).await
    }

    /// As [`Self::send`], with the body in bytes.
    pub async fn receive(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, HeaderMap, Vec<u8>) {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.unwrap().to_vec())
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone())
    }
}

/// A form with a file.
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

/// What came back.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Response {
    async fn receive(request: reqwest::RequestBuilder) -> reqwest::Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        Ok(Self { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::Null), text })
    }

    /// What a header says; nothing where it is not there.
    pub fn header(&self, header: &str) -> &str {
        self.headers.get(header).map_or("", |value| value.to_str().unwrap())
    }

    /// The data of a success with this status.
    #[track_caller]
    pub fn data(&self, status: u16) -> &Value {
        assert_eq!((self.status, &self.body["success"]), (status, &Value::Bool(true)), "{}", self.body);
        &self.body["data"]
    }

    /// The code of a failure, whose envelope is looked at too.
    #[track_caller]
    pub fn error_code(&self, status: u16) -> &str {
        assert_eq!((self.status, &self.body["success"]), (status, &Value::Bool(false)), "{}", self.body);
        assert_eq!(self.body["data"], Value::Null);
        assert_eq!(self.body["meta"]["statusCode"], status);
        self.body["error"]["code"].as_str().unwrap()
    }

    /// Names of the fields that a failure finds fault with.
    pub fn faults(&self) -> Vec<&str> {
        let fields = self.body["error"]["details"]["fields"].as_array().into_iter().flatten();
        fields.filter_map(|fault| fault["field"].as_str()).collect()
    }

    /// A header's number.
    #[track_caller]
    pub fn header_number(&self, header: &str) -> u64 {
        self.headers[header].to_str().unwrap().parse().unwrap()
    }
}
