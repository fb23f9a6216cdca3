//! Checks that `Host` names this server (row H3). A page whose own name was made to resolve to this server (DNS
//! rebinding) has the origin of what it requests, so a browser lets it read the responses; but it sends its name in `Host`. `/mcp`
//! has a stricter rule.

use std::net::{Ipv4Addr, SocketAddrV4};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HOST;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpRequest, HttpResponse};
use actors::context::OperationContext;
use url::{Host, Url};
use web::is_local_name;

use super::envelope::failure;

/// Monitors request these under any name; `/mcp` checks `Host` itself.
const EXEMPT_PATHS: [&str; 4] = ["/healthz", "/readyz", "/mcp", "/mcp/"];
/// Why a request is refused; the text follows "Host" or "the Host header".
const REASON: &str = "is a public DNS name other than that of the setting server.base_url";

/// Responds with 400 to a request whose `Host` cannot be this server's.
pub async fn refuse_unknown(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if EXEMPT_PATHS.contains(&request.path()) || is_known(request.request()) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let (request, _) = request.into_parts();
    let response = refusal(&request);
    Ok(ServiceResponse::new(request, response))
}

fn is_known(request: &HttpRequest) -> bool {
    let Some(ctx) = request.app_data::<Data<OperationContext>>() else { return true };
    let mut sent = request.headers().get_all(HOST);
    match (sent.next(), sent.next()) {
        // HTTP/1.0 needs none, and no browser speaks it.
        (None, _) => true,
        (Some(host), None) => host.to_str().is_ok_and(|host| may_be_ours(host, &ctx.core.base_url)),
        // RFC 9112, section 3.2: two `Host` headers are an error, and proxies differ in which one they use.
        (Some(_), Some(_)) => false,
    }
}

/// Returns whether this is the host of `server.base_url`, an IP address, or a name of a local network: a name that public DNS does not
/// have cannot be made to resolve to this server by others. Ports are not compared, because a proxy in front has another one.
fn may_be_ours(host: &str, base_url: &str) -> bool {
    // Most requests name an address or what the setting says, which takes no parser.
    if is_ipv4(host) || is_authority_of(base_url, host) {
        return true;
    }
    // The parser of URLs reads the host as browsers do, so every spelling of an IP address, and text before an `@`,
    // is understood.
    let Ok(asked) = Url::parse(&format!("http://{}/", host.trim())) else { return false };
    match asked.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => is_local(name) || is_base(name, base_url),
        None => false,
    }
}

/// Returns whether this is an IPv4 address in the usual spelling, with a port or without.
fn is_ipv4(host: &str) -> bool {
    host.parse::<SocketAddrV4>().is_ok() || host.parse::<Ipv4Addr>().is_ok()
}

/// Returns whether this is the host of the URL, with the port if it has one, as the URL spells them.
fn is_authority_of(base_url: &str, host: &str) -> bool {
    let authority = base_url.split_once("://").and_then(|(_, rest)| rest.strip_prefix(host));
    !host.is_empty() && authority.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A name without a dot is local too: containers and machines of one network use such names.
fn is_local(name: &str) -> bool {
    !name.trim_end_matches('.').contains('.') || is_local_name(name)
}

fn is_base(name: &str, base_url: &str) -> bool {
    let base = Url::parse(base_url).ok();
    let base = base.as_ref().and_then(Url::host_str);
    // Browsers send the dot at the end of an absolute name.
    base.is_some_and(|base| base.trim_end_matches('.') == name.trim_end_matches('.'))
}

fn refusal(request: &HttpRequest) -> HttpResponse {
    let is_api = ["/rest", "/app/api"].iter().any(|api| {
        request.path().strip_prefix(api).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    match request.app_data::<Data<OperationContext>>() {
        Some(ctx) if is_api => failure(request, ctx, &errors::Error::invalid("Host", REASON)),
        Some(_) | None => HttpResponse::BadRequest()
            .content_type("text/plain; charset=utf-8")
            .body(format!("the Host header {REASON}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://carrel.example/books";

    #[test]
    fn base_url_ip_addresses_and_local_names_may_be_ours() {
        for host in [
            "carrel.example",
            "CARREL.example:443",
            "carrel.example.:8080",
            "127.0.0.1:8080",
            "192.0.2.7",
            "[2001:db8::7]:8080",
            "localhost:8080",
            "carrel.localhost",
            "carrel:8080",
            "nas.local",
            "carrel.library.svc.cluster.local",
            "books.home.arpa",
        ] {
            assert!(may_be_ours(host, BASE), "{host}");
        }
    }

    /// Covers the threat table (row H3).
    #[test]
    fn names_of_public_dns_and_broken_hosts_are_not_ours() {
        for host in [
            "evil.example",
            "evil.example.",
            "www.carrel.example",
            "carrel.example.evil.example",
            "carrel.example@evil.example",
            "127.0.0.1.evil.example",
            "evil.example:99999",
            "carrel.exampl",
            "a b",
            "",
        ] {
            assert!(!may_be_ours(host, BASE), "{host}");
        }
    }
}
