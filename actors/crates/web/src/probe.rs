//! Asking this service over HTTP as an assistant would, by the address that the world knows it by: answers are bounded in
//! bytes and time, and failures are told in words for whoever runs the service.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use crate::fetch;

/// A name, a connection, TLS and the whole answer.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_BYTES: usize = 256 * 1024;

/// See the file's head.
pub struct Probe(Client);

/// What was answered.
pub struct Reply {
    /// The status.
    pub status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Probe {
    /// Asks nothing yet.
    ///
    /// # Errors
    /// The client cannot be made.
    pub fn new() -> reqwest::Result<Self> {
        fetch::service_client().timeout(PATIENCE).build().map(Self)
    }

    /// A GET with these parameters, to be [sent](send).
    pub fn get(&self, url: &str, parameters: &[(&str, &str)]) -> RequestBuilder {
        let joint = if parameters.is_empty() { "" } else { "?" };
        self.0.get(format!("{url}{joint}{}", form(parameters)))
    }

    /// A POST of this form, to be [sent](send).
    pub fn post_form(&self, url: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.0.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form(fields))
    }

    /// A POST of this message, to be [sent](send).
    pub fn post_json(&self, url: &str, message: &Value) -> RequestBuilder {
        self.0.post(url).header(CONTENT_TYPE, "application/json").body(message.to_string())
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Sends it and reads the answer.
///
/// # Errors
/// Why there was no answer, in words.
pub async fn send(request: RequestBuilder) -> Result<Reply, String> {
    let mut response = request.send().await.map_err(|error| in_words(&error))?;
    let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| in_words(&error))? {
        body.extend_from_slice(&part);
        if body.len() > MOST_BYTES {
            return Err(
                "the answer is too large to be Carrel's: something else answers at this address".to_owned()
            );
        }
    }
    Ok(Reply { status, headers, body })
}

impl Reply {
    /// The answer where it has this status.
    ///
    /// # Errors
    /// Which status it has, and what that may come from.
    pub fn with(self, status: u16, of: &str) -> Result<Self, String> {
        if self.status == status {
            return Ok(self);
        }
        let hint = match self.status {
            301..=308 => ": a redirect. server.base_url must be the address that is shown in the end",
            403 => ": refused. A firewall or proxy in front may keep programs out, or passes on another Host",
            404 => ": not found. A proxy in front may not pass this path on",
            502..=504 => ": a proxy in front does not reach Carrel",
            _ => "",
        };
        Err(format!("{of} answered {} where {} is wanted{hint}", self.status, status))
    }

    /// The answer's JSON.
    ///
    /// # Errors
    /// It is none.
    pub fn json(&self, of: &str) -> Result<Value, String> {
        serde_json::from_slice(&self.body)
            .map_err(|_| format!("{of} did not answer with JSON: something else answers at this address"))
    }

    /// A header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why there was no answer, without the address, which may hold a code.
fn in_words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("there was no answer within {} seconds", PATIENCE.as_secs());
    }
    let mut cause = error.source();
    let mut last = None;
    while let Some(deeper) = cause {
        last = Some(deeper);
        cause = deeper.source();
    }
    let what = if error.is_connect() { "no connection" } else { "the exchange broke off" };
    last.map_or_else(|| what.to_owned(), |last| format!("{what}: {last}"))
}
