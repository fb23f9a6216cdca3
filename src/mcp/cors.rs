//! Whose pages may speak to /mcp: the service's own and those that the operator listed. A foreign `Origin`, or a `Host`
//! that is not the service's, is what a rebound name looks like, and is refused before anything else.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, HOST, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, VARY,
};
use actix_web::{HttpRequest, HttpResponse};
use url::{Host, Url};

use super::error::METHODS;
use super::headers::{Said, said};
use crate::http::cors::{SHOWN, TAKEN};

/// The request headers on which an answer depends: where its page may read it, and who asks (as `http::cache::BY_KEY`).
const VARIES_BY: &str = "Origin, Authorization, X-API-Key";

/// Origins, besides the service's own, from which MCP is taken.
#[derive(Clone, Debug)]
pub struct AllowedOrigins(pub Vec<String>);

/// Where a request says that it comes from and where it wants to go.
pub struct Visit {
    origin: Option<HeaderValue>,
    welcome: bool,
}

impl Visit {
    /// Looks at `Origin` and `Host`.
    pub fn of(request: &HttpRequest, base_url: &str, listed: &[String]) -> Self {
        let origin = match said(request, ORIGIN.as_str()) {
            Said::Nothing => Some(None),
            Said::Text(origin) if is_ours(origin, base_url, listed) => {
                HeaderValue::from_str(origin).ok().map(Some)
            }
            Said::Text(_) | Said::Garbled => None,
        };
        let host = match said(request, HOST.as_str()) {
            Said::Nothing => true,
            Said::Text(host) => is_here(host, base_url),
            Said::Garbled => false,
        };
        Self { welcome: origin.is_some() && host, origin: origin.flatten() }
    }

    /// Whether it is let in.
    pub fn is_welcome(&self) -> bool {
        self.welcome
    }

    /// Lets the page that asked read the answer, an error too.
    pub fn share(&self, headers: &mut HeaderMap) {
        headers.insert(VARY, HeaderValue::from_static(VARIES_BY));
        if let (Some(origin), true) = (&self.origin, self.welcome) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SHOWN));
        }
    }
}

/// The answer to a browser that asks what it may send. It needs no key: the browser has none to give here.
pub fn preflight() -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
    let headers: [(HeaderName, &'static str); 4] = [
        (ALLOW, METHODS),
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, TAKEN),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn is_ours(origin: &str, base_url: &str, listed: &[String]) -> bool {
    let own = Url::parse(base_url)
        .is_ok_and(|base| base.origin().ascii_serialization().eq_ignore_ascii_case(origin));
    own || listed.iter().any(|listed| listed.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

/// Whether `Host` names the service, or this machine as a proxy beside it does. Ports are not compared: a rebound name
/// is another name.
fn is_here(host: &str, base_url: &str) -> bool {
    let Ok(asked) = Url::parse(&format!("http://{host}/")) else { return false };
    let base = Url::parse(base_url).ok();
    if base.as_ref().is_some_and(|base| base.host() == asked.host()) {
        return true;
    }
    match asked.host() {
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

    fn visit(headers: &[(&str, &str)]) -> Visit {
        let request =
            headers.iter().fold(TestRequest::default(), |request, header| request.append_header(*header));
        Visit::of(&request.to_http_request(), BASE, &["https://inspector.example/".to_owned()])
    }

    #[test]
    fn own_and_listed_origins_and_none_are_let_in() {
        for origin in ["https://carrel.example", "https://inspector.example", "HTTPS://carrel.example"] {
            let visit = visit(&[("Origin", origin)]);
            let mut headers = HeaderMap::new();
            visit.share(&mut headers);

            assert!(visit.is_welcome(), "{origin}");
            assert_eq!(headers.get(ACCESS_CONTROL_ALLOW_ORIGIN).unwrap(), origin);
        }
        assert!(visit(&[]).is_welcome());
    }

    /// Of the threat table (row O9).
    #[test]
    fn other_origins_are_turned_away_and_shown_nothing() {
        for origin in [
            "https://evil.example",
            "null",
            "http://carrel.example",
            "https://carrel.example:8443",
            "https://carrel.example.evil",
        ] {
            let visit = visit(&[("Origin", origin)]);
            let mut headers = HeaderMap::new();
            visit.share(&mut headers);

            assert!(!visit.is_welcome(), "{origin}");
            assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        }
        assert!(!visit(&[("Origin", BASE), ("Origin", "https://evil.example")]).is_welcome());
    }

    /// Of the threat table (row O9).
    #[test]
    fn a_host_is_the_services_name_or_this_machine() {
        for host in [
            "carrel.example",
            "CARREL.example:443",
            "carrel.example:8080",
            "127.0.0.1:8080",
            "localhost",
            "[::1]:1",
        ] {
            assert!(visit(&[("Host", host)]).is_welcome(), "{host}");
        }
        for host in
            ["evil.example", "carrel.example.evil", "10.0.0.1", "carrel.example@evil.example", "a b", ""]
        {
            assert!(!visit(&[("Host", host)]).is_welcome(), "{host}");
        }
    }
}
