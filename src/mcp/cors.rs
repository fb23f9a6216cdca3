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

/// The origins that may use MCP and the server's own host, which are parsed once at the start.
#[derive(Clone, Debug)]
pub struct AllowedOrigins {
    /// The server's own origin and those that the operator listed (`mcp.allowed_origins`), without a slash at their ends.
    origins: Vec<String>,
    /// The host of the base URL; `None` if that is no URL.
    own_host: Option<Host<String>>,
    /// The usual spellings of the hosts that a request may name, without a port.
    plain_hosts: Vec<String>,
}

impl AllowedOrigins {
    /// Allows the origin of the base URL and the listed origins.
    pub fn new(base_url: &str, listed: impl IntoIterator<Item = String>) -> Self {
        let base = Url::parse(base_url).ok();
        let own_origin = base.as_ref().map(|base| base.origin().ascii_serialization());
        let listed = listed.into_iter().map(|origin| origin.trim_end_matches('/').to_owned());
        let own_host = base.as_ref().and_then(Url::host).map(|host| host.to_owned());
        let this_machine = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self {
            origins: own_origin.into_iter().chain(listed).collect(),
            plain_hosts: own_host.iter().map(ToString::to_string).chain(this_machine).collect(),
            own_host,
        }
    }

    /// Returns whether this is the origin of the server or one of the listed ones.
    fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Returns whether `Host` names the server, or this machine, as a proxy on it does. Ports are not compared:
    /// DNS rebinding shows in the name.
    fn has_host(&self, host: &str) -> bool {
        // Nearly every request has one of these, and they need no parser.
        let is_plain = |name: &String| host.strip_prefix(name.as_str()).is_some_and(is_port);
        self.plain_hosts.iter().any(is_plain) || self.has_parsed_host(host)
    }

    fn has_parsed_host(&self, host: &str) -> bool {
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        let Some(sent) = url.host() else { return false };
        if self.own_host.as_ref().is_some_and(|own| *own == sent) {
            return true;
        }
        match sent {
            // A proxy on this machine may pass on its own target as `Host`.
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }
}

/// Returns whether this is what may follow a name in `Host`: nothing, or a colon and the number of a port.
fn is_port(rest: &str) -> bool {
    let is_number =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    rest.is_empty() || rest.strip_prefix(':').is_some_and(is_number)
}

/// The verdict on `Origin` and `Host` of a request.
pub struct OriginCheck {
    /// The allowed origin of the page that sent the request.
    origin: Option<HeaderValue>,
    is_allowed: bool,
}

impl OriginCheck {
    /// Checks `Origin` and `Host` of a request.
    pub fn of(request: &HttpRequest, allowed: &AllowedOrigins) -> Self {
        let origin = match single_header(request, ORIGIN) {
            // Only browsers send `Origin`, and DNS rebinding needs a browser.
            SingleHeader::Missing => Some(None),
            SingleHeader::Value(origin) if allowed.has_origin(origin) => {
                HeaderValue::from_str(origin).ok().map(Some)
            }
            SingleHeader::Value(_) | SingleHeader::Malformed => None,
        };
        let is_host_known = match single_header(request, HOST) {
            SingleHeader::Missing => true,
            // A page of an attacker whose name resolves to this server sends that name here, whatever its origin is (row O9).
            SingleHeader::Value(host) => allowed.has_host(host),
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

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const BASE: &str = "https://carrel.example";

    fn check(headers: &[(&str, &str)]) -> OriginCheck {
        let request =
            headers.iter().fold(TestRequest::default(), |request, header| request.append_header(*header));
        OriginCheck::of(&request.to_http_request(), &allowed(BASE))
    }

    fn allowed(base_url: &str) -> AllowedOrigins {
        AllowedOrigins::new(base_url, ["https://inspector.example/".to_owned()])
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

    /// Covers the threat table (row O9).
    #[test]
    fn host_is_judged_alike_with_and_without_the_parser() {
        for base in
            [BASE, "http://127.0.0.1:8080", "http://[2001:db8::1]:8080", "https://b\u{fc}cher.example"]
        {
            let allowed = allowed(base);
            for name in allowed.plain_hosts.iter().map(String::as_str).chain(["evil.example", "", "[::2]"]) {
                for rest in [
                    "", ":", ":0", ":443", ":00080", ":65535", ":65536", ":+1", ":8a", ".", ".evil", "@b",
                    ":1:2",
                ] {
                    let host = format!("{name}{rest}");
                    assert_eq!(allowed.has_host(&host), allowed.has_parsed_host(&host), "{base} {host}");
                }
            }
        }
    }
}
