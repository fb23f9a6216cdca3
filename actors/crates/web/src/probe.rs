//! A client for the connection test: it sends requests to this server by its public URL, as an assistant would. Responses are
//! bounded in bytes and time, and errors are for the operator of the server.

use std::fmt;
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

/// Why a request did not get the response that this server sends, as a message for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// There was no whole response within this time.
    #[error("there was no answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// No connection was made, with the root cause in English.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// The connection ended before the response did, with the root cause in English.
    #[error("the connection was interrupted: {0}")]
    Interrupted(String),
    /// The body is larger than any of this server.
    #[error("the response is too large to be Carrel's: another program answers at this URL")]
    TooLarge,
    /// The response has another status than expected.
    #[error("{subject} answered {status} instead of {expected}: {hint}")]
    Status {
        /// What was requested.
        subject: &'static str,
        /// The HTTP status of the response.
        status: u16,
        /// The HTTP status that this server responds with.
        expected: u16,
        /// The likely cause.
        hint: StatusHint,
    },
    /// The body is not JSON. The value names what was requested.
    #[error("{0} did not answer with JSON: another program answers at this URL")]
    NotJson(&'static str),
}

/// The likely cause of an unexpected status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusHint {
    /// `server.base_url` redirects to another URL.
    Redirect,
    /// A firewall or proxy refuses the request.
    Refused,
    /// A proxy does not forward the path.
    NotFound,
    /// A proxy does not reach this server.
    Unreached,
    /// The status does not tell.
    Unclear,
}

impl StatusHint {
    fn of(status: u16) -> Self {
        match status {
            301..=308 => Self::Redirect,
            403 => Self::Refused,
            404 => Self::NotFound,
            502..=504 => Self::Unreached,
            _ => Self::Unclear,
        }
    }
}

impl fmt::Display for StatusHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect => "a redirect. Set server.base_url to the URL that the redirect ends at",
            Self::Refused => {
                "refused. A firewall or proxy may block programs, or forward another Host header"
            }
            Self::NotFound => "not found. A proxy may not forward this path",
            Self::Unreached => "a proxy in front does not reach Carrel",
            Self::Unclear => {
                "check the log of the server, and whether another program answers at server.base_url"
            }
        })
    }
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
/// [`ProbeError::Timeout`], [`ProbeError::NoConnection`], [`ProbeError::Interrupted`] and [`ProbeError::TooLarge`].
pub async fn send(request: RequestBuilder) -> Result<ProbeResponse, ProbeError> {
    let mut response = request.send().await.map_err(|error| probe_error(&error))?;
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    // Another program may answer at this URL, with a body of any length.
    while let Some(chunk) = response.chunk().await.map_err(|error| probe_error(&error))? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY_BYTES {
            return Err(ProbeError::TooLarge);
        }
    }
    Ok(ProbeResponse { status, headers, body })
}

impl ProbeResponse {
    /// Returns the response if it has this status. `subject` names in the error what was requested.
    ///
    /// # Errors
    /// [`ProbeError::Status`] with the actual status and its likely cause.
    pub fn expect_status(self, expected: u16, subject: &'static str) -> Result<Self, ProbeError> {
        if self.status == expected {
            return Ok(self);
        }
        let hint = StatusHint::of(self.status);
        Err(ProbeError::Status { subject, status: self.status, expected, hint })
    }

    /// Returns the bytes of the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Parses the body as JSON. `subject` names in the error what was requested.
    ///
    /// # Errors
    /// [`ProbeError::NotJson`].
    pub fn json(&self, subject: &'static str) -> Result<Value, ProbeError> {
        serde_json::from_slice(&self.body).map_err(|_| ProbeError::NotJson(subject))
    }

    /// Returns the value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Returns why there was no response.
fn probe_error(error: &reqwest::Error) -> ProbeError {
    if error.is_timeout() {
        return ProbeError::Timeout(TIMEOUT);
    }
    // Only the root cause: the message of the error itself may contain the URL.
    let root = causes(error).last();
    let cause = root.map_or_else(|| "the cause is unknown".to_owned(), |root| root.to_string());
    if error.is_connect() { ProbeError::NoConnection(cause) } else { ProbeError::Interrupted(cause) }
}
