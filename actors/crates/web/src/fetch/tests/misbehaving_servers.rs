//! Servers that send too much, too slowly, or something other than HTTP.

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::test_server::{ScriptedResponse, TestServer, head, whole};
use super::*;

const HTML: (&str, &str) = ("Content-Type", "text/html");

fn fetcher_with_short_timeout() -> Fetcher {
    Fetcher::new(FetchSettings { timeout: Duration::from_millis(300), ..settings() }, clock()).unwrap()
}

async fn server_with(response: impl Fn() -> ScriptedResponse + Send + Sync + 'static) -> TestServer {
    TestServer::start(move |_| response()).await
}

/// Covers the threat table (row S17).
#[tokio::test]
async fn endless_body_is_cut_at_the_bound() {
    let web = server_with(|| ScriptedResponse::Endless(head(200, &[HTML]), b"flood ".repeat(1000))).await;
    let error = get_error(&fetcher(), &web.url("/")).await;

    assert_eq!(error.to_string(), "the response is larger than 1 MB");
    assert!(error.is_permanent());
}

/// Covers the threat table (row S17).
#[tokio::test]
async fn announced_length_over_the_bound_is_refused_early() {
    let web =
        server_with(|| ScriptedResponse::Stall(head(200, &[HTML, ("Content-Length", "10000000000")]))).await;

    assert!(matches!(get_error(&fetcher(), &web.url("/")).await, FetchError::TooLarge(1_000_000)));
}

#[tokio::test]
async fn body_may_be_exactly_as_long_as_the_bound() {
    let web = server_with(|| whole(200, &[HTML], b"12345")).await;
    let at_most = |bytes| FetchRequest { max_bytes: Some(bytes), ..FetchRequest::page() };

    assert_eq!(fetcher().get(&web.url("/"), at_most(5)).await.unwrap().body, b"12345");
    assert!(matches!(fetcher().get(&web.url("/"), at_most(4)).await, Err(FetchError::TooLarge(4))));
}

/// Covers the threat table (row S18).
#[tokio::test]
async fn slow_server_times_out_in_every_phase() {
    let chunk = b"1\r\nx\r\n".to_vec();
    for web in [
        server_with(|| ScriptedResponse::Stall(Vec::new())).await,
        server_with(|| ScriptedResponse::Stall(head(200, &[HTML, ("Content-Length", "5")]))).await,
        server_with(|| ScriptedResponse::Drip(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), b"x".to_vec())).await,
        server_with(|| ScriptedResponse::Drip(head(200, &[HTML]), b"drip ".to_vec())).await,
        server_with(move || {
            ScriptedResponse::Drip(head(200, &[("Transfer-Encoding", "chunked")]), chunk.clone())
        })
        .await,
        server_with(|| ScriptedResponse::Drip(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())).await,
    ] {
        let error = get_error(&fetcher_with_short_timeout(), &web.url("/")).await;
        assert_eq!(error.to_string(), "the fetch took longer than 0.3 seconds");
        assert!(!error.is_permanent());
    }
}

/// Covers the threat table (row S18).
#[tokio::test]
async fn redirects_share_one_deadline() {
    let web =
        server_with(|| ScriptedResponse::Slow(head(302, &[("Location", "/"), ("Content-Length", "0")])))
            .await;

    assert!(matches!(get_error(&fetcher_with_short_timeout(), &web.url("/")).await, FetchError::Timeout(_)));
}

/// Covers the threat table (row S18).
#[tokio::test]
async fn unfinished_tls_handshake_times_out() {
    let web = server_with(|| ScriptedResponse::Stall(Vec::new())).await;
    let url = PageUrl::parse(&format!("https://{}/", web.address)).unwrap();

    assert!(matches!(get_error(&fetcher_with_short_timeout(), &url).await, FetchError::Timeout(_)));
}

/// Covers the threat table (row S20).
#[tokio::test]
async fn too_many_or_too_large_headers_are_refused() {
    let many = "X: y\r\n".repeat(10_000);
    let large = format!("X: {}\r\n", "y".repeat(1024 * 1024));
    for headers in [many, large] {
        let response = format!("HTTP/1.1 200 OK\r\n{headers}\r\nbody").into_bytes();
        let web = server_with(move || ScriptedResponse::Whole(response.clone())).await;
        let error = get_error(&fetcher(), &web.url("/")).await;
        assert!(matches!(error, FetchError::InvalidResponse(_)), "{error:?}");
    }
}

#[tokio::test]
async fn responses_that_are_not_http_or_incomplete_are_errors() {
    for response in [
        &b""[..],
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"\0\x01\x02",
    ] {
        let web = server_with(move || ScriptedResponse::Whole(response.to_vec())).await;
        let error = get_error(&fetcher(), &web.url("/?secret")).await;
        assert!(matches!(error, FetchError::InvalidResponse(_)), "{response:?}: {error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"));
        assert!(!error.is_permanent());
    }
}

#[tokio::test]
async fn redirect_that_is_not_utf_8_is_refused() {
    let web = server_with(|| {
        ScriptedResponse::Whole(
            b"HTTP/1.1 302 Found\r\nLocation: /\xFF\r\nContent-Length: 0\r\n\r\n".to_vec(),
        )
    })
    .await;

    assert!(matches!(
        get_error(&fetcher(), &web.url("/")).await,
        FetchError::Rejected(UrlRejection::Malformed)
    ));
}

#[tokio::test]
async fn closed_port_is_unreachable() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = PageUrl::parse(&format!("http://{closed}/")).unwrap();
    let error = get_error(&fetcher(), &url).await;

    assert_eq!(error.to_string(), "the server cannot be reached");
    assert!(!error.is_permanent());
}

#[tokio::test]
async fn dropped_fetch_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = PageUrl::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let fetch = tokio::spawn(async move { get(&fetcher(), &url).await.map(drop) });
    let (mut stream, _) = listener.accept().await.unwrap();
    assert!(stream.read(&mut [0; 10_000]).await.unwrap() > 0);

    fetch.abort();

    assert_eq!(stream.read(&mut [0; 10_000]).await.unwrap(), 0);
}
