//! Parameters of a query or a form. A name that is said twice is a fault, an empty value is none (RFC 6749, section 3.1).

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Payload;

use super::error::OAuthError;
use crate::http::budget::Sender;
use crate::http::{body, peer};

/// Longer than any honest form.
const LONGEST: usize = 32 * 1024;

/// The parameter of this name was sent more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedParameter(&'static str);

impl From<RepeatedParameter> for OAuthError {
    fn from(RepeatedParameter(name): RepeatedParameter) -> Self {
        OAuthError::RepeatedParameter(name)
    }
}

/// Names and values, in their order.
#[derive(Clone, Debug)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Those of a query, or of a form's body. No honest value holds a NUL, and no database takes one: it is none.
    pub fn of(encoded: &[u8]) -> Self {
        let all = url::form_urlencoded::parse(encoded).into_owned();
        Self(all.filter(|(_, value)| !value.contains('\0')).collect())
    }

    /// The form that a request carries. What stands in the address is not looked at.
    pub async fn read(request: &HttpRequest, payload: Payload) -> Result<Self, OAuthError> {
        let said =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = said.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(OAuthError::InvalidRequest("the body must be application/x-www-form-urlencoded"));
        }
        let sender = Sender::stranger(peer::address(request));
        Ok(Self::of(&body::read(request, payload, sender, LONGEST).await?))
    }

    /// The value of this name.
    pub fn one(&self, name: &'static str) -> Result<Option<&str>, RepeatedParameter> {
        let mut said = self.0.iter().filter(|(said, _)| said == name).map(|(_, value)| value.as_str());
        match (said.next(), said.next()) {
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
            (_, Some(_)) => Err(RepeatedParameter(name)),
        }
    }

    /// All values of a name that may be repeated.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let said = self.0.iter().filter(move |(said, _)| said == name);
        said.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// What is said under these names, as a query.
    pub fn query_of(&self, names: &[&str]) -> String {
        let kept = self.0.iter().filter(|(said, _)| names.contains(&said.as_str()));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_said_once_and_an_empty_value_is_none() {
        let params = Params::of(b"a=1&b=&c=x+y%26&c=z&b2");

        assert_eq!(params.one("a"), Ok(Some("1")));
        assert_eq!((params.one("b"), params.one("b2"), params.one("d")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!(params.one("c"), Err(RepeatedParameter("c")));
        assert_eq!(params.all("c").collect::<Vec<_>>(), ["x y&", "z"]);
        assert_eq!(params.query_of(&["a", "c"]), "a=1&c=x+y%26&c=z");
        assert_eq!(Params::of(b"a=%00x").one("a"), Ok(None));
    }
}
