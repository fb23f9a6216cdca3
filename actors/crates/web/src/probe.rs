//! A client for the connection test: it sends requests to this server by its public URL, as an assistant would. Responses are
//! bounded in bytes and time, and failures are messages for the operator of the server.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use values::cause::causes;

use crate::fetch;

/// Timeout for resolving the name, connecting, TLS and the whole response together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a response body.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// Builds requests, to be sent with [`send`].
pub struct ProbeClient(Client);

/// A response with its whole body.
pub struct ProbeResponse {
    /// The HTTP status of the response; a redirect is not followed.
    pub status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl ProbeClient {
    /// Creates the client; nothing is sent yet.
    ///
    /// # Errors
    /// [`reqwest::Error`] when the client cannot be created, most likely because the root certificates of the system cannot be read.
    pub fn new() -> reqwest::Result<Self> {
        fetch::service_client().timeout(TIMEOUT).build().map(Self)
    }

    /// Builds a GET request, to which the caller may add headers.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.0.get(url)
    }

    /// Builds a POST request with this JSON body.
    pub fn post_json(&self, url: &str, message: &Value) -> RequestBuilder {
        self.0.post(url).header(CONTENT_TYPE, "application/json").body(message.to_string())
    }
}

/// Sends the request and reads the whole response.
///
/// # Errors
/// A message, as a [`String`], that says why there was no response.
pub async fn send(request: RequestBuilder) -> Result<ProbeResponse, String> {
    let mut response = request.send().await.map_err(|error| failure_message(&error))?;
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    // Another program may answer at this URL, with a body of any length.
    while let Some(chunk) = response.chunk().await.map_err(|error| failure_message(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY_BYTES {
            return Err(
                "the response is too large to be Carrel's: another program answers at this URL".to_owned()
            );
        }
    }
    Ok(ProbeResponse { status, headers, body })
}

impl ProbeResponse {
    /// Returns the response if it has this status. `subject` names in the message what was requested.
    ///
    /// # Errors
    /// A message, as a [`String`], with the actual status and its likely cause.
    pub fn expect_status(self, status: u16, subject: &str) -> Result<Self, String> {
        if self.status == status {
            return Ok(self);
        }
        let hint = match self.status {
            301..=308 => ": a redirect. Set server.base_url to the URL that the redirect ends at",
            403 => ": refused. A firewall or proxy may block programs, or forward another Host header",
            404 => ": not found. A proxy may not forward this path",
            502..=504 => ": a proxy in front does not reach Carrel",
            _ => ". Check the log of the server, and whether another program answers at server.base_url",
        };
        Err(format!("{subject} answered {} instead of {}{hint}", self.status, status))
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Parses the body as JSON. `subject` names in the message what was requested.
    ///
    /// # Errors
    /// A message, as a [`String`], that says that the body is not JSON.
    pub fn json(&self, subject: &str) -> Result<Value, String> {
        serde_json::from_slice(&self.body)
            .map_err(|_| format!("{subject} did not answer with JSON: another program answers at this URL"))
    }

    /// Returns the value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Returns why there was no response.
fn failure_message(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("there was no answer within {} seconds", TIMEOUT.as_secs());
    }
    // Only the root cause: the message of the error itself may contain the URL.
    let root = causes(error).last();
    let what = if error.is_connect() { "no connection" } else { "the connection was interrupted" };
    root.map_or_else(|| what.to_owned(), |root| format!("{what}: {root}"))
}
