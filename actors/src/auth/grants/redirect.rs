//! Where an application may have people sent back to (spec.md: OAuth 2.1 for MCP, rule 2; RFC 8252).
//!
//! An address is registered as it is written and compared byte for byte; nothing is normalised, so nothing that a parser
//! reads differently gets by.

use url::{Host, Url};

const LONGEST: usize = 2048;

/// What an operator may add to the rule of the specification; both are off by default.
#[derive(Clone, Debug, Default)]
pub struct RedirectRules {
    /// A registered loopback address by number is taken with any port (RFC 8252, section 7.3).
    pub any_loopback_port: bool,
    /// IpRateLimiter with a scheme of an application's own that may be registered, byte for byte.
    pub private: Vec<String>,
}

impl RedirectRules {
    /// Whether an address may be registered.
    pub fn allow(&self, uri: &str) -> bool {
        self.private.iter().any(|listed| listed == uri && is_private(uri)) || is_web(uri)
    }

    /// Whether one of the registered addresses is this one, and still may be.
    pub fn registered(&self, uris: &[String], asked: &str) -> bool {
        self.allow(asked)
            && uris.iter().any(|uri| uri == asked || (self.any_loopback_port && differs_in_port(uri, asked)))
    }
}

/// An address with a scheme of an application's own: what browsers run or show themselves is none, whoever lists it.
pub fn is_private(uri: &str) -> bool {
    const RUN: [&str; 9] =
        ["javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "http", "https"];
    let Ok(parsed) = Url::parse(uri) else { return false };
    uri.len() <= LONGEST
        && uri.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '\\' | '#' | '*' | '"' | '<' | '>'))
        && !RUN.contains(&parsed.scheme())
}

/// https anywhere, or http on this machine; visible ASCII without a fragment, credentials or a wildcard.
fn is_web(uri: &str) -> bool {
    let plain = |c: char| {
        c.is_ascii_graphic() && !matches!(c, '\\' | '#' | '*' | '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}')
    };
    if uri.len() > LONGEST || !uri.chars().all(plain) {
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
        // The spelling counts, not what it leads to: 127.1 and 0x7f000001 are other texts for the same machine.
        "http" => matches!(host_of(authority), "127.0.0.1" | "localhost" | "[::1]"),
        _ => false,
    }
}

/// The authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        Some(_) | None => authority,
    }
}

/// Whether both are http on the same loopback address by number and differ in the port alone.
fn differs_in_port(registered: &str, asked: &str) -> bool {
    let (Some(one), Some(other)) = (parts(registered), parts(asked)) else { return false };
    is_web(asked) && matches!(one.0, "127.0.0.1" | "[::1]") && one == other
}

/// Host and path of an http address.
fn parts(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let (authority, path) = rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len()))?;
    Some((host_of(authority), path))
}

/// The host that a person is shown before they go there.
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

/// Whether it leads to the person's own machine, where any program may wait for it.
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

/// The address with these parameters added to those that it has.
pub fn with_answer(uri: &str, answer: &[(&str, &str)]) -> String {
    let mut added = url::form_urlencoded::Serializer::new(String::new());
    added.extend_pairs(answer);
    let joint = match uri.chars().last() {
        Some('?' | '&') => "",
        Some(_) | None if uri.contains('?') => "&",
        Some(_) | None => "?",
    };
    format!("{uri}{joint}{}", added.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> RedirectRules {
        RedirectRules::default()
    }

    #[test]
    fn https_and_this_machine_may_be_registered() {
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
            assert!(rules().allow(uri), "{uri}");
        }
    }

    /// Of the threat table (row O1).
    #[test]
    fn nothing_else_may_in_whatever_spelling() {
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
            assert!(!rules().allow(uri), "{uri}");
        }
        assert!(!rules().allow(&format!("https://client.example/{}", "a".repeat(LONGEST))));
    }

    /// Of the threat table (row O1).
    #[test]
    fn a_registered_address_is_the_same_text() {
        let uris = ["http://127.0.0.1:43117/callback".to_owned()];
        assert!(rules().registered(&uris, "http://127.0.0.1:43117/callback"));
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
            assert!(!rules().registered(&uris, other), "{other}");
        }
    }

    #[test]
    fn an_operator_may_let_the_port_of_a_loopback_number_differ_and_nothing_else() {
        let rules = RedirectRules { any_loopback_port: true, private: vec!["cursor://cb".to_owned()] };
        let uris = [
            "http://127.0.0.1/cb".to_owned(),
            "http://localhost:1/cb".to_owned(),
            "https://a.example/cb".to_owned(),
        ];
        assert!(rules.registered(&uris, "http://127.0.0.1:52000/cb"));
        for other in [
            "http://localhost:2/cb",
            "https://a.example:2/cb",
            "http://127.0.0.1:2/cb2",
            "http://127.0.0.1:2@evil.example/cb",
            "http://[::1]:2/cb",
        ] {
            assert!(!rules.registered(&uris, other), "{other}");
        }
        assert!(rules.allow("cursor://cb") && !rules.allow("cursor://cb/") && !rules.allow("cursor://other"));
    }

    #[test]
    fn an_answer_is_added_to_the_parameters_that_are_there() {
        let answer = [("code", "a b"), ("state", "x&y=z")];
        assert_eq!(
            with_answer("https://a.example/cb", &answer),
            "https://a.example/cb?code=a+b&state=x%26y%3Dz"
        );
        assert_eq!(
            with_answer("https://a.example/cb?k=v", &answer),
            "https://a.example/cb?k=v&code=a+b&state=x%26y%3Dz"
        );
        assert_eq!(with_answer("https://a.example/?", &[("code", "c")]), "https://a.example/?code=c");
    }

    proptest::proptest! {
        #[test]
        fn what_may_be_registered_leads_where_its_text_says(uri in "(https?://)[a-z0-9.:@\\[\\]/?-]{1,30}") {
            if is_web(&uri) {
                let parsed = Url::parse(&uri).unwrap();
                proptest::prop_assert!(parsed.username().is_empty() && parsed.password().is_none());
                proptest::prop_assert!(parsed.scheme() == "https" || is_local(&uri));
            }
        }
    }
}
