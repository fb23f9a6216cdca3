//! Pages of PDFs and recordings: what the web app shows of the files from which texts were made.

use reqwest::header::{ACCEPT_RANGES, CONTENT_RANGE, ETAG};
use serde_json::Value;
use values::plan::Plan;

use crate::export::exports::pdf_with_text;
use crate::ingest::transcripts::wav_recording;
use crate::ingest::uploads::{path, upload};
use crate::support::{Client, Key, S3Bucket, Server, TranscriptionEndpoint, User, eventually};

pub const WORDS: &str = "The heron stands in the shallow water.";
pub const SPEECH: &str = r#"{"language": "english", "segments": [
    {"start": 0.0, "end": 1.5, "text": "A heron calls."}, {"start": 4.0, "end": 5.5, "text": "Then it flies."}]}"#;

/// Uploads a file, waits until its text is ready, and returns the path of its document below /app/api.
pub async fn document_of(key: &Key, content_type: &str, bytes: &[u8]) -> String {
    let ticket = upload(key, content_type, bytes).await;
    let shown = eventually("the text of the upload is ready", async || {
        let shown = key.get(&path(&ticket)).await.data(200).clone();
        assert_ne!(shown["status"], "failed", "{shown}");
        (shown["status"] == "ready").then_some(shown)
    })
    .await;
    format!("/app/api/documents/{}", shown["documentId"].as_str().unwrap())
}

async fn pdf_of(user: &User<'_>) -> (Client, String) {
    let key = user.full_key().await;
    let document = document_of(&key, "application/pdf", &pdf_with_text(WORDS)).await;
    (user.sign_in().await, document)
}

#[actix_web::test]
async fn runs_of_a_page_have_the_offsets_of_the_text() {
    let server = Server::start().await;
    let (browser, document) = pdf_of(&server.user(Plan::Pro).await).await;

    let pages = browser.get(&format!("{document}/pages")).await.data(200).clone();
    let page = browser.get(&format!("{document}/pages/1")).await.data(200).clone();
    let places = browser.get(&format!("{document}/places?start=4&end=9")).await.data(200).clone();

    assert_eq!(pages["totalPages"], 1);
    assert_eq!((&pages["pages"][0]["width"], &pages["pages"][0]["startOffset"]), (&612.0.into(), &0.into()));
    assert_eq!((&page["outdated"], &page["runs"][0]["text"]), (&false.into(), &WORDS.into()));
    assert_eq!((&page["runs"][0]["start"], &page["runs"][0]["x"]), (&0.into(), &72.0.into()));
    let [place] = places["rects"].as_array().unwrap().as_slice() else { panic!("{places}") };
    let (left, right) = (place["x"].as_f64().unwrap(), place["width"].as_f64().unwrap());
    assert!(place["page"] == 1 && left > 72.0 && right > 20.0, "{place}");
    assert_eq!(browser.get(&format!("{document}/pages/2")).await.error_code(404), "NOT_FOUND");
    let none = browser.get(&format!("{document}/places?start=9&end=9")).await;
    assert_eq!(none.faults(), ["end"]);
}

#[actix_web::test]
async fn picture_of_a_page_is_webp_for_its_owner_alone() {
    let server = Server::start().await;
    let (browser, document) = pdf_of(&server.user(Plan::Pro).await).await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let picture = format!("{document}/pages/1/picture");

    let (status, headers, bytes) = browser.download(&format!("{picture}?w=800")).await;
    let (again, _, empty) = browser
        .clone()
        .with("if-none-match", headers[ETAG].to_str().unwrap())
        .download(&format!("{picture}?w=800"))
        .await;

    assert_eq!((status, &headers["content-type"]), (200, &"image/webp".parse().unwrap()));
    assert_eq!((&bytes[..4], &bytes[8..12]), (&b"RIFF"[..], &b"WEBP"[..]));
    assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
    assert_eq!((again, empty.len()), (304, 0));
    assert_eq!(browser.get(&format!("{picture}?w=801")).await.faults(), ["w"]);
    assert_eq!(browser.get(&format!("{document}/pages/2/picture")).await.error_code(404), "NOT_FOUND");
    for path in ["/pages/1/picture", "/pages", "/pages/1", "/places?start=0&end=5", "/media", "/captions.vtt"]
    {
        assert_eq!(other.get(&format!("{document}{path}")).await.error_code(404), "NOT_FOUND", "{path}");
        let anonymous = server.anonymous().get(&format!("{document}{path}")).await;
        assert_eq!(anonymous.error_code(401), "NOT_SIGNED_IN", "{path}");
    }
}

#[actix_web::test]
async fn pages_of_a_file_in_a_bucket_are_drawn() {
    let store = S3Bucket::start().await;
    let server = Server::start_with(&store.settings()).await;
    let (browser, document) = pdf_of(&server.user(Plan::Pro).await).await;

    let (status, _, bytes) = browser.download(&format!("{document}/pages/1/picture?w=132")).await;

    assert_eq!((status, &bytes[..4]), (200, &b"RIFF"[..]));
}

#[actix_web::test]
async fn recording_is_sent_in_parts() {
    let endpoint = TranscriptionEndpoint::start([(200, SPEECH)]).await;
    let store = S3Bucket::start().await;
    for settings in [endpoint.settings().to_vec(), [&endpoint.settings()[..], &store.settings()[..]].concat()]
    {
        let server = Server::start_with(&settings).await;
        let owner = server.user(Plan::Pro).await;
        let wav = std::fs::read(wav_recording(3).path()).unwrap();
        let document = document_of(&owner.full_key().await, "audio/wav", &wav).await;
        let browser = owner.sign_in().await;
        let media = format!("{document}/media");

        let (status, headers, whole) = browser.download(&media).await;
        assert_eq!(
            (status, &headers[ACCEPT_RANGES], whole.len()),
            (200, &"bytes".parse().unwrap(), wav.len())
        );
        assert_eq!(headers["content-type"], "audio/wav");

        let (status, headers, part) = browser.clone().with("range", "bytes=8-11").download(&media).await;
        let range = format!("bytes 8-11/{}", wav.len());
        assert_eq!(
            (status, headers[CONTENT_RANGE].to_str().unwrap(), &part[..]),
            (206, range.as_str(), &b"WAVE"[..])
        );

        let behind = format!("bytes={}-", wav.len());
        let (status, ..) = browser.clone().with("range", &behind).download(&media).await;
        assert_eq!(status, 416);
        let changed = browser.clone().with("range", "bytes=8-11").with_additional("if-range", "\"other\"");
        assert_eq!(changed.download(&media).await.2.len(), wav.len());
    }
}

#[actix_web::test]
async fn transcript_has_times_offsets_and_captions() {
    let endpoint = TranscriptionEndpoint::start([(200, SPEECH)]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let owner = server.user(Plan::Pro).await;
    let wav = std::fs::read(wav_recording(3).path()).unwrap();
    let document = document_of(&owner.full_key().await, "audio/wav", &wav).await;
    let browser = owner.sign_in().await;

    let speech = browser.get(&format!("{document}/speech")).await.data(200).clone();
    let second = speech["segments"][1]["startSeconds"].as_f64().unwrap().ceil();
    let at = browser.get(&format!("{document}/speech?seconds={second}&limit=1")).await.data(200).clone();
    let times = browser.get(&format!("{document}/speech/times?start=2&end=7")).await.data(200).clone();
    let (_, headers, vtt) = browser.download(&format!("{document}/captions.vtt")).await;

    let segments = speech["segments"].as_array().unwrap();
    let text = |segment: &Value| segment["text"].as_str().unwrap().to_owned();
    assert_eq!(segments.iter().map(text).collect::<Vec<_>>(), ["A heron calls.", "Then it flies."]);
    // A pause of two seconds and more begins a paragraph.
    assert_eq!((&segments[1]["startOffset"], &segments[1]["endOffset"]), (&16.into(), &30.into()));
    assert_eq!((&at["from"], &at["segments"][0]["index"]), (&1.into(), &1.into()));
    assert_eq!(times["startSeconds"], segments[0]["startSeconds"]);
    assert_eq!(times["endSeconds"], segments[0]["endSeconds"]);
    assert_eq!(headers["content-type"], "text/vtt; charset=utf-8");
    let vtt = String::from_utf8(vtt).unwrap();
    assert!(vtt.starts_with("WEBVTT\n\n1\n00:00:0") && vtt.contains(" --> "), "{vtt}");
    assert!(vtt.contains("\nA heron calls.\n\n2\n") && vtt.ends_with("Then it flies.\n"), "{vtt}");
}

#[actix_web::test]
async fn uploads_are_listed_newest_first() {
    let server = Server::start().await;
    let (browser, document) = pdf_of(&server.user(Plan::Pro).await).await;

    let listed = browser.get("/app/api/uploads").await.data(200).clone();

    let [only] = listed["uploads"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&only["status"], &only["filename"]), (&"ready".into(), &"a file".into()));
    assert!(document.ends_with(only["documentId"].as_str().unwrap()));
    let other = server.user(Plan::Pro).await.sign_in().await;
    assert_eq!(other.get("/app/api/uploads").await.data(200)["uploads"], Value::Array(Vec::new()));
}
