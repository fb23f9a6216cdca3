//! The fields of a query or of a form, as a page reads them: repeated ones are a list, and empty ones are absent.

use std::borrow::Cow;

use actix_multipart::Multipart;
use actix_web::error::PayloadError;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Bytes, Payload};
use actix_web::{HttpMessage, HttpRequest};
use errors::Error;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value};
use validation::{Invalid, Request, read_object, read_query};

use crate::http::body;
use crate::http::budget::Sender;

/// The longest form without files, unless a route allows more.
pub const MAX_FORM_BYTES: usize = 64 << 10;
/// Fields of a form. The longest one of the app ticks each row of a page.
const MAX_FIELDS: usize = 2_000;

/// Names with their values, in the order in which they were sent. Without `Debug`, which would show passwords.
#[derive(Clone, Default)]
pub struct Fields {
    pairs: Vec<(String, String)>,
    /// The files of a multipart form.
    files: Vec<FormFile>,
}

/// A file of a form, whole in memory.
#[derive(Clone)]
pub struct FormFile {
    /// The name of the field.
    pub field: String,
    /// The name that the browser gave the file.
    pub name: String,
    /// The contents.
    pub contents: Bytes,
}

impl Fields {
    /// Parses a query, or the body of a form. A value with a NUL is dropped: databases refuse it, and no browser sends one.
    pub fn parse(encoded: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(encoded).into_owned().take(MAX_FIELDS);
        Self { pairs: pairs.filter(|(_, value)| !value.contains('\0')).collect(), files: Vec::new() }
    }

    /// Reads the form in the body of a request: `application/x-www-form-urlencoded` or `multipart/form-data`.
    ///
    /// # Errors
    /// What those of [`body::read_body`] convert to; [`Error::UnsupportedType`] for a body of another type; [`Error::Invalid`] for a
    /// multipart form that cannot be read.
    pub async fn read(
        request: &HttpRequest,
        payload: Payload,
        sender: Sender,
        max_bytes: usize,
    ) -> Result<Self, Error> {
        let content_type = request.content_type().to_ascii_lowercase();
        let is_multipart = content_type == "multipart/form-data";
        if !is_multipart && content_type != "application/x-www-form-urlencoded" {
            return Err(Error::UnsupportedType("the body must be a form"));
        }
        let body = body::read_body(request, payload, sender, max_bytes).await?;
        if is_multipart { Self::parse_multipart(request, body).await } else { Ok(Self::parse(&body)) }
    }

    async fn parse_multipart(request: &HttpRequest, body: Bytes) -> Result<Self, Error> {
        let invalid = || Error::invalid("body", "is not a complete form");
        let whole = stream::once(async move { Ok::<_, PayloadError>(body) }).boxed_local();
        let mut multipart = Multipart::new(request.headers(), whole);
        let mut fields = Self::default();
        while let Some(mut field) = multipart.try_next().await.map_err(|_| invalid())? {
            if fields.pairs.len() + fields.files.len() >= MAX_FIELDS {
                return Err(invalid());
            }
            let name = field.name().unwrap_or_default().to_owned();
            let file_name =
                field.content_disposition().and_then(|sent| sent.get_filename()).map(str::to_owned);
            let mut contents = Vec::new();
            while let Some(chunk) = field.try_next().await.map_err(|_| invalid())? {
                contents.extend_from_slice(&chunk);
            }
            match file_name {
                // A field of a file in which none was chosen.
                Some(file_name) if file_name.is_empty() && contents.is_empty() => {}
                Some(file_name) => {
                    fields.files.push(FormFile { field: name, name: file_name, contents: contents.into() });
                }
                None => {
                    let value = String::from_utf8(contents).map_err(|_| invalid())?;
                    if !value.contains('\0') {
                        fields.pairs.push((name, value));
                    }
                }
            }
        }
        Ok(fields)
    }

    /// Returns the first value of a field that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let sent = self.pairs.iter().filter(|(sent, value)| sent == name && !value.is_empty());
        sent.map(|(_, value)| value.as_str()).next()
    }

    /// Returns the first value of a field as it was sent; empty if it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.pairs.iter().find(|(sent, _)| sent == name).map_or("", |(_, value)| value)
    }

    /// Returns the values of a field that are not empty.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let sent = self.pairs.iter().filter(move |(sent, _)| sent == name);
        sent.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns whether a field was sent, empty or not, such as a ticked box or the button that was pressed.
    pub fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(sent, _)| sent == name)
    }

    /// Returns the file of a field.
    pub fn file(&self, field: &str) -> Option<&FormFile> {
        self.files.iter().find(|file| file.field == field)
    }

    /// Returns the fields with these names as a query string; without empty ones. An operation reads it.
    pub fn query_of(&self, names: &[&str]) -> String {
        let chosen =
            self.pairs.iter().filter(|(name, value)| names.contains(&name.as_str()) && !value.is_empty());
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(chosen).finish()
    }

    /// Returns a query string with all fields except these names: the address of the same page without them.
    pub fn query_without(&self, names: &[&str]) -> String {
        let kept = self.pairs.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish()
    }

    /// Reads the fields with these names as a request of an operation. Numbers and flags are texts as in a query.
    ///
    /// # Errors
    /// [`Invalid`] with all faults.
    pub fn read_as<R: Request>(&self, names: &[&str]) -> Result<R, Invalid> {
        read_query(&self.query_of(names))
    }
}

/// Reads a JSON object as a request of an operation: for lists and for `null`, which clears a value.
///
/// # Errors
/// [`Invalid`] with all faults.
pub fn read_json_as<R: Request>(object: Value) -> Result<R, Invalid> {
    match object {
        Value::Object(object) => read_object(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            read_object(Map::new())
        }
    }
}

/// Returns an address of this server's own pages, from a field of a form or a query; `None` for any other address.
pub fn own_path(path: &str) -> Option<Cow<'_, str>> {
    // `//host` and `/\host` name another host, and a control character may hide that. Other characters than those of ASCII are no part of
    // an address as it is sent.
    let is_own = path.starts_with('/')
        && path.is_ascii()
        && !path.starts_with("//")
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
        && path.len() <= MAX_OWN_PATH_BYTES;
    is_own.then_some(Cow::Borrowed(path))
}

/// The longest address of an own page that is passed on.
const MAX_OWN_PATH_BYTES: usize = 4096;

/// Returns the type of a body that is no form, for a handler that reads it itself.
pub fn content_type(request: &HttpRequest) -> &str {
    request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_paths_are_passed_on() {
        assert!(own_path("/library?state=unread#a").is_some());
        for foreign in [
            "",
            "library",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/\n/evil.example",
            "/ä",
        ] {
            assert_eq!(own_path(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn empty_fields_are_absent() {
        let fields = Fields::parse(b"a=&b=1&b=2&c=x%00&d");

        assert_eq!((fields.get("a"), fields.get("b"), fields.get("c")), (None, Some("1"), None));
        assert_eq!(fields.all("b").collect::<Vec<_>>(), ["1", "2"]);
        assert!(fields.has("d") && !fields.has("c"));
        assert_eq!(fields.query_of(&["a", "b"]), "b=1&b=2");
    }
}
