//! The client of a request: its IP address and its name.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::USER_AGENT;
use actix_web::web::Data;
use ipnet::IpNet;
use text::one_line;

// The client chooses the text, and each line of its activity holds it.
const MAX_CLIENT_CHARS: usize = 100;

/// Proxies whose `X-Forwarded-For` is trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(pub Vec<IpNet>);

/// Returns the IP address of the client: that of the connection, or the last one before
/// a trusted proxy (contract.md, section 3).
pub fn ip_address(request: &HttpRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let proxies = request.app_data::<Data<TrustedProxies>>()?;
    // A socket for both families reports IPv4 addresses as `::ffff:a.b.c.d`.
    let trusted = |ip: IpAddr| proxies.0.iter().any(|net| net.contains(&ip.to_canonical()));
    if !trusted(peer) {
        return Some(peer.to_canonical());
    }
    let chain: Vec<&str> =
        request.headers().get_all("X-Forwarded-For").filter_map(|h| h.to_str().ok()).collect();
    let hops = chain.iter().flat_map(|header| header.split(',')).map(|hop| hop.trim().parse::<IpAddr>());
    let mut last = peer;
    // From the end, where each proxy appends the address that it sees. What stands before the first untrusted address
    // is a claim of the client.
    for hop in hops.collect::<Vec<_>>().into_iter().rev() {
        let Ok(hop) = hop else { break };
        last = hop;
        if !trusted(hop) {
            break;
        }
    }
    Some(last.to_canonical())
}

/// The first product of the User-Agent, as a name to show: without control characters, and of at most 100 characters.
pub fn client(request: &HttpRequest) -> Option<Arc<str>> {
    let header = request.headers().get(USER_AGENT)?.to_str().ok()?;
    let product = header.split_whitespace().next()?;
    let shown: String = one_line(product).chars().take(MAX_CLIENT_CHARS).collect();
    (!shown.is_empty()).then(|| shown.into())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn from(peer: &str, forwarded: &str) -> Option<IpAddr> {
        let trusted = TrustedProxies(vec!["10.0.0.0/8".parse().unwrap()]);
        let request = TestRequest::get()
            .peer_addr(format!("{peer}:1").parse().unwrap())
            .app_data(Data::new(trusted))
            .insert_header(("X-Forwarded-For", forwarded));
        ip_address(&request.to_http_request())
    }

    /// Covers the threat table (row H7).
    #[test]
    fn forwarded_addresses_are_read_up_to_the_last_trusted_proxy() {
        assert_eq!(from("192.0.2.9", "198.51.100.1"), "192.0.2.9".parse().ok());
        assert_eq!(from("10.0.0.1", "203.0.113.5, 198.51.100.1"), "198.51.100.1".parse().ok());
        assert_eq!(from("10.0.0.1", "198.51.100.1, 10.0.0.2"), "198.51.100.1".parse().ok());
        assert_eq!(from("10.0.0.1", "nonsense"), "10.0.0.1".parse().ok());
    }

    #[test]
    fn client_is_the_first_product_of_the_user_agent() {
        let request =
            TestRequest::get().insert_header(("User-Agent", "bookworm/3.1 (linux)")).to_http_request();
        assert_eq!(client(&request).as_deref(), Some("bookworm/3.1"));
        assert_eq!(client(&TestRequest::get().to_http_request()), None);
    }
}
