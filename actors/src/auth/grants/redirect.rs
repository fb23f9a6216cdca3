//! Redirect URIs: which may be registered, and which match (spec.md: OAuth 2.1 for MCP, rule 2; RFC 8252).
//!
//! A URI is registered as it is written and compared byte for byte. Nothing is normalised, so parsers that read a URI differently
//! cannot be used to bypass the comparison.

use url::{Host, Url};

const MAX_URI_BYTES: usize = 2048;

/// The redirects that an operator may allow beyond the rule of the specification; none by default.
#[derive(Clone, Debug, Default)]
pub struct RedirectRules {
    /// Whether a registered URI with a loopback IP address matches with any port (RFC 8252, section 7.3).
    pub any_loopback_port: bool,
    /// URIs with a private-use scheme that may be registered, byte for byte.
    pub private: Vec<String>,
}

impl RedirectRules {
    /// Returns whether a URI may be registered.
    pub fn is_allowed(&self, uri: &str) -> bool {
        self.private.iter().any(|listed| listed == uri && is_private_scheme(uri)) || is_web(uri)
    }

    /// Returns whether a requested URI is one of the registered ones, and is still allowed.
    pub fn is_registered(&self, uris: &[String], requested: &str) -> bool {
        self.is_allowed(requested)
            && uris
                .iter()
                .any(|uri| uri == requested || (self.any_loopback_port && differs_in_port(uri, requested)))
    }
}

/// Returns whether a URI has a private-use scheme (RFC 8252, section 7.1). Schemes that browsers run or show themselves are none, even
/// if the operator lists them.
pub fn is_private_scheme(uri: &str) -> bool {
    const BROWSER_SCHEMES: [&str; 9] =
        ["javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "http", "https"];
    let Ok(parsed) = Url::parse(uri) else { return false };
    uri.len() <= MAX_URI_BYTES
        && uri.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '\\' | '#' | '*' | '"' | '<' | '>'))
        && !BROWSER_SCHEMES.contains(&parsed.scheme())
}

/// Returns whether a URI is https, or http on the user's own machine, in visible ASCII without a fragment, credentials or a wildcard.
fn is_web(uri: &str) -> bool {
    let plain = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '\\' | '#' | '*' | '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}')
    };
    if uri.len() > MAX_URI_BYTES || !uri.chars().all(plain) {
        return false;
    }
    let Some((scheme, rest)) = uri.split_once("://") else { return false };
    let Some(authority) = rest.split(['/', '?']).next() else { return false };
    let Ok(parsed) = Url::parse(uri) else { return false };
    if authority.is_empty() || authority.contains('@') || parsed.host().is_none() {
        return false;
    }
    match scheme {
        "https" => true,
        // The spelling counts: 127.1 and 0x7f000001 name the same machine and are refused.
        "http" => matches!(host_of(authority), "127.0.0.1" | "localhost" | "[::1]"),
        _ => false,
    }
}

/// Returns an authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // The colons of an IPv6 address stand within its brackets.
        Some((host, port)) if !port.contains(']') => host,
        Some(_) | None => authority,
    }
}

/// Returns whether both URIs are http on the same loopback IP address and differ only in the port.
fn differs_in_port(registered: &str, requested: &str) -> bool {
    let (Some(one), Some(other)) = (host_and_path(registered), host_and_path(requested)) else {
        return false;
    };
    is_web(requested) && matches!(one.0, "127.0.0.1" | "[::1]") && one == other
}

/// Returns host and path of an http URI.
fn host_and_path(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
    Some((host_of(authority), path))
}

/// Returns the host of a URI as users see it before they follow a redirect; the scheme of a URI that is not http(s).
pub fn shown_host(uri: &str) -> String {
    let Ok(parsed) = Url::parse(uri) else { return uri.to_owned() };
    if !matches!(parsed.scheme(), "http" | "https") {
        return format!("{}:", parsed.scheme());
    }
    match (parsed.host_str(), parsed.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => uri.to_owned(),
    }
}

/// Returns whether a URI leads to the user's own machine, where any program may receive the redirect.
pub fn is_local(uri: &str) -> bool {
    let Ok(parsed) = Url::parse(uri) else { return false };
    if !matches!(parsed.scheme(), "http" | "https") {
        return true;
    }
    match parsed.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the URI with query parameters added to those that it has.
pub fn with_query_params(uri: &str, params: &[(&str, &str)]) -> String {
    let mut added = url::form_urlencoded::Serializer::new(String::new());
    added.extend_pairs(params);
    // The text is extended: parsed and written again, the URI could differ from the one that the client registered.
    let separator = match uri.chars().last() {
        Some('?' | '&') => "",
        Some(_) | None if uri.contains('?') => "&",
        Some(_) | None => "?",
    };
    format!("{uri}{separator}{}", added.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> RedirectRules {
        RedirectRules::default()
    }

    #[test]
    fn https_and_the_local_machine_may_be_registered() {
        for uri in [
            "https://client.example/cb",
            "https://client.example:8443/a/b?c=d",
            "https://[2001:db8::1]/cb",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:3000/cb",
            "http://localhost:8976/",
            "http://localhost",
            "http://[::1]:9000/cb",
            "http://[::1]/cb",
        ] {
            assert!(rules().is_allowed(uri), "{uri}");
        }
    }

    /// Covers the threat table (row O1).
    #[test]
    fn no_other_uri_may_be_registered() {
        for uri in [
            "http://client.example/cb",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "http://127.0.0.2/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://localhost./",
            "http://[::ffff:127.0.0.1]/",
            "http://192.168.1.4/",
            "http://0.0.0.0/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "myapp://cb",
            "https://",
            "https:///cb",
            "https:/client.example/",
            "https:client.example",
            "https://client.example/cb#part",
            "https://user:pw@client.example/cb",
            "https://@client.example/cb",
            "/relative",
            "",
            "//client.example/",
            "https://client.example/\ncb",
            "https://client.example/ cb",
            "https://client.example\\@evil.example/",
            "https://*.client.example/cb",
            "https://client.example/*",
            "https://exämple.example/",
            "ftp://a.example/",
            "urn:ietf:wg:oauth:2.0:oob",
            "https://client.example:99999/",
            "HTTP://localhost/",
            "http://localhost:80:80/",
            "https://%/",
            "http://[::1/",
        ] {
            assert!(!rules().is_allowed(uri), "{uri}");
        }
        assert!(!rules().is_allowed(&format!("https://client.example/{}", "a".repeat(MAX_URI_BYTES))));
    }

    /// Covers the threat table (row O1).
    #[test]
    fn registered_uri_matches_byte_for_byte() {
        let uris = ["http://127.0.0.1:43117/callback".to_owned()];
        assert!(rules().is_registered(&uris, "http://127.0.0.1:43117/callback"));
        for other in [
            "http://127.0.0.1:43117/callback/",
            "http://127.0.0.1:43117/callback?x=1",
            "http://127.0.0.1:43118/callback",
            "http://127.0.0.1:43117/Callback",
            "http://127.0.0.1:43117/callback/../x",
            "http://127.0.0.1:43117/c%61llback",
            "http://localhost:43117/callback",
            "https://127.0.0.1:43117/callback",
            "",
        ] {
            assert!(!rules().is_registered(&uris, other), "{other}");
        }
    }

    #[test]
    fn operator_may_allow_any_port_of_a_loopback_ip_address() {
        let rules = RedirectRules { any_loopback_port: true, private: vec!["cursor://cb".to_owned()] };
        let uris = [
            "http://127.0.0.1/cb".to_owned(),
            "http://localhost:1/cb".to_owned(),
            "https://a.example/cb".to_owned(),
        ];
        assert!(rules.is_registered(&uris, "http://127.0.0.1:52000/cb"));
        for other in [
            "http://localhost:2/cb",
            "https://a.example:2/cb",
            "http://127.0.0.1:2/cb2",
            "http://127.0.0.1:2@evil.example/cb",
            "http://[::1]:2/cb",
        ] {
            assert!(!rules.is_registered(&uris, other), "{other}");
        }
        assert!(
            rules.is_allowed("cursor://cb")
                && !rules.is_allowed("cursor://cb/")
                && !rules.is_allowed("cursor://other")
        );
    }

    #[test]
    fn params_are_added_to_existing_ones() {
        let params = [("code", "a b"), ("state", "x&y=z")];
        assert_eq!(
            with_query_params("https://a.example/cb", &params),
            "https://a.example/cb?code=a+b&state=x%26y%3Dz"
        );
        assert_eq!(
            with_query_params("https://a.example/cb?k=v", &params),
            "https://a.example/cb?k=v&code=a+b&state=x%26y%3Dz"
        );
        assert_eq!(with_query_params("https://a.example/?", &[("code", "c")]), "https://a.example/?code=c");
    }

    proptest::proptest! {
        #[test]
        fn allowed_uri_leads_where_its_text_says(uri in "(https?://)[a-z0-9.:@\\[\\]/?-]{1,30}") {
            if is_web(&uri) {
                let parsed = Url::parse(&uri).unwrap();
                proptest::prop_assert!(parsed.username().is_empty() && parsed.password().is_none());
                proptest::prop_assert!(parsed.scheme() == "https" || is_local(&uri));
            }
        }
    }
}
