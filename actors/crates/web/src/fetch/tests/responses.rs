//! Well-behaved servers: pages, redirects, validators and statuses.

use super::test_server::{TestServer, ok, path, redirect, whole};
use super::*;

#[tokio::test]
async fn page_is_returned_with_its_metadata() {
    let web = TestServer::start(|_| {
        let headers = [
            ("Content-Type", "Text/HTML; charset=windows-1251"),
            ("ETag", "\"a\""),
            ("Link", "</h>; rel=hub"),
        ];
        whole(200, &headers, b"\xCC\xE8\xF0")
    })
    .await;
    let fetched = get(&fetcher(), &web.url("/page?q=1")).await.unwrap();

    assert_eq!((fetched.status, fetched.redirected_permanently), (200, false));
    assert_eq!((fetched.url.clone(), fetched.media_type()), (web.url("/page?q=1"), Some("text/html")));
    assert_eq!((fetched.headers.etag.as_deref(), fetched.headers.link.len()), (Some("\"a\""), 1));
    assert_eq!((fetched.body.as_slice(), fetched.text().as_str()), (b"\xCC\xE8\xF0".as_slice(), "Мир"));
}

/// Covers the threat table (row S21).
#[tokio::test]
async fn request_has_no_headers_that_identify_a_user() {
    let web = TestServer::start(|head| match path(head) {
        "/old" => redirect(302, "/new"),
        _ => ok("text/html", "new"),
    })
    .await;
    get(&fetcher(), &web.url("/old#part")).await.unwrap();

    for head in web.heads() {
        let mut names: Vec<_> =
            head.lines().skip(1).filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
        assert!(head.contains("user-agent: Carrel/") && !head.contains("part"));
        assert!(head.contains("accept-encoding: zstd,gzip,deflate\r\n"));
    }
}

#[tokio::test]
async fn redirects_are_followed_to_the_final_url() {
    let web = TestServer::start(|head| match path(head) {
        "/moved" => redirect(301, "/also-moved"),
        "/also-moved" => redirect(308, "page"),
        "/mixed" => redirect(301, "/found"),
        "/found" => redirect(307, "/page"),
        _ => ok("text/html", "the page"),
    })
    .await;
    let moved = get(&fetcher(), &web.url("/moved")).await.unwrap();
    let mixed = get(&fetcher(), &web.url("/mixed")).await.unwrap();

    assert_eq!((moved.url, moved.redirected_permanently), (web.url("/page"), true));
    assert_eq!((mixed.url, mixed.redirected_permanently), (web.url("/page"), false));
}

/// Covers the threat table (row S10).
#[tokio::test]
async fn at_most_ten_redirects_are_followed() {
    let web = TestServer::start(|head| match path(head).trim_start_matches('/').parse::<u32>() {
        Ok(0) | Err(_) => ok("text/html", "the end"),
        Ok(left) => redirect(302, &format!("/{}", left - 1)),
    })
    .await;

    assert_eq!(get(&fetcher(), &web.url("/10")).await.unwrap().text(), "the end");
    assert!(matches!(get_error(&fetcher(), &web.url("/11")).await, FetchError::TooManyRedirects));
}

/// Covers the threat table (row S10).
#[tokio::test]
async fn redirect_loop_is_an_error() {
    let web = TestServer::start(|head| redirect(302, if path(head) == "/a" { "/b" } else { "/a" })).await;
    let error = get_error(&fetcher(), &web.url("/a")).await;

    assert!(matches!(error, FetchError::TooManyRedirects) && error.is_permanent());
    assert_eq!(web.heads().len(), MAX_REDIRECTS + 1);
}

#[tokio::test]
async fn validators_yield_304_for_an_unchanged_page() {
    let web = TestServer::start(|head| {
        let known = head.contains("if-none-match: \"a\"")
            && head.contains("if-modified-since: Fri, 02 Jan 2026 03:04:05 GMT");
        if known { whole(304, &[("ETag", "\"a\"")], b"") } else { ok("application/atom+xml", "<feed/>") }
    })
    .await;
    let conditional = FetchRequest {
        if_none_match: Some("\"a\"".to_owned()),
        if_modified_since: Some("Fri, 02 Jan 2026 03:04:05 GMT".to_owned()),
        ..FetchRequest::feed()
    };
    let invalid = FetchRequest { if_none_match: Some("\"a\"\r\nX: y".to_owned()), ..FetchRequest::feed() };

    let unchanged = fetcher().get(&web.url("/feed"), conditional).await.unwrap();
    let whole = fetcher().get(&web.url("/feed"), invalid).await.unwrap();

    assert!(unchanged.is_unchanged() && unchanged.body.is_empty() && unchanged.headers.etag.is_some());
    assert_eq!((whole.status, whole.text().as_str()), (200, "<feed/>"));
}

#[tokio::test]
async fn error_status_is_an_error_with_its_retry_after() {
    let web = TestServer::start(|head| {
        let status = path(head).trim_start_matches('/').parse().unwrap();
        whole(status, &[("Retry-After", "120")], b"busy")
    })
    .await;

    for (status, permanent, wait) in [
        (404, true, None),
        (429, false, Some(120)),
        (500, false, None),
        (503, false, Some(120)),
        (304, true, None),
    ] {
        let error = get_error(&fetcher(), &web.url(&format!("/{status}"))).await;
        assert_eq!(error.to_string(), format!("the server answered with status {status}"));
        assert_eq!((error.is_permanent(), error.retry_after()), (permanent, wait.map(Duration::from_secs)));
    }
    assert_eq!(get(&fetcher(), &web.url("/203")).await.unwrap().status, 203);
}

#[tokio::test]
async fn redirect_without_a_location_is_a_status_error() {
    let web = TestServer::start(|_| whole(302, &[], b"")).await;

    assert_eq!(get_error(&fetcher(), &web.url("/")).await.to_string(), "the server answered with status 302");
}
