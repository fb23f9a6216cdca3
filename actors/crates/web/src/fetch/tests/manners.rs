//! Pages and their servers as they should be.

use super::site::{Site, ok, path, redirect, whole};
use super::*;

#[tokio::test]
async fn a_page_comes_whole_with_what_its_server_says_of_it() {
    let web = Site::start(|_| {
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

/// Of the threat table (row S21).
#[tokio::test]
async fn a_fetch_says_who_it_is_and_nothing_else() {
    let web = Site::start(|head| match path(head) {
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
async fn redirects_are_followed_to_the_address_that_answers() {
    let web = Site::start(|head| match path(head) {
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

/// Of the threat table (row S10).
#[tokio::test]
async fn a_chain_of_ten_redirects_is_followed_and_one_of_eleven_is_not() {
    let web = Site::start(|head| match path(head).trim_start_matches('/').parse::<u32>() {
        Ok(0) | Err(_) => ok("text/html", "the end"),
        Ok(left) => redirect(302, &format!("/{}", left - 1)),
    })
    .await;

    assert_eq!(get(&fetcher(), &web.url("/10")).await.unwrap().text(), "the end");
    assert!(matches!(fails(&fetcher(), &web.url("/11")).await, FetchError::TooManyRedirects));
}

/// Of the threat table (row S10).
#[tokio::test]
async fn a_redirect_loop_ends() {
    let web = Site::start(|head| redirect(302, if path(head) == "/a" { "/b" } else { "/a" })).await;
    let error = fails(&fetcher(), &web.url("/a")).await;

    assert!(matches!(error, FetchError::TooManyRedirects) && error.permanent());
    assert_eq!(web.heads().len(), MAX_REDIRECTS + 1);
}

#[tokio::test]
async fn validators_are_sent_and_what_has_not_changed_is_not_sent_again() {
    let web = Site::start(|head| {
        let known = head.contains("if-none-match: \"a\"")
            && head.contains("if-modified-since: Fri, 02 Jan 2026 03:04:05 GMT");
        if known { whole(304, &[("ETag", "\"a\"")], b"") } else { ok("application/atom+xml", "<feed/>") }
    })
    .await;
    let wanted = Wanted {
        if_none_match: Some("\"a\"".to_owned()),
        if_modified_since: Some("Fri, 02 Jan 2026 03:04:05 GMT".to_owned()),
        ..Wanted::feed()
    };
    let broken = Wanted { if_none_match: Some("\"a\"\r\nX: y".to_owned()), ..Wanted::feed() };

    let unchanged = fetcher().get(&web.url("/feed"), wanted).await.unwrap();
    let whole = fetcher().get(&web.url("/feed"), broken).await.unwrap();

    assert!(unchanged.is_unchanged() && unchanged.body.is_empty() && unchanged.headers.etag.is_some());
    assert_eq!((whole.status, whole.text().as_str()), (200, "<feed/>"));
}

#[tokio::test]
async fn a_status_that_is_no_page_is_an_error_with_the_wait_it_asks_for() {
    let web = Site::start(|head| {
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
        let error = fails(&fetcher(), &web.url(&format!("/{status}"))).await;
        assert_eq!(error.to_string(), format!("answered with status {status}"));
        assert_eq!((error.permanent(), error.retry_after()), (permanent, wait.map(Duration::from_secs)));
    }
    assert_eq!(get(&fetcher(), &web.url("/203")).await.unwrap().status, 203);
}

#[tokio::test]
async fn a_redirect_without_a_place_is_a_status() {
    let web = Site::start(|_| whole(302, &[], b"")).await;

    assert_eq!(fails(&fetcher(), &web.url("/")).await.to_string(), "answered with status 302");
}
