//! What the service opens for its users: pages of the public web and networks that the operator allows, but
//! nothing of the service itself. Everything that is written out is judged before anything is resolved or
//! connected to, and every address that a name resolves to is judged again (faults-and-threats.md, S1 to S16).

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::{PageUrl, Refusal, ports, special};

/// Names of this machine, themselves and as the end of a name: refused whatever is allowed, because an
/// allowed network is allowed by its numbers (RFC 6761; `/etc/hosts` of common systems).
const OWN_NAMES: &[&str] =
    &["localhost", "localdomain", "localhost6", "localdomain6", "ip6-localhost", "ip6-loopback"];

/// Ends of names that exist only inside some network (RFC 6762, RFC 8375, ICANN's `internal`).
const LOCAL_ENDS: &[&str] = &["internal", "local", "home.arpa"];

/// The rules of one service about where its fetches may go.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allow: Vec<IpNet>,
    /// Host and port of the service itself.
    own: Option<(String, u16)>,
}

impl Guard {
    /// `allow`: networks that may be fetched although private (`fetch.allow_private`). `own`: `server.base_url`,
    /// whose whole origin is refused. The connection test, which must reach it, has another client
    /// ([`crate::probe`]).
    pub fn new(allow: Vec<IpNet>, own: Option<&PageUrl>) -> Self {
        Self { allow, own: own.map(|own| (bare(own.host()), own.port())) }
    }

    /// Judges what stands in the address itself: its port, its name, its number in any spelling.
    ///
    /// A name that passes may still lead anywhere: resolve it and ask [`Guard::address`].
    pub fn literal(&self, page: &PageUrl) -> Result<(), Refusal> {
        if self.is_own(page) {
            return Err(Refusal::Own);
        }
        if !ports::is_for_pages(page.port()) {
            return Err(Refusal::Port);
        }
        match page.url().host() {
            Some(Host::Domain(name)) => self.name(name),
            Some(Host::Ipv4(address)) => self.address(address.into()),
            Some(Host::Ipv6(address)) => self.address(address.into()),
            None => Err(Refusal::NotHttp),
        }
    }

    /// Judges one address that a name resolved to.
    pub fn address(&self, address: IpAddr) -> Result<(), Refusal> {
        if special::is_public(address) || self.allow.iter().any(|net| net.contains(&address)) {
            Ok(())
        } else {
            Err(Refusal::Private)
        }
    }

    /// Whether this is an address of the service itself. A proxy in front may let the service's machine see more than
    /// strangers, `/metrics` for example. Ports 80 and 443 of a host count as one: a proxy that has one often has both.
    fn is_own(&self, page: &PageUrl) -> bool {
        let usual = |port: u16| matches!(port, 80 | 443);
        self.own.as_ref().is_some_and(|(host, port)| {
            let same_port = *port == page.port() || (usual(*port) && usual(page.port()));
            same_port && *host == bare(page.host())
        })
    }

    fn name(&self, name: &str) -> Result<(), Refusal> {
        let name = bare(name);
        if OWN_NAMES.iter().any(|own| is_under(&name, own)) {
            return Err(Refusal::LocalName);
        }
        if !self.allows_a_neighbour() && LOCAL_ENDS.iter().any(|end| is_under(&name, end)) {
            return Err(Refusal::LocalName);
        }
        Ok(())
    }

    /// Whether some network beyond this machine is allowed, so that names of a local network make sense.
    fn allows_a_neighbour(&self) -> bool {
        self.allow.iter().any(|net| !net.network().is_loopback())
    }
}

/// Whether this is a name of this machine or of a network around it: public DNS does not have it.
pub fn is_local_name(name: &str) -> bool {
    let name = bare(name);
    OWN_NAMES.iter().chain(LOCAL_ENDS).any(|end| is_under(&name, end))
}

/// Lower case, without the brackets of an IPv6 address and the dot of the root zone.
fn bare(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn is_under(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 127.0.0.2 and other names of this machine, as a resolver or a parser would take them.
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
        owned("http://127.0.0.1:8080", allow)
    }

    fn owned(base_url: &str, allow: &[&str]) -> Guard {
        let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
        Guard::new(allow, Some(&PageUrl::parse(base_url).unwrap()))
    }

    fn judged(guard: &Guard, host: &str) -> Result<(), Refusal> {
        guard.literal(&PageUrl::parse(&format!("http://{host}/")).expect(host))
    }

    /// Of the threat table (rows S1, S2, S3, S4, S5, S6).
    #[test]
    fn private_and_reserved_addresses_are_refused_in_every_spelling() {
        for guard in [guard(&[]), guard(&["127.0.0.1/32"])] {
            for host in LOOPBACK.iter().chain(PRIVATE) {
                let refusal = judged(&guard, host).expect_err(host);
                assert!(matches!(refusal, Refusal::Private | Refusal::LocalName), "{host}: {refusal}");
            }
        }
    }

    #[test]
    fn pages_of_the_web_pass() {
        for host in [
            "example.com",
            "example.com:8443",
            "localhost.example.com",
            "mylocalhost",
            "8.8.8.8",
            "[2606:4700::1111]",
        ] {
            assert_eq!(judged(&guard(&[]), host), Ok(()), "{host}");
        }
    }

    #[test]
    fn an_allowed_network_passes_by_its_numbers_and_no_other_does() {
        let guard = guard(&["127.0.0.1/32", "fd12::/16"]);

        for host in ["127.0.0.1:20009", "2130706433:20009", "[fd12::7]"] {
            assert_eq!(judged(&guard, host), Ok(()), "{host}");
        }
        for host in ["127.0.0.2:20009", "[::ffff:127.0.0.1]:20009", "[::1]:20009", "localhost:20009"] {
            assert!(judged(&guard, host).is_err(), "{host}");
        }
    }

    #[test]
    fn names_of_a_local_network_pass_where_one_is_allowed() {
        let home = guard(&["192.168.0.0/16"]);

        assert_eq!(judged(&home, "nas.local"), Ok(()));
        assert_eq!(judged(&home, "nas.localhost"), Err(Refusal::LocalName));
        assert_eq!(home.address("192.168.1.9".parse().unwrap()), Ok(()));
        assert_eq!(home.address("10.0.0.9".parse().unwrap()), Err(Refusal::Private));
    }

    /// Of the threat table (row S16).
    #[test]
    fn service_itself_is_refused_at_its_own_host_and_port() {
        for (base_url, host, verdict) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", Err(Refusal::Own)),
            ("http://127.0.0.1:8080", "2130706433:8080", Err(Refusal::Own)),
            ("http://127.0.0.1:8080", "127.0.0.1:8081", Ok(())),
            ("http://[::1]:8080", "[0:0::1]:8080", Err(Refusal::Own)),
            ("https://carrel.example/books", "CARREL.example.", Err(Refusal::Own)),
            ("https://carrel.example", "carrel.example:443", Err(Refusal::Own)),
            ("https://carrel.example", "carrel.example:8443", Ok(())),
            ("https://carrel.example", "www.carrel.example", Ok(())),
        ] {
            let guard = owned(base_url, &["127.0.0.1/32"]);
            assert_eq!(judged(&guard, host), verdict, "{host}");
        }
    }

    /// Of the threat table (row S13).
    #[test]
    fn ports_of_other_services_are_refused() {
        for port in [22, 25, 3306, 6379, 9200] {
            assert_eq!(judged(&guard(&["127.0.0.1/32"]), &format!("127.0.0.1:{port}")), Err(Refusal::Port));
        }
    }
}
