//! Which strings are accepted as URLs of pages.

use super::*;

fn rejected(text: &str) -> UrlRejection {
    PageUrl::parse(text).expect_err(text)
}

#[test]
fn url_is_parsed_as_in_a_browser() {
    for (text, parsed) in [
        ("https://example.com", "https://example.com/"),
        ("  HTTP://EXAMPLE.com:80/a/../b?x=1#part ", "http://example.com/b?x=1#part"),
        ("https://bücher.example/ß", "https://xn--bcher-kva.example/%C3%9F"),
        ("http://127.1.1.1:81\\@127.2.2.2:80/", "http://127.1.1.1:81/@127.2.2.2:80/"),
        ("http:example.com", "http://example.com/"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ] {
        assert_eq!(PageUrl::parse(text).unwrap().as_str(), parsed, "{text}");
    }
}

/// Covers the threat table (row S11).
#[test]
fn other_schemes_and_relative_urls_are_rejected() {
    for text in [
        "",
        "banana",
        "/path",
        "//example.com/",
        "example.com",
        "example.com:80/",
        "file:///etc/passwd",
        "ftp://127.0.0.1:20009/",
        "gopher://127.0.0.1:20009/",
        "javascript:alert(1)",
        "data:text/html,hello",
        "blob:http://127.0.0.1:20009/x",
        "ws://127.0.0.1:20009/",
        "about:blank",
        "mailto:a@example.com",
        "view-source:http://example.com/",
        "jar:http://a/!b",
        "dict://127.0.0.1:11211/stat",
    ] {
        assert_eq!(rejected(text), UrlRejection::NotHttp, "{text}");
    }
}

/// Covers the threat table (row S12).
#[test]
fn credentials_are_rejected() {
    for text in [
        "http://user@127.0.0.1:20009/",
        "http://user:pw@127.0.0.1:20009/",
        "http://:pw@127.0.0.1:20009/",
        "http://good.test@127.0.0.1/",
        "https://a%40b@example.com/",
    ] {
        assert_eq!(rejected(text), UrlRejection::Credentials, "{text}");
    }
}

/// Covers the threat table (row S14).
#[test]
fn malformed_urls_and_control_characters_are_rejected() {
    for text in [
        "http://",
        "https://exa mple.com/",
        "http://example.com:99999/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://exam\tple.com/",
        "http://example.com/\r\nHost: evil",
        "\u{7f}http://example.com/",
        "http://example.com/\u{85}",
        "http://example.com/\n",
        "http://1.2.3.4.5/",
        "http://256.0.0.1/",
        "http://exa%00mple.com/",
    ] {
        assert_eq!(rejected(text), UrlRejection::Malformed, "{text:?}");
    }
}

#[test]
fn url_over_8192_characters_is_rejected() {
    let start = "https://example.com/";
    let longest = format!("{start}{}", "é".repeat(MAX_URL_CHARS - start.len()));

    assert!(PageUrl::parse(&longest).is_ok());
    assert_eq!(rejected(&(longest + "x")), UrlRejection::TooLong);
}

#[test]
fn link_is_resolved_and_checked_like_a_url() {
    let page = PageUrl::parse("https://example.com/a/b?q=1#x").unwrap();

    assert_eq!(page.join("../c").unwrap().as_str(), "https://example.com/c");
    assert_eq!(page.join("//other.example/").unwrap().as_str(), "https://other.example/");
    assert_eq!(page.join(""), PageUrl::parse("https://example.com/a/b?q=1"));
    assert_eq!(page.join("file:///etc/passwd"), Err(UrlRejection::NotHttp));
    assert_eq!(page.join("//user@other.example/"), Err(UrlRejection::Credentials));
    assert_eq!(page.join("/a\tb"), Err(UrlRejection::Malformed));
    assert_eq!(page.join("http://[::1/"), Err(UrlRejection::Malformed));
}

#[test]
fn debug_output_shows_the_host_only() {
    let page = PageUrl::parse("https://example.com/secret?token=secret#secret").unwrap();

    assert_eq!(format!("{page:?}"), "PageUrl(https://example.com/..)");
}
