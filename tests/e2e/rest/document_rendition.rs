//! The HTML and the outline of documents: safe, and with offsets into the text.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::export::exports::pdf_with_text;
use crate::support::{Key, Reply, Server, Site, article, eventually};

const PAGE: &str = "<html><head><title>Patience of birds</title></head><body><nav><a href=/>navnoise</a></nav><main><article>\
    <h1>Patience of birds</h1><p>The heron stands <em>still</em> in the <a href=/water onclick=steal()>water</a> for an hour, waiting for a fish.</p>\
    <script>steal()</script><figure><img src=heron.jpg alt='A heron' onerror=steal()></figure>\
    <h2>Its prey</h2><ul><li>Fish of every size that comes near</li><li>Frogs, when there are no fish at all</li></ul>\
    <p>Then it strikes, <a href='javascript:steal()'>faster</a> than the eye can see, and the water is as still as before.</p>\
    </article></main></body></html>";

async fn read_rendition(key: &Key, saved: &Value) -> (String, Value, String) {
    let document = saved["documentId"].as_str().unwrap();
    let html = key.get(&format!("/rest/v1/documents/{document}/html")).await.data(200)["html"].clone();
    let outline =
        key.get(&format!("/rest/v1/documents/{document}/outline")).await.data(200)["outline"].clone();
    let text = key.get(&format!("/rest/v2/documents/{document}")).await.data(200)["text"].clone();
    (html.as_str().unwrap_or_default().to_owned(), outline, text.as_str().unwrap().to_owned())
}

/// Covers the threat table (row X1).
#[actix_web::test]
async fn html_has_no_active_content_and_states_text_offsets() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save(json!({ "url": "https://site.example/birds/heron", "html": PAGE })).await;
    key.wait_for(&saved, "ready").await;

    let (html, outline, text) = read_rendition(&key, &saved).await;

    for part in [
        "stands <em>still</em> in the <a href=\"https://site.example/water\" rel=\"nofollow noopener noreferrer\">water</a> for",
        "<figure><img src=\"https://site.example/birds/heron.jpg\" alt=\"A heron\"",
        "<ul><li><span data-start=",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    for removed in ["steal", "navnoise", "<script", "onclick", "javascript:"] {
        assert!(!html.contains(removed), "{removed}: {html}");
    }
    let at = |words: &str| text.split(words).next().unwrap().chars().count();
    assert_eq!(outline, json!([{ "title": "Its prey", "level": 2, "offset": at("Its prey"), "page": null }]));
    assert!(html.contains(&format!("<span data-start=\"{}\">Frogs", at("Frogs"))), "{html}");
}

#[actix_web::test]
async fn html_follows_the_current_text_and_is_private() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site
        .page("/page", [article("Herons", "herons in the reeds"), article("Storks", "storks on the roofs")]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;
    let (before, _, _) = read_rendition(&key, &saved).await;
    assert!(before.contains("herons in the reeds"), "{before}");

    key.post(&format!("/rest/v1/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap()), json!({}))
        .await
        .data(202);

    eventually("the new page is shown", async || {
        let (html, _, _) = read_rendition(&key, &saved).await;
        (html.contains("storks on the roofs") && !html.contains("herons")).then_some(())
    })
    .await;
    let other_user = server.user(Plan::Pro).await.full_key().await;
    for part in ["html", "outline"] {
        let path = format!("/rest/v1/documents/{}/{part}", saved["documentId"].as_str().unwrap());
        assert_eq!(other_user.get(&path).await.status, 404);
    }
}

#[actix_web::test]
async fn feed_entry_html_keeps_its_markup() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let feed = "<rss version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><channel><title>Birds</title><item><title>Heron</title>\
        <link>https://site.example/heron/</link><guid>1</guid><content:encoded><![CDATA[<h2>Seen</h2><p>It <b>waits</b>.<script>steal()</script></p><img src=a.jpg>]]></content:encoded></item></channel></rss>";
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let url = site.page("/feed", [Reply::Plain { status: 200, headers, body: feed.to_owned() }]);
    key.post("/rest/v1/feeds", json!({ "url": url })).await.data(201);

    let (html, outline, text) = eventually("the entry is listed", async || {
        let entries = key.get("/rest/v1/entries").await.data(200)["entries"].clone();
        let entry = entries.get(0)?.clone();
        let (html, outline, text) = read_rendition(&key, &entry).await;
        (!html.is_empty()).then_some((html, outline, text))
    })
    .await;

    assert_eq!(text, "Seen\n\nIt waits.");
    assert_eq!(outline, json!([{ "title": "Seen", "level": 2, "offset": 0, "page": null }]));
    assert_eq!(
        html,
        "<h2 data-start=\"0\">Seen</h2><p data-start=\"6\">It <b>waits</b>.</p>\
         <figure><img src=\"https://site.example/heron/a.jpg\" alt=\"\" loading=\"lazy\" referrerpolicy=\"no-referrer\"></figure>"
    );
}

#[actix_web::test]
async fn plain_text_has_no_html() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://site.example/plain", "Plain words.").await;
    key.wait_for(&saved, "ready").await;
    let document = saved["documentId"].as_str().unwrap();

    assert_eq!(key.get(&format!("/rest/v1/documents/{document}/html")).await.data(200)["html"], Value::Null);
    assert_eq!(
        key.get(&format!("/rest/v1/documents/{document}/outline")).await.data(200)["outline"],
        json!([])
    );
}

#[actix_web::test]
async fn title_falls_back_to_page_title_or_filename() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let pictures = "<html><head><title>Herons in pictures</title></head><body><img src=a.jpg></body></html>";
    let page = key.save(json!({ "url": site.page("/pictures", [Reply::Html(pictures.to_owned())]) })).await;
    let paper = Reply::File("application/pdf", pdf_with_text("A paper about herons"));
    let file = key.save(json!({ "url": site.page("/files/On%20herons.pdf", [paper]) })).await;

    let (page, file) = (key.wait_for(&page, "failed").await, key.wait_for(&file, "ready").await);

    assert_eq!(
        (&page["title"], &page["error"]),
        (&json!("Herons in pictures"), &json!("the page has no text"))
    );
    assert_eq!((&file["title"], &file["contentType"]), (&json!("On herons.pdf"), &json!("pdf")));
}

#[actix_web::test]
async fn meta_refresh_is_followed_to_its_target() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let site = Site::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    site.page("/new", [article("Herons", "herons in the reeds")]);
    let sends = |to: &str| {
        Reply::Html(format!(
            "<html><head><meta http-equiv=refresh content='0; url={to}'><title>Moved</title></head><body>Moved.</body></html>"
        ))
    };
    let moved = key.save(json!({ "url": site.page("/old", [sends("/new")]) })).await;
    let circle = key.save(json!({ "url": site.page("/here", [sends("/there")]) })).await;
    site.page("/there", [sends("/here")]);
    let inside = key.save(json!({ "url": site.page("/inside", [sends("http://10.0.0.1/secret")]) })).await;

    let (moved, circle, inside) = (
        key.wait_for(&moved, "ready").await,
        key.wait_for(&circle, "failed").await,
        key.wait_for(&inside, "failed").await,
    );

    assert_eq!(moved["title"], "Herons");
    assert_eq!(circle["error"], "the page redirects too often");
    assert!(inside["error"].as_str().unwrap().starts_with("URL_REJECTED"), "{inside}");
}

#[actix_web::test]
async fn unreadable_given_html_is_replaced_by_the_fetched_page() {
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let url = site.page("/herons", [article("Herons", "herons in the reeds")]);
    let saved = key.save(json!({ "url": url, "html": "<p></p>" })).await;
    key.wait_for(&saved, "failed").await;

    key.post(&format!("/rest/v1/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap()), json!({}))
        .await
        .data(202);

    assert_eq!(key.wait_for(&saved, "ready").await["title"], "Herons");
}

#[actix_web::test]
async fn unread_given_text_is_processed_on_restore() {
    use sea_orm::EntityTrait;
    let (server, site) = (Server::start().await, Site::start().await);
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save(json!({ "url": site.page("/herons", [Reply::Status(404)]) })).await;
    key.wait_for(&saved, "failed").await;
    // As if the bookmark had been deleted before the given text was processed.
    let (db, id) = (server.context().core.db.write(), saved["documentId"].as_str().unwrap().parse().unwrap());
    let id = values::id::DocumentId(id);
    let user = entity::document::Entity::find_by_id(id).one(db).await.unwrap().unwrap().user_id;
    let source = entity::source::Model {
        document_id: id,
        user_id: user,
        format: values::kind::SourceFormat::Text,
        body: "Words of mine.".to_owned(),
        html: None,
        outline: None,
    };
    let source = sea_orm::IntoActiveModel::into_active_model(source);
    entity::source::Entity::insert(source).exec_without_returning(db).await.unwrap();
    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.delete(&bookmark).await.data(200);

    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);

    key.wait_for(&saved, "ready").await;
    assert_eq!(site.request_count("/herons"), 1);
}

#[actix_web::test]
async fn highlight_moves_with_its_words_on_refetch() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let page = |first: &str| {
        Reply::Html(format!(
            "<html><head><title>Herons</title></head><body><article><h1>Herons</h1>{first}\
             <p>A heron stands in the reeds and waits for hours until a fish comes by.</p>\
             <p>Then it strikes faster than anybody can see, and waits once more.</p></article></body></html>"
        ))
    };
    let url = site.page("/heron", [page("")]);
    let saved = key.save(json!({ "url": url })).await;
    key.wait_for(&saved, "ready").await;
    let document = format!("/rest/v2/documents/{}", saved["documentId"].as_str().unwrap());
    let text = async || key.get(&document).await.data(200)["text"].as_str().unwrap().to_owned();
    let at = text().await.find("reeds").unwrap();
    let path = format!("/rest/v1/bookmarks/{}/highlights", saved["bookmarkId"].as_str().unwrap());
    key.post(&path, json!({ "text": "reeds", "startOffset": at, "endOffset": at + 5 })).await.data(201);

    site.page(
        "/heron",
        [page("<p>In spring the herons of the lake come back to their old nests in the trees.</p>")],
    );
    session
        .post(
            &format!("/app/api/library/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap()),
            json!({}),
        )
        .await
        .data(202);
    eventually("the new text is indexed", async || text().await.contains("spring").then_some(())).await;

    let moved = key.get(&path).await.data(200)["highlights"][0].clone();
    let now = text().await.find("reeds").unwrap();
    assert_ne!(now, at);
    assert_eq!((&moved["startOffset"], &moved["endOffset"]), (&json!(now), &json!(now + 5)));
}
