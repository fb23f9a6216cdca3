//! What all pages have in common: headers, assets, parts, errors, and where forms may come from.

use values::plan::Plan;

use crate::support::{Client, Server};

/// Returns the addresses of assets that a page names.
fn asset_links(html: &str) -> Vec<&str> {
    let links = html.split("\"/assets/").skip(1);
    links.map(|rest| rest.split(['"', '#']).next().unwrap()).collect()
}

fn own_browser(client: Client) -> Client {
    let origin = client.base_url().to_owned();
    client.with("origin", &origin).with("sec-fetch-site", "same-origin")
}

#[actix_web::test]
async fn pages_have_a_policy_without_inline_script_or_style() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    for page in [session.get("/").await, server.anonymous().get("/sign-in").await] {
        let policy = page.header("content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self';",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types carrel",
        ] {
            assert!(policy.contains(rule), "{rule}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-write=(self)"),
        ] {
            assert_eq!(page.header(name), value, "{name}");
        }
        for inline in
            [" style=", "<style", "<script>", " onclick=", "javascript:", "href=\"http", "src=\"http"]
        {
            assert!(!page.text.contains(inline), "{inline}: {}", page.text);
        }
    }
}

#[actix_web::test]
async fn pages_of_an_account_are_kept_by_its_browser_alone() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let home = session.get("/").await;
    let sign_in = server.anonymous().get("/sign-in").await;

    assert_eq!(home.header("cache-control"), "private, no-cache");
    assert!(home.header("vary").contains("Cookie") && home.header("vary").contains("Carrel-Part"));
    assert_eq!(sign_in.header("cache-control"), "private, no-store");
}

#[actix_web::test]
async fn numbers_of_the_navigation_are_sent_alone() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let counts = session.get("/counts").await;

    assert_eq!(counts.status, 200);
    for element in
        ["id=\"count-feeds\" hidden", "id=\"count-uploads\" hidden", "id=\"bell\"", "id=\"bell-top\""]
    {
        assert!(counts.text.contains(element), "{element}: {}", counts.text);
    }
    assert!(!counts.text.contains("<html"), "{}", counts.text);
}

#[actix_web::test]
async fn assets_are_immutable_and_compressed() {
    let server = Server::start().await;
    let page = server.anonymous().get("/setup").await;
    let links = asset_links(&page.text);
    assert!(
        links.iter().any(|link| link.ends_with(".css")) && links.iter().any(|link| link.ends_with(".js"))
    );

    for link in links {
        let path = format!("/assets/{link}");
        let plain = server.anonymous().without_decoding().get(&path).await;
        assert_eq!(plain.status, 200, "{path}");
        assert_eq!(plain.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
        assert_eq!(plain.header("cross-origin-resource-policy"), "same-origin", "{path}");
        let (_, headers, body) =
            server.anonymous().without_decoding().with("accept-encoding", "br").download(&path).await;
        if plain.text.len() > 1024 && !path.ends_with(".png") {
            assert_eq!(headers["content-encoding"], "br", "{path}");
            assert!(body.len() < plain.text.len(), "{path}");
        }
    }
}

#[actix_web::test]
async fn asset_of_another_version_is_not_found_and_not_kept() {
    let server = Server::start().await;

    for path in ["/assets/base.000000000000.css", "/assets/base.css", "/assets/..%2fbase.css"] {
        let missing = server.anonymous().get(path).await;
        assert_eq!((missing.status, missing.header("cache-control")), (404, "no-store"), "{path}");
    }
}

#[actix_web::test]
async fn form_of_another_site_changes_nothing() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    for foreign in [
        session.clone().with("origin", "https://evil.example"),
        session.clone().with("origin", "null"),
        session.clone().with("sec-fetch-site", "cross-site"),
        session.clone().with("sec-fetch-site", "same-site"),
    ] {
        let refused = foreign.post_form("/sign-out", &[]).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("was not sent from a page of this Carrel"), "{}", refused.text);
    }

    assert_eq!(session.get("/").await.status, 200);
    assert_eq!(own_browser(session).post_form("/sign-out", &[]).await.status, 303);
}

#[actix_web::test]
async fn unknown_page_is_a_page_for_browsers_alone() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let page = session.clone().with("accept", "text/html").get("/no/such/page").await;
    let program = session.get("/no/such/page").await;

    assert_eq!(page.status, 404);
    assert!(page.text.contains("Page not found") && page.text.contains("<h1>"), "{}", page.text);
    assert!(page.text.contains("There is no such page") && !page.text.contains("/library/trash"));
    assert!(page.headers.contains_key("content-security-policy"));
    assert_eq!((program.status, program.text.as_str()), (404, ""));
}

#[actix_web::test]
async fn unsupported_method_names_those_of_the_page() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let refused = session.delete("/").await;

    assert_eq!((refused.status, refused.header("allow")), (405, "GET, HEAD"));
}

#[actix_web::test]
async fn script_without_a_session_learns_where_to_sign_in() {
    let server = Server::start().await;

    let refused = server.anonymous().get_part("/?a=b", "list").await;

    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("carrel-location"), "/sign-in?next=%2F%3Fa%3Db");
}

#[actix_web::test]
async fn page_without_the_part_is_sent_whole() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;

    let whole = session.get_part("/", "no-such-part").await;

    assert!(whole.status == 200 && whole.text.contains("<main"), "{}", whole.text);
    assert_eq!(whole.header("carrel-location"), "/");
}

#[actix_web::test]
async fn navigation_is_loaded_for_parts_that_show_it() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let search = [("name", "To read"), ("query", "is:unread"), ("pinned", "1")];
    assert_eq!(session.post_form("/saved-searches/new", &search).await.status, 303);

    let shown = session.get_part("/", "main").await;
    let other = session.get_part("/", "no-such-part").await;

    assert!(shown.text.contains("To read"), "{}", shown.text);
    assert!(!other.text.contains("To read"), "{}", other.text);
}

#[actix_web::test]
async fn unchanged_answer_to_a_polling_script_is_304() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let first = session.clone().with("if-none-match", "\"-\"").get_part("/", "main").await;
    let tag = first.header("etag").to_owned();

    let second = session.with("if-none-match", &tag).get_part("/", "main").await;

    assert_eq!((first.status, second.status), (200, 304));
    assert_eq!(second.text, "");
}
