//! The pages that may use /mcp: the server's own and those of the origins that the operator listed. A foreign `Origin`, or a
//! `Host` that is not the server's, is a sign of DNS rebinding, and is refused before anything else.
//!
//! The crate actix-cors does not fit: it judges the first `Origin` of a request alone, and checks no `Host`.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, VARY,
};
use actix_web::{HttpRequest, HttpResponse};
use url::{Host, Url};

use super::error::METHODS;
use super::headers::{SingleHeader, single_header};
use crate::http::cors::{ALLOWED_HEADERS, EXPOSED_HEADERS};

/// The request headers on which a response depends: the origin that may read it, and the credential (as `http::cache::BY_KEY`).
const VARY_HEADERS: &str = "Origin, Authorization, X-API-Key";

/// Origins that may use MCP in addition to the server's own (`mcp.allowed_origins`).
#[derive(Clone, Debug)]
pub struct AllowedOrigins(pub Vec<String>);

/// The verdict on `Origin` and `Host` of a request.
pub struct OriginCheck {
    /// The allowed origin of the page that sent the request.
    origin: Option<HeaderValue>,
    is_allowed: bool,
}

impl OriginCheck {
    /// Checks `Origin` and `Host` of a request. `listed` are the origins that are allowed besides that of `base_url`.
    pub fn of(request: &HttpRequest, base_url: &str, listed: &[String]) -> Self {
        let origin = match single_header(request, ORIGIN.as_str()) {
            // Only browsers send `Origin`, and DNS rebinding needs a browser.
            SingleHeader::Missing => Some(None),
            SingleHeader::Value(origin) if is_listed(origin, base_url, listed) => {
                HeaderValue::from_str(origin).ok().map(Some)
            }
            SingleHeader::Value(_) | SingleHeader::Malformed => None,
        };
        let is_host_known = match single_header(request, HOST.as_str()) {
            SingleHeader::Missing => true,
            // A page of an attacker whose name resolves to this server sends that name here, whatever its origin is (row O9).
            SingleHeader::Value(host) => is_own_host(host, base_url),
            SingleHeader::Malformed => false,
        };
        Self { is_allowed: origin.is_some() && is_host_known, origin: origin.flatten() }
    }

    /// Returns whether the request may be answered.
    pub fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Adds the headers that let the page that sent the request read the response, even if it is an error.
    pub fn apply(&self, headers: &mut HeaderMap) {
        // Also for a refused origin: a cache must not serve that response to an allowed one.
        headers.insert(VARY, HeaderValue::from_static(VARY_HEADERS));
        if let (Some(origin), true) = (&self.origin, self.is_allowed) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
        }
    }
}

/// Returns the response to a preflight. It needs no key: browsers send none with it.
pub fn preflight() -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
    let headers: [(HeaderName, &'static str); 4] = [
        (ALLOW, METHODS),
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns whether this is the origin of the server or one of the listed ones.
fn is_listed(origin: &str, base_url: &str, listed: &[String]) -> bool {
    let own = Url::parse(base_url)
        .is_ok_and(|base| base.origin().ascii_serialization().eq_ignore_ascii_case(origin));
    own || listed.iter().any(|listed| listed.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

/// Returns whether `Host` names the server, or this machine, as a proxy on it does. Ports are not compared:
/// DNS rebinding shows in the name.
fn is_own_host(host: &str, base_url: &str) -> bool {
    let Ok(sent) = Url::parse(&format!("http://{host}/")) else { return false };
    let base = Url::parse(base_url).ok();
    if base.as_ref().is_some_and(|base| base.host() == sent.host()) {
        return true;
    }
    match sent.host() {
        // A proxy on this machine may pass on its own target as `Host`.
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const BASE: &str = "https://carrel.example";

    fn check(headers: &[(&str, &str)]) -> OriginCheck {
        let request =
            headers.iter().fold(TestRequest::default(), |request, header| request.append_header(*header));
        OriginCheck::of(&request.to_http_request(), BASE, &["https://inspector.example/".to_owned()])
    }

    #[test]
    fn own_listed_and_missing_origins_are_allowed() {
        for origin in ["https://carrel.example", "https://inspector.example", "HTTPS://carrel.example"] {
            let check = check(&[("Origin", origin)]);
            let mut headers = HeaderMap::new();
            check.apply(&mut headers);

            assert!(check.is_allowed(), "{origin}");
            assert_eq!(headers.get(ACCESS_CONTROL_ALLOW_ORIGIN).unwrap(), origin);
        }
        assert!(check(&[]).is_allowed());
    }

    /// Covers the threat table (row O9).
    #[test]
    fn other_origins_are_refused_and_read_nothing() {
        for origin in [
            "https://evil.example",
            "null",
            "http://carrel.example",
            "https://carrel.example:8443",
            "https://carrel.example.evil",
        ] {
            let check = check(&[("Origin", origin)]);
            let mut headers = HeaderMap::new();
            check.apply(&mut headers);

            assert!(!check.is_allowed(), "{origin}");
            assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        }
        assert!(!check(&[("Origin", BASE), ("Origin", "https://evil.example")]).is_allowed());
    }

    /// Covers the threat table (row O9).
    #[test]
    fn host_is_the_name_of_the_service_or_this_machine() {
        for host in [
            "carrel.example",
            "CARREL.example:443",
            "carrel.example:8080",
            "127.0.0.1:8080",
            "localhost",
            "[::1]:1",
        ] {
            assert!(check(&[("Host", host)]).is_allowed(), "{host}");
        }
        for host in
            ["evil.example", "carrel.example.evil", "10.0.0.1", "carrel.example@evil.example", "a b", ""]
        {
            assert!(!check(&[("Host", host)]).is_allowed(), "{host}");
        }
    }
}
