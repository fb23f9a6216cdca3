//! The pages of PDFs and recordings, and those of uploads, imports and exports, as a browser without script gets them.

use serde_json::{Value, json};
use values::plan::Plan;

use super::originals::{SPEECH, WORDS, document_of};
use crate::export::exports::pdf_with_text;
use crate::ingest::transcripts::wav_recording;
use crate::support::{Client, Server, TranscriptionEndpoint, User, eventually};

const FORM: &str = "multipart/form-data; boundary=reeds";

/// A form with one file. Without a type the server goes by the name.
fn form(name: &str, content_type: &str, file: &[u8]) -> Vec<u8> {
    let content_type =
        if content_type.is_empty() { String::new() } else { format!("Content-Type: {content_type}\r\n") };
    let head = format!(
        "--reeds\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n{content_type}\r\n"
    );
    [head.as_bytes(), file, b"\r\n--reeds--\r\n"].concat()
}

/// Uploads a PDF. Returns its reader page and the session of its owner.
async fn pdf_page_of(user: &User<'_>) -> (Client, String) {
    let document = document_of(&user.full_key().await, "application/pdf", &pdf_with_text(WORDS)).await;
    (user.sign_in().await, document.replace("/app/api/documents/", "/read/"))
}

/// Highlights characters of a document, as the script of its page does.
async fn mark(browser: &Client, page: &str, start: &str, end: &str) {
    let shown = browser.get(page).await.text;
    let version = shown.split("data-version=\"").nth(1).unwrap().split('"').next().unwrap();
    let words = [("startOffset", start), ("endOffset", end), ("version", version)];
    let marked = browser.post_form(&format!("{page}/highlights"), &words).await;
    assert_eq!(marked.status, 303, "{}", marked.text);
}

#[actix_web::test]
async fn pdf_has_its_picture_and_words_with_offsets() {
    let server = Server::start().await;
    let (browser, page) = pdf_page_of(&server.user(Plan::Pro).await).await;

    let shown = browser.get(&page).await;

    assert_eq!(shown.status, 200);
    assert!(shown.text.contains(&format!("data-start=\"0\">{WORDS}</text>")), "{}", shown.text);
    assert!(shown.text.contains("viewBox=\"0 0 612 792\"") && shown.text.contains("/pages/1.webp?w=1200"));
    assert!(!shown.text.contains(" style=") && !shown.text.contains("<script>"));
    let (status, headers, picture) = browser.download(&format!("{page}/pages/1.webp?w=800")).await;
    assert_eq!(
        (status, &headers["content-type"], &picture[..4]),
        (200, &"image/webp".parse().unwrap(), &b"RIFF"[..])
    );
}

#[actix_web::test]
async fn place_of_a_pdf_is_marked_without_script() {
    let server = Server::start().await;
    let (browser, page) = pdf_page_of(&server.user(Plan::Pro).await).await;

    let shown = browser.get(&format!("{page}?at=4-9")).await;

    assert!(shown.text.contains("<g id=\"at\"><rect class=\"arrival\""), "{}", shown.text);
    assert!(shown.text.contains("name=\"startOffset\" value=\"4\""));
    let found = browser.get(&format!("{page}?find=heron+stands")).await;
    assert!(found.text.contains("at=4-16") && found.text.contains("class=\"found\""), "{}", found.text);
}

#[actix_web::test]
async fn page_of_a_pdf_is_a_part_for_scripts() {
    let server = Server::start().await;
    let (browser, page) = pdf_page_of(&server.user(Plan::Pro).await).await;

    mark(&browser, &page, "4", "9").await;

    let part = browser.get_part(&format!("{page}/pages/1?find=stands"), "p1").await;
    let whole = browser.get(&format!("{page}/pages/1")).await;

    assert!(part.text.starts_with("<figure class=\"pdf-page\" id=\"p1\""), "{}", part.text);
    for mark in ["<rect class=\"hl c-yellow\"", "<rect class=\"found\""] {
        assert_eq!(part.text.matches(mark).count(), 1, "{mark}: {}", part.text);
    }
    assert_eq!(whole.status, 303);
    assert_eq!(browser.get(&format!("{page}/pages/2")).await.status, 303);
    assert_eq!(browser.get_part(&format!("{page}/pages/2"), "p2").await.status, 404);
}

#[actix_web::test]
async fn files_of_others_are_not_found() {
    let server = Server::start().await;
    let (_, page) = pdf_page_of(&server.user(Plan::Pro).await).await;
    let other = server.user(Plan::Pro).await.sign_in().await;

    for path in ["", "/pages/1.webp", "/media", "/captions.vtt"] {
        let shown = other.get(&format!("{page}{path}")).await;
        assert_eq!(shown.status, 404, "{path}");
        assert!(!shown.text.contains("heron"), "{path}");
    }
}

#[actix_web::test]
async fn pdf_is_saved_as_a_file_and_never_shown() {
    let server = Server::start().await;
    let (browser, page) = pdf_page_of(&server.user(Plan::Pro).await).await;

    let (status, headers, bytes) = browser.download(&format!("{page}/media")).await;

    assert_eq!((status, &bytes[..5]), (200, &b"%PDF-"[..]));
    assert!(headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert_eq!(headers["content-security-policy"], "default-src 'none'; sandbox");
}

#[actix_web::test]
async fn recording_has_a_transcript_whose_times_are_links() {
    let endpoint = TranscriptionEndpoint::start([(200, SPEECH)]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let user = server.user(Plan::Pro).await;
    let wav = std::fs::read(wav_recording(3).path()).unwrap();
    let document = document_of(&user.full_key().await, "audio/wav", &wav).await;
    let (browser, page) = (user.sign_in().await, document.replace("/app/api/documents/", "/read/"));

    let shown = browser.get(&format!("{page}?at=16-20")).await;

    assert_eq!(shown.status, 200);
    assert!(shown.text.contains("data-start=\"0\">A heron calls.</span>"), "{}", shown.text);
    assert!(shown.text.contains("<mark class=\"at\" id=\"at\">Then</mark> it flies."), "{}", shown.text);
    assert!(shown.text.contains("<audio id=\"media\" controls") && shown.text.contains("?t="));
    let named = browser.get(&format!("{page}?t=0")).await;
    assert!(named.text.contains("id=\"t0\" aria-current=\"true\""), "{}", named.text);
    mark(&browser, &page, "16", "20").await;
    let notes = browser.get_part(&page, "notes").await;
    assert_eq!(notes.text.matches("data-note-time=").count(), 1, "{}", notes.text);
    let transcript = browser.get_part(&page, "transcript").await;
    assert!(transcript.text.contains("<mark class=\"hl c-yellow\">Then</mark>"), "{}", transcript.text);
    let (status, headers, _) =
        browser.clone().with("range", "bytes=0-3").download(&format!("{page}/media")).await;
    assert_eq!((status, &headers["content-type"]), (206, &"audio/wav".parse().unwrap()));
}

#[actix_web::test]
async fn recording_begins_at_the_second_where_it_stopped() {
    let endpoint = TranscriptionEndpoint::start([(200, SPEECH)]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let user = server.user(Plan::Pro).await;
    let wav = std::fs::read(wav_recording(3).path()).unwrap();
    let document = document_of(&user.full_key().await, "audio/wav", &wav).await;
    let (browser, page) = (user.sign_in().await, document.replace("/app/api/documents/", "/read/"));

    // As of a recording that has no text.
    let stopped = json!({ "offset": 0, "version": 0, "seconds": 2 });
    let kept = browser.post(&format!("{document}/position"), stopped).await.data(200).clone();

    assert_eq!((&kept["position"]["seconds"], &kept["position"]["version"]), (&json!(2), &json!(0)));
    let shown = browser.get(&page).await.text;
    assert!(shown.contains("data-start-at=\"2\"") && shown.contains("/media#t=2\""), "{shown}");
    // The offset of a word in this version of the text comes first: that of the second line.
    let stopped = json!({ "offset": 16, "version": 1, "seconds": 2 });
    browser.post(&format!("{document}/position"), stopped).await.data(200);
    assert!(browser.get(&page).await.text.contains("data-start-at=\"4\""));
}

#[actix_web::test]
async fn file_is_uploaded_by_a_form() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    let sent = browser.post_bytes("/uploads", FORM, form("paper.pdf", "", &pdf_with_text(WORDS))).await;
    let refused = browser.post_bytes("/uploads", FORM, form("page.html", "text/html", b"<p>no</p>")).await;

    assert_eq!(sent.status, 303, "{}", sent.text);
    assert_eq!(refused.status, 422, "{}", refused.text);
    eventually("the upload is listed as done", async || {
        let listed = browser.get("/app/api/uploads").await.data(200)["uploads"][0].clone();
        (listed["status"] == "ready").then_some(())
    })
    .await;
    let page = browser.get("/uploads").await;
    assert!(page.status == 200 && page.text.contains("/read/"), "{}", page.text);
}

#[actix_web::test]
async fn import_is_previewed_started_and_undone() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let file = b"<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><A HREF=\"https://example.org/heron\">Herons</A></DL>";

    let sent = browser.post_file("/imports/new", file, &[("dryRun", "true")]).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let path = sent.header("location").to_owned();
    let preview = eventually("the preview is ready", async || {
        let page = browser.get(&path).await;
        page.text.contains(&format!("action=\"{path}/start\"")).then_some(page)
    })
    .await;
    assert!(preview.text.contains("Herons"));
    assert_eq!(count_bookmarks(&browser).await, 0, "a preview saves nothing");

    assert_eq!(browser.post_form(&format!("{path}/start"), &[]).await.status, 303);
    eventually("the import is done", async || {
        browser.get(&path).await.text.contains(&format!("action=\"{path}/undo\"")).then_some(())
    })
    .await;
    assert_eq!(count_bookmarks(&browser).await, 1);

    assert_eq!(browser.post_form(&format!("{path}/undo"), &[]).await.status, 303);
    eventually("the import is undone", async || (count_bookmarks(&browser).await == 0).then_some(())).await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get(&path).await.status, 404);
}

async fn count_bookmarks(browser: &Client) -> usize {
    let listed = browser.get("/app/api/library/bookmarks").await.data(200).clone();
    listed["bookmarks"].as_array().map_or(0, Vec::len)
}

#[actix_web::test]
async fn export_is_begun_and_downloaded() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    assert_eq!(browser.post_form("/exports", &[]).await.status, 303);
    let href = eventually("the export is packed", async || {
        let exports = browser.get("/app/api/exports").await.data(200)["exports"].clone();
        let packed = exports.as_array()?.iter().find(|export| export["status"] == "done")?.clone();
        packed["id"].as_str().map(|id| format!("/exports/{id}/file"))
    })
    .await;

    let page = browser.get("/exports").await;
    assert!(page.text.contains(&href), "{}", page.text);
    let (status, _, bytes) = browser.download(&href).await;
    assert_eq!((status, &bytes[..2]), (200, &b"PK"[..]));
}

#[actix_web::test]
async fn form_with_a_file_of_another_type_is_refused() {
    let server = Server::start().await;
    let german = server.user(Plan::Pro).await.sign_in().await.with("accept-language", "de");

    let refused = german.post_bytes("/uploads", FORM, form("notes.html", "text/html", b"<p>No.</p>")).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    assert!(refused.text.contains("Nur PDFs, Audio und Video lassen sich hochladen."), "{}", refused.text);
}

#[actix_web::test]
async fn failed_text_shows_its_reason_and_is_retried() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    crate::ingest::uploads::upload(&key, "application/pdf", b"%PDF-1.7 as far as its first bytes say").await;
    let browser = user.sign_in().await;

    let failed = eventually("the upload has failed", async || {
        let work = browser.get("/app/api/work?stage=failed").await.data(200)["work"].clone();
        work.as_array()?.first().cloned()
    })
    .await;
    let page = browser.get("/uploads?stage=failed").await;

    assert!(page.text.contains("damaged or not a PDF"), "{}", page.text);
    let german = browser.clone().with("accept-language", "de").get("/uploads?stage=failed").await;
    assert!(german.text.contains("beschädigt oder kein PDF"), "{}", german.text);
    let id = failed["documentId"].as_str().unwrap();
    assert_eq!(browser.post_form(&format!("/uploads/{id}/retry"), &[]).await.status, 303);
    assert_ne!(failed["title"], Value::Null);
}
