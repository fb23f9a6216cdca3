//! Servers that send too much, too slowly, or something else than pages.

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::site::{Answer, Site, head, whole};
use super::*;

const HTML: (&str, &str) = ("Content-Type", "text/html");

fn impatient() -> Fetcher {
    Fetcher::new(FetchSettings { timeout: Duration::from_millis(300), ..settings() }).unwrap()
}

async fn answering(answer: impl Fn() -> Answer + Send + Sync + 'static) -> Site {
    Site::start(move |_| answer()).await
}

/// Of the threat table (row S17).
#[tokio::test]
async fn an_endless_page_is_cut_at_the_bound() {
    let web = answering(|| Answer::Endless(head(200, &[HTML]), b"flood ".repeat(1000))).await;
    let error = fails(&fetcher(), &web.url("/")).await;

    assert_eq!(error.to_string(), "is larger than 1 MB");
    assert!(error.permanent());
}

/// Of the threat table (row S17).
#[tokio::test]
async fn a_length_over_the_bound_is_refused_before_the_body_comes() {
    let web = answering(|| Answer::Stall(head(200, &[HTML, ("Content-Length", "10000000000")]))).await;

    assert!(matches!(fails(&fetcher(), &web.url("/")).await, FetchError::TooLarge(1_000_000)));
}

#[tokio::test]
async fn a_page_of_just_the_bound_is_whole_and_one_byte_more_is_too_large() {
    let web = answering(|| whole(200, &[HTML], b"12345")).await;
    let most = |bytes| Wanted { max_bytes: Some(bytes), ..Wanted::page() };

    assert_eq!(fetcher().get(&web.url("/"), most(5)).await.unwrap().body, b"12345");
    assert!(matches!(fetcher().get(&web.url("/"), most(4)).await, Err(FetchError::TooLarge(4))));
}

/// Of the threat table (row S18).
#[tokio::test]
async fn slow_servers_meet_the_deadline_wherever_they_are_slow() {
    let chunk = b"1\r\nx\r\n".to_vec();
    for web in [
        answering(|| Answer::Stall(Vec::new())).await,
        answering(|| Answer::Stall(head(200, &[HTML, ("Content-Length", "5")]))).await,
        answering(|| Answer::Drip(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), b"x".to_vec())).await,
        answering(|| Answer::Drip(head(200, &[HTML]), b"drip ".to_vec())).await,
        answering(move || Answer::Drip(head(200, &[("Transfer-Encoding", "chunked")]), chunk.clone())).await,
        answering(|| Answer::Drip(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())).await,
    ] {
        let error = fails(&impatient(), &web.url("/")).await;
        assert_eq!(error.to_string(), "took longer than 0.3 seconds");
        assert!(!error.permanent());
    }
}

/// Of the threat table (row S18).
#[tokio::test]
async fn redirects_share_one_deadline() {
    let web = answering(|| Answer::Slow(head(302, &[("Location", "/"), ("Content-Length", "0")]))).await;

    assert!(matches!(fails(&impatient(), &web.url("/")).await, FetchError::Timeout(_)));
}

/// Of the threat table (row S18).
#[tokio::test]
async fn a_server_that_never_finishes_tls_meets_the_deadline() {
    let web = answering(|| Answer::Stall(Vec::new())).await;
    let url = PageUrl::parse(&format!("https://{}/", web.address)).unwrap();

    assert!(matches!(fails(&impatient(), &url).await, FetchError::Timeout(_)));
}

/// Of the threat table (row S20).
#[tokio::test]
async fn a_flood_of_headers_is_refused() {
    let many = "X: y\r\n".repeat(10_000);
    let large = format!("X: {}\r\n", "y".repeat(1024 * 1024));
    for headers in [many, large] {
        let answer = format!("HTTP/1.1 200 OK\r\n{headers}\r\nbody").into_bytes();
        let web = answering(move || Answer::Whole(answer.clone())).await;
        let error = fails(&fetcher(), &web.url("/")).await;
        assert!(matches!(error, FetchError::Broken(_)), "{error:?}");
    }
}

#[tokio::test]
async fn answers_that_are_no_http_or_end_too_early_are_broken() {
    for answer in [
        &b""[..],
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"\0\x01\x02",
    ] {
        let web = answering(move || Answer::Whole(answer.to_vec())).await;
        let error = fails(&fetcher(), &web.url("/?secret")).await;
        assert!(matches!(error, FetchError::Broken(_)), "{answer:?}: {error:?}");
        assert!(!format!("{error} {error:?}").contains("secret"));
        assert!(!error.permanent());
    }
}

#[tokio::test]
async fn a_redirect_in_no_encoding_is_refused() {
    let web = answering(|| {
        Answer::Whole(b"HTTP/1.1 302 Found\r\nLocation: /\xFF\r\nContent-Length: 0\r\n\r\n".to_vec())
    })
    .await;

    assert!(matches!(fails(&fetcher(), &web.url("/")).await, FetchError::Rejected(Refusal::Malformed)));
}

#[tokio::test]
async fn a_port_where_nobody_listens_cannot_be_reached() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = PageUrl::parse(&format!("http://{gone}/")).unwrap();
    let error = fails(&fetcher(), &url).await;

    assert_eq!(error.to_string(), "is on a server that cannot be reached");
    assert!(!error.permanent());
}

#[tokio::test]
async fn a_dropped_fetch_leaves_its_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = PageUrl::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let fetch = tokio::spawn(async move { get(&fetcher(), &url).await.map(drop) });
    let (mut stream, _) = listener.accept().await.unwrap();
    assert!(stream.read(&mut [0; 10_000]).await.unwrap() > 0);

    fetch.abort();

    assert_eq!(stream.read(&mut [0; 10_000]).await.unwrap(), 0);
}
