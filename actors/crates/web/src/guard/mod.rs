//! Where the server may connect to for its users: pages of the public web and networks that the operator allows, but not
//! the server itself. What the URL contains is checked before anything is resolved or connected to, and every IP address
//! that a name resolves to is checked again (rows S1 to S16).

mod ports;
mod special_networks;

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use crate::page_url::{PageUrl, UrlRejection};

/// Names of this machine, also as suffixes (RFC 6761; `/etc/hosts` of common systems). They are refused even if an allowed
/// network contains the address that they resolve to: networks are allowed by number.
const LOOPBACK_NAMES: &[&str] =
    &["localhost", "localdomain", "localhost6", "localdomain6", "ip6-localhost", "ip6-loopback"];

/// Suffixes of names that exist only inside a network (RFC 6762, RFC 8375, ICANN's `internal`).
const LOCAL_SUFFIXES: &[&str] = &["internal", "local", "home.arpa"];

/// The rules of one server about where its fetches may connect to. The default allows the public web alone.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allow: Vec<IpNet>,
    /// Host and port of the server itself.
    own: Option<(String, u16)>,
}

impl Guard {
    /// Creates the rules. `allow` are networks that may be fetched although they are private (`fetch.allow_private`). `own` is
    /// `server.base_url`, whose whole origin is refused. The connection test, which
    /// must reach it, uses another client ([`crate::probe`]).
    pub fn new(allow: Vec<IpNet>, own: Option<&PageUrl>) -> Self {
        Self { allow, own: own.map(|own| (bare_host(own.host()), own.port())) }
    }

    /// Checks what the URL itself contains: its port, and its host name or IP address in any notation.
    ///
    /// A name that passes may still resolve to a private address: resolve it and call [`Guard::check_ip`].
    ///
    /// # Errors
    /// [`UrlRejection::Own`], [`UrlRejection::Port`], [`UrlRejection::LocalName`] or [`UrlRejection::Private`].
    pub fn check_url(&self, page: &PageUrl) -> Result<(), UrlRejection> {
        if self.is_own(page) {
            return Err(UrlRejection::Own);
        }
        if !ports::is_for_pages(page.port()) {
            return Err(UrlRejection::Port);
        }
        match page.url().host() {
            Some(Host::Domain(name)) => self.check_name(name),
            Some(Host::Ipv4(address)) => self.check_ip(address.into()),
            Some(Host::Ipv6(address)) => self.check_ip(address.into()),
            None => Err(UrlRejection::NotHttp),
        }
    }

    /// Checks one IP address that a name resolved to.
    ///
    /// # Errors
    /// [`UrlRejection::Private`] when the address is not public and in no allowed network.
    pub fn check_ip(&self, address: IpAddr) -> Result<(), UrlRejection> {
        if special_networks::is_public(address) || self.allow.iter().any(|net| net.contains(&address)) {
            Ok(())
        } else {
            Err(UrlRejection::Private)
        }
    }

    /// Returns whether the URL is one of the server itself. A proxy in front of it may show the server's
    /// machine more than others, `/metrics` for example.
    fn is_own(&self, page: &PageUrl) -> bool {
        // Ports 80 and 443 of a host count as one, because such a proxy often serves both.
        let is_default = |port: u16| matches!(port, 80 | 443);
        self.own.as_ref().is_some_and(|(host, port)| {
            let same_port = *port == page.port() || (is_default(*port) && is_default(page.port()));
            same_port && *host == bare_host(page.host())
        })
    }

    fn check_name(&self, name: &str) -> Result<(), UrlRejection> {
        let name = bare_host(name);
        if LOOPBACK_NAMES.iter().any(|own| is_under(&name, own)) {
            return Err(UrlRejection::LocalName);
        }
        // The addresses that such names resolve to are checked all the same.
        if !self.allows_local_network() && LOCAL_SUFFIXES.iter().any(|suffix| is_under(&name, suffix)) {
            return Err(UrlRejection::LocalName);
        }
        Ok(())
    }

    /// Returns whether a network other than loopback is allowed, so that names of a local network may be fetched.
    fn allows_local_network(&self) -> bool {
        self.allow.iter().any(|net| !net.network().is_loopback())
    }
}

/// Returns whether the host name is one of this machine or of a local network, which public DNS does not have.
pub fn is_local_name(name: &str) -> bool {
    let name = bare_host(name);
    LOOPBACK_NAMES.iter().chain(LOCAL_SUFFIXES).any(|suffix| is_under(&name, suffix))
}

/// Returns the host in lower case, without the brackets of an IPv6 address and the dot of the root zone.
fn bare_host(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn is_under(name: &str, suffix: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 127.0.0.2 and other addresses and names of this machine, in notations that a resolver or a parser may accept.
    const LOOPBACK: &[&str] = &[
        "127.0.0.2",
        "127.0.0.2.",
        "127.2",
        "127.0.2",
        "2130706434",
        "0x7f000002",
        "0x7f.0.0.2",
        "0x7F.0x0.0x0.0x2",
        "017700000002",
        "0177.0.0.2",
        "0177.00.00.02",
        "127.255.255.254",
        "%31%32%37.0.0.2",
        "127%2e0%2e0%2e2",
        "１２７.０.０.２",
        "127。0。0。2",
        "①②⑦.⓪.⓪.②",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::0001]",
        "[::ffff:127.0.0.2]",
        "[::ffff:7f00:2]",
        "[::127.0.0.2]",
        "[::ffff:0:127.0.0.2]",
        "[64:ff9b::127.0.0.2]",
        "[64:ff9b:1::7f00:2]",
        "[2002:7f00:2::]",
        "[2001:0:7f00:2::]",
        "0.0.0.0",
        "0",
        "0x0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "sub.localhost",
        "ⓛocalhost",
        "localhost.localdomain",
        "ip6-localhost",
        "ip6-loopback",
    ];

    const PRIVATE: &[&str] = &[
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.254",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "0xa9fea9fe",
        "2852039166",
        "[fe80::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[100::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[2002:0a00:0001::]",
        "[::ffff:169.254.169.254]",
        "metadata.google.internal.localhost",
        "metadata.google.internal",
        "metadata.google.internal.",
        "printer.local",
        "nas.home.arpa",
        "INTERNAL",
    ];

    fn guard(allow: &[&str]) -> Guard {
        guard_of("http://127.0.0.1:8080", allow)
    }

    fn guard_of(base_url: &str, allow: &[&str]) -> Guard {
        let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
        Guard::new(allow, Some(&PageUrl::parse(base_url).unwrap()))
    }

    fn check(guard: &Guard, host: &str) -> Result<(), UrlRejection> {
        guard.check_url(&PageUrl::parse(&format!("http://{host}/")).expect(host))
    }

    /// Covers the threat table (rows S1, S2, S3, S4, S5, S6).
    #[test]
    fn private_addresses_are_rejected_in_every_notation() {
        for guard in [guard(&[]), guard(&["127.0.0.1/32"])] {
            for host in LOOPBACK.iter().chain(PRIVATE) {
                let rejection = check(&guard, host).expect_err(host);
                assert!(
                    matches!(rejection, UrlRejection::Private | UrlRejection::LocalName),
                    "{host}: {rejection}"
                );
            }
        }
    }

    #[test]
    fn public_hosts_pass() {
        for host in [
            "example.com",
            "example.com:8443",
            "localhost.example.com",
            "mylocalhost",
            "8.8.8.8",
            "[2606:4700::1111]",
        ] {
            assert_eq!(check(&guard(&[]), host), Ok(()), "{host}");
        }
    }

    #[test]
    fn allowed_network_passes_by_number_only() {
        let guard = guard(&["127.0.0.1/32", "fd12::/16"]);

        for host in ["127.0.0.1:20009", "2130706433:20009", "[fd12::7]"] {
            assert_eq!(check(&guard, host), Ok(()), "{host}");
        }
        for host in ["127.0.0.2:20009", "[::ffff:127.0.0.1]:20009", "[::1]:20009", "localhost:20009"] {
            assert!(check(&guard, host).is_err(), "{host}");
        }
    }

    #[test]
    fn local_names_pass_if_a_local_network_is_allowed() {
        let home = guard(&["192.168.0.0/16"]);

        assert_eq!(check(&home, "nas.local"), Ok(()));
        assert_eq!(check(&home, "nas.localhost"), Err(UrlRejection::LocalName));
        assert_eq!(home.check_ip("192.168.1.9".parse().unwrap()), Ok(()));
        assert_eq!(home.check_ip("10.0.0.9".parse().unwrap()), Err(UrlRejection::Private));
    }

    /// Covers the threat table (row S16).
    #[test]
    fn own_origin_is_rejected() {
        for (base_url, host, verdict) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", Err(UrlRejection::Own)),
            ("http://127.0.0.1:8080", "2130706433:8080", Err(UrlRejection::Own)),
            ("http://127.0.0.1:8080", "127.0.0.1:8081", Ok(())),
            ("http://[::1]:8080", "[0:0::1]:8080", Err(UrlRejection::Own)),
            ("https://carrel.example/books", "CARREL.example.", Err(UrlRejection::Own)),
            ("https://carrel.example", "carrel.example:443", Err(UrlRejection::Own)),
            ("https://carrel.example", "carrel.example:8443", Ok(())),
            ("https://carrel.example", "www.carrel.example", Ok(())),
        ] {
            let guard = guard_of(base_url, &["127.0.0.1/32"]);
            assert_eq!(check(&guard, host), verdict, "{host}");
        }
    }

    /// Covers the threat table (row S13).
    #[test]
    fn ports_of_other_services_are_rejected() {
        for port in [22, 25, 3306, 6379, 9200] {
            assert_eq!(
                check(&guard(&["127.0.0.1/32"]), &format!("127.0.0.1:{port}")),
                Err(UrlRejection::Port)
            );
        }
    }
}
