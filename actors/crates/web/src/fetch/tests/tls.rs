//! Servers with TLS: an untrusted certificate, and connections that end without close_notify.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Certificate;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use super::*;

/// A self-signed certificate for `self-signed.test`, valid until 2126.
const CERTIFICATE: &str = "MIIBpjCCAU2gAwIBAgIUe7EKpHEK3wVznQ9loiv5JQ9/VugwCgYIKoZIzj0EAwIwGzEZMBcGA1UEAwwQc2VsZi1zaWduZWQudGVzdDAgFw0yNjExMjExODMzMDRaGA8yMTI2MTAyODE4MzMwNFowGzEZMBcGA1UEAwwQc2VsZi1zaWduZWQudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGKoCBtW8jqh3dPmriyQLi2aB9R9GxBLPmMo+uHzVSeDZ7lHixT5craU6NkNjYL+HORcZv9SOv7/Mh1CXLpO4L2jbTBrMB0GA1UdDgQWBBSkyqLgegqqF5YLgRcY7vu5lYGj2DAfBgNVHSMEGDAWgBSkyqLgegqqF5YLgRcY7vu5lYGj2DAbBgNVHREEFDASghBzZWxmLXNpZ25lZC50ZXN0MAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDRwAwRAIgLKbnlUsVJjTAUH4Tg/bBqoOWGDnukXpaOJVpjvGHntQCIDuFgou1j3yuUtqRqugPyeoqJfL9atcvonQhaeIPeBBJ";

/// The private key of the certificate. It protects nothing.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0ogKfupU14uCVjaWEMcvMLebJffbutblPoJYVinocAqhRANCAARiqAgbVvI6od3T5q4skC4tmgfUfRsQSz5jKPrh81Ung2e5R4sU+XK2lOjZDY2C/hzkXGb/Ujr+/zIdQly6TuC9";

/// Starts a server that sends one response and closes the connection without close_notify; returns its URL.
fn start_abrupt_server(response: &'static str) -> PageUrl {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut server = ServerConnection::new(Arc::new(config())).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(Stream::new(&mut server, &mut socket));
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|_| !line.ends_with("\r\n\r\n")) {}
        stream.get_mut().write_all(response.as_bytes())
    });
    PageUrl::parse(&format!("https://self-signed.test:{port}/")).unwrap()
}

fn config() -> ServerConfig {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(STANDARD.decode(KEY).unwrap()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_no_client_auth().with_single_cert(vec![certificate()], key).unwrap()
}

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from(STANDARD.decode(CERTIFICATE).unwrap())
}

fn distrusting_fetcher() -> Fetcher {
    fetcher_with_names(settings(), [("self-signed.test", vec!["127.0.0.1".parse().unwrap()])])
}

/// Returns a fetcher that trusts the certificate.
fn trusting_fetcher() -> Fetcher {
    let answers = HashMap::from([("self-signed.test".to_owned(), vec![vec!["127.0.0.1".parse().unwrap()]])]);
    let fetcher = distrusting_fetcher();
    let resolver = resolve::GuardedResolver::new(
        Arc::new(ScriptedLookup { answers: Mutex::new(answers) }),
        fetcher.guard.clone(),
    );
    let client = client::builder(resolver)
        .tls_certs_merge([Certificate::from_der(&certificate()).unwrap()])
        .build()
        .unwrap();
    Fetcher { client, ..fetcher }
}

#[tokio::test]
async fn self_signed_certificate_is_not_trusted() {
    let url = start_abrupt_server("HTTP/1.1 200 OK\r\n\r\nsecret");
    let error = get_error(&distrusting_fetcher(), &url).await;

    assert!(matches!(error, FetchError::Untrusted(_)) && error.is_permanent(), "{error:?}");
}

#[tokio::test]
async fn body_may_end_with_the_connection_without_close_notify() {
    let url = start_abrupt_server("HTTP/1.1 200 OK\r\n\r\nthe page");

    assert_eq!(get(&trusting_fetcher(), &url).await.unwrap().text(), "the page");
}

#[tokio::test]
async fn truncated_body_of_known_length_is_an_error() {
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthe page",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nthe page\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        let error = get_error(&trusting_fetcher(), &start_abrupt_server(response)).await;
        assert!(matches!(error, FetchError::InvalidResponse(_)), "{response}: {error:?}");
    }
}
