//! The pages of feeds: three panes, forms of entries, following by address, OPML.

use values::plan::Plan;

use super::feed_fixture::{Reader, rss};
use crate::support::{Reply, Response, Server, Site, eventually};

async fn follow_redirect(reader: &Reader, answer: &Response) -> Response {
    assert_eq!(answer.status, 303, "{}", answer.text);
    reader.app.get(answer.header("location")).await
}

/// The id of the entry with this title.
async fn entry_id(reader: &Reader, title: &str) -> String {
    let list = reader.stream("show=all").await;
    let entries = list["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["title"] == title).unwrap();
    entry["entryId"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn page_lists_unread_entries_beside_the_tree() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["High water", "Low water"], Some("Sea & shore")).await;

    let page = reader.app.get("/feeds").await;
    let folder = reader.app.get("/feeds?folder=Sea+%26+shore&show=all").await;
    let one = reader.app.get(&format!("/feeds?feed={}", feed["feedId"].as_str().unwrap())).await;

    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.text.matches("class=\"entry is-new\"").count(), 2);
    assert!(page.text.contains("Sea &amp; shore") || page.text.contains("Sea &#38; shore"));
    assert!(page.text.contains("Choose an entry"));
    assert_eq!((folder.status, one.status), (200, 200));
    assert_eq!(folder.text.matches("class=\"entry is-new\"").count(), 2);
    assert!(!page.text.contains(" style="));
    assert_eq!(page.text.matches("<h1").count(), 1);
}

#[actix_web::test]
async fn opened_entry_is_shown_sanitised_and_marked_as_read() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let text = "<![CDATA[<p onclick=\"x()\">The tide <em>turned</em>.</p><script>alert(1)</script>]]>";
    let body = format!(
        "<rss version=\"2.0\"><channel><title>Feed</title><item><title>Mud</title><link>/mud</link><guid>mud</guid>\
         <description>{text}</description></item></channel></rss>"
    );
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let url = site.page("/tides", [Reply::Plain { status: 200, headers, body }]);
    reader.app.post("/app/api/library/feeds", serde_json::json!({ "url": url })).await.data(201);
    let id = entry_id(&reader, "Mud").await;

    let page = eventually("the text is shown", async || {
        let page = reader.app.get(&format!("/feeds?entry={id}")).await;
        page.text.contains("turned").then_some(page)
    })
    .await;

    assert!(!page.text.contains("alert(1)") && !page.text.contains("onclick"));
    assert!(page.text.contains("class=\"prose\""));
    assert_eq!(reader.stream("").await["entries"].as_array().unwrap().len(), 0);
    let part = reader.app.get_part(&format!("/feeds?entry={id}"), "part-reading").await;
    assert!(part.text.trim_start().starts_with("<section") && !part.text.contains("<html"));
    let stranger = Reader::new(&server).await;
    assert_eq!(stranger.app.get(&format!("/feeds?entry={id}")).await.status, 404);
}

#[actix_web::test]
async fn link_of_another_site_leaves_an_entry_unread() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["High water"], None).await;
    let path = format!("/feeds?entry={}", entry_id(&reader, "High water").await);
    let unread = async || reader.stream("").await["entries"].as_array().unwrap().len();

    for origin in ["cross-site", "same-site"] {
        let page = reader.app.clone().with("sec-fetch-site", origin).get(&path).await;
        assert_eq!((page.status, unread().await), (200, 1), "{origin}");
    }
    reader.app.clone().with("sec-fetch-site", "none").get(&path).await;

    assert_eq!(unread().await, 0);
}

#[actix_web::test]
async fn entry_is_starred_kept_unread_and_saved_by_forms() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["High water"], None).await;
    let id = entry_id(&reader, "High water").await;
    let (mark, back) = (format!("/feeds/entries/{id}/mark"), format!("/feeds?entry={id}#entry"));

    reader.app.post_form(&mark, &[("mark", "star"), ("back", &back)]).await;
    let starred = reader.app.get("/feeds?show=starred").await;
    reader.app.get(&back).await;
    let unread = reader.app.post_form(&mark, &[("mark", "unread"), ("back", &back)]).await;
    follow_redirect(&reader, &unread).await;
    let saved = reader.app.post_form(&format!("/feeds/entries/{id}/save"), &[("back", &back)]).await;

    assert!(starred.text.contains("High water"));
    assert_eq!(unread.header("location"), format!("/feeds?entry={id}&keep=unread#entry"));
    assert_eq!(reader.stream("").await["entries"].as_array().unwrap().len(), 1);
    assert!(follow_redirect(&reader, &saved).await.text.contains("saved"));
    let bookmarks = reader.app.get("/app/api/library/bookmarks").await.data(200)["bookmarks"].clone();
    assert_eq!(bookmarks.as_array().unwrap().len(), 1);
    assert_eq!(reader.app.post_form(&mark, &[("mark", "burn")]).await.status, 400);
}

#[actix_web::test]
async fn mark_above_says_how_many_and_is_undone() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    reader.follow(&site, "/tides", &["T1", "T2", "T3"], None).await;
    let second = entry_id(&reader, "T2").await;

    let marked = reader.app.post_form("/feeds/mark", &[("up_to", &second)]).await;
    let page = follow_redirect(&reader, &marked).await;
    let mark = page.text.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let undone = reader.app.post_form("/feeds/mark/undo", &[("mark", mark)]).await;

    assert!(page.text.contains("2 entries are marked as read."), "{}", page.text);
    assert!(page.text.contains("action=\"/feeds/mark/undo\""));
    assert!(follow_redirect(&reader, &undone).await.text.contains("2 entries are unread again."));
    assert_eq!(reader.stream("").await["entries"].as_array().unwrap().len(), 3);
}

#[actix_web::test]
async fn feed_is_found_and_followed_by_the_address_of_a_page() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = site.page("/feed", [rss("The Reeds", &["T1"])]);
    let html = "<html><head><link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed\" title=\"The Reeds\"></head><body>Reeds.</body></html>";
    let url = site.page("/", [Reply::Html(html.to_owned())]);
    let query: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();

    let found = reader.app.get(&format!("/feeds/add?url={query}")).await;
    let followed = reader.app.post_form("/feeds/add", &[("url", &feed), ("folder", "Reeds")]).await;
    let page = follow_redirect(&reader, &followed).await;

    assert!(found.text.contains("The Reeds") && found.text.contains(&feed), "{}", found.text);
    assert!(page.text.contains("T1"));
    // A site of its own: feeds are looked for at usual addresses of a site too.
    let other = Site::start().await;
    let nothing = other.page("/plain", [Reply::Html("<p>No feed.</p>".to_owned())]);
    let query: String = url::form_urlencoded::byte_serialize(nothing.as_bytes()).collect();
    let none = reader.app.get(&format!("/feeds/add?url={query}")).await;
    assert!(none.status == 200 || none.status == 422, "{}", none.text);
    assert!(none.text.contains("role=\"alert\"") || none.text.contains("names no feed"));
}

#[actix_web::test]
async fn link_of_another_site_fetches_no_feed() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = site.page("/feed", [rss("The Reeds", &["T1"])]);
    let path = format!("/feeds/add?url={feed}");
    let get = async |origin: &str| reader.app.clone().with("sec-fetch-site", origin).get(&path).await;

    for origin in ["cross-site", "same-site"] {
        let page = get(origin).await;
        assert_eq!((page.status, site.was_requested("/feed")), (200, false), "{origin}");
        assert!(page.text.contains(&format!("value=\"{feed}\"")), "{origin}: {}", page.text);
    }
    get("same-origin").await;

    assert!(site.was_requested("/feed"));
}

#[actix_web::test]
async fn refused_address_of_a_feed_has_a_german_sentence() {
    let (server, site) = (Server::start().await, Site::start().await);
    let german = Reader::new(&server).await.app.with("accept-language", "de");
    let missing = site.page("/none", [Reply::Status(404)]);

    for (url, sentence) in [
        (missing.as_str(), "Fehler 404"),
        ("ftp://a.example/feed", "keine Webadresse"),
        ("http://10.0.0.1/feed", "privates Netz"),
    ] {
        let query: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
        let refused = german.get(&format!("/feeds/add?url={query}")).await;
        assert_eq!(refused.status, 422, "{url}: {}", refused.text);
        assert!(refused.text.contains(sentence), "{url}: {}", refused.text);
    }
}

#[actix_web::test]
async fn manage_changes_unfollows_and_mutes() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["The Cup", "Low water"], Some("Sea")).await;
    let path = format!("/feeds/manage/{}", feed["feedId"].as_str().unwrap());

    reader.app.post_form(&path, &[("title", "My tides"), ("folder", "Shore")]).await;
    let changed = reader.app.get("/feeds/manage").await;
    let muted = reader.app.post_form("/feeds/manage/mutes", &[("words", "cup")]).await;
    let muted = follow_redirect(&reader, &muted).await;
    let wrong = reader.app.post_form("/feeds/manage/mutes", &[("words", "-!")]).await;
    let unfollowed = reader.app.post_form(&format!("{path}/unfollow"), &[]).await;
    let without = follow_redirect(&reader, &unfollowed).await;

    assert!(changed.text.contains("My tides") && changed.text.contains("Shore"), "{}", changed.text);
    assert!(muted.text.contains("One unread entry is marked as read."), "{}", muted.text);
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("aria-invalid=\"true\""));
    assert!(without.text.contains("You no longer follow My tides."), "{}", without.text);
    assert!(without.text.contains("You follow no feed"));
}

#[actix_web::test]
async fn feed_is_followed_again_as_it_was() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["The Cup"], Some("Sea")).await;
    let path = format!("/feeds/manage/{}", feed["feedId"].as_str().unwrap());
    reader.app.post_form(&path, &[("title", "My tides"), ("folder", "Sea")]).await;
    let unfollowed = reader.app.post_form(&format!("{path}/unfollow"), &[]).await;
    let page = follow_redirect(&reader, &unfollowed).await.text;
    let form = page.split("action=\"/feeds/add\"").nth(1).unwrap().split("</form>").next().unwrap();
    let fields: Vec<(&str, &str)> = form
        .split("name=\"")
        .skip(1)
        .map(|field| field.split_once("\" value=\"").unwrap())
        .map(|(name, rest)| (name, rest.split('"').next().unwrap()))
        .collect();

    reader.app.post_form("/feeds/add", &fields).await;

    let again = reader.app.get("/app/api/library/feeds").await.data(200)["feeds"][0].clone();
    assert_eq!(again["title"], "My tides");
    assert_eq!(again["folder"], "Sea");
    assert_eq!(again["fullText"], false);
}

#[actix_web::test]
async fn failing_feed_is_named_with_its_next_try() {
    let (server, site) = (Server::start().await, Site::start().await);
    let reader = Reader::new(&server).await;
    let feed = reader.follow(&site, "/tides", &["T1"], None).await;
    site.page("/tides", [Reply::Status(503)]);
    reader.refresh(&feed).await;

    let page = eventually("the page names the failure", async || {
        let page = reader.app.get("/feeds/manage").await;
        page.text.contains("state is-error").then_some(page)
    })
    .await;

    assert!(page.text.contains("Failing since") && page.text.contains("Next try:"), "{}", page.text);
    let tree = reader.app.get("/feeds?show=all").await;
    assert!(tree.text.contains("is-failing"));
}

#[actix_web::test]
async fn opml_that_was_exported_is_imported_by_another_user() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (reader, other) = (Reader::new(&server).await, Reader::new(&server).await);
    reader.follow(&site, "/tides", &["T1"], Some("Sea")).await;

    let file = reader.app.get("/feeds/opml/file").await;
    let imported = other.app.post_file("/feeds/opml", file.text.as_bytes(), &[]).await;
    let again = other.app.get("/feeds/opml/file").await;
    let empty = other.app.post_file("/feeds/opml", b"no opml", &[]).await;

    assert!(file.header("content-disposition").contains(".opml"));
    assert_eq!(imported.status, 303, "{}", imported.text);
    assert_eq!(again.text, file.text);
    assert_eq!(empty.status, 422);
    assert!(empty.text.contains("aria-invalid=\"true\""));
}

#[actix_web::test]
async fn empty_page_of_a_free_plan_says_how_to_begin() {
    let server = Server::start().await;
    let app = server.user(Plan::Free).await.sign_in().await;

    let page = app.get("/feeds").await;

    assert!(page.text.contains("You follow no feed") && page.text.contains("/feeds/add"), "{}", page.text);
}
