//! Parameters of a query or a form. A parameter must not be repeated, and one without a value is missing (RFC 6749, section 3.1).
//!
//! A request is refused for its first fault: an error response has one code and one description (RFC 6749, sections 4.1.2.1 and 5.2),
//! and the order of the checks is part of the protocol. A fault of client or redirect URI must not be sent to the client, later ones
//! are. So these parameters are not declared with [`validation::request!`], which reports all faults and refuses unknown names, while
//! unknown parameters must be ignored.

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Payload;

use super::error::OAuthError;
use crate::http::budget::Sender;
use crate::http::{body, peer};

/// The longest form; forms of honest clients are much shorter.
const MAX_FORM_BYTES: usize = 32 * 1024;

/// The parameter of this name was sent more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedParameter(&'static str);

impl From<RepeatedParameter> for OAuthError {
    fn from(RepeatedParameter(name): RepeatedParameter) -> Self {
        OAuthError::RepeatedParameter(name)
    }
}

/// Names and values, in their order. Without `Debug`, which would show passwords and codes.
#[derive(Clone)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Parses a query, or the body of a form. A value with a NUL is missing: databases refuse it, and no honest client sends one.
    pub fn parse(encoded: &[u8]) -> Self {
        let all = url::form_urlencoded::parse(encoded).into_owned();
        Self(all.filter(|(_, value)| !value.contains('\0')).collect())
    }

    /// Reads the form in the body of a request. The query is ignored.
    pub async fn read(request: &HttpRequest, payload: Payload) -> Result<Self, OAuthError> {
        let content_type =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // Parameters of the query are never read: a URL with secrets ends up in logs (RFC 6749, section 2.3.1).
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(OAuthError::InvalidRequest("the body must be application/x-www-form-urlencoded"));
        }
        // The client is not authenticated before its form has been read, so the body counts for the network address.
        let sender = Sender::anonymous(peer::ip_address(request));
        Ok(Self::parse(&body::read_body(request, payload, sender, MAX_FORM_BYTES).await?))
    }

    /// Returns the value of a parameter that must not be repeated; `None` if it is missing or empty.
    ///
    /// # Errors
    /// [`RepeatedParameter`] if it was sent more than once, even with the same value.
    pub fn one(&self, name: &'static str) -> Result<Option<&str>, RepeatedParameter> {
        let mut values = self.0.iter().filter(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
            (_, Some(_)) => Err(RepeatedParameter(name)),
        }
    }

    /// Returns the values of a parameter that may be repeated, without empty ones.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let sent = self.0.iter().filter(move |(sent, _)| sent == name);
        sent.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the parameters with these names as a query, in the order in which they were sent.
    pub fn query_of(&self, names: &[&str]) -> String {
        let chosen = self.0.iter().filter(|(sent, _)| names.contains(&sent.as_str()));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(chosen).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_is_sent_once_and_an_empty_value_is_missing() {
        let params = Params::parse(b"a=1&b=&c=x+y%26&c=z&b2");

        assert_eq!(params.one("a"), Ok(Some("1")));
        assert_eq!((params.one("b"), params.one("b2"), params.one("d")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(params.one("c"), Err(RepeatedParameter("c")));
        assert_eq!(params.all("c").collect::<Vec<_>>(), ["x y&", "z"]);
        assert_eq!(params.query_of(&["a", "c"]), "a=1&c=x+y%26&c=z");
        assert_eq!(Params::parse(b"a=%00x").one("a"), Ok(None));
    }
}
