//! The examples of the API description, sent to a running service.

use std::cmp::Reverse;

use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::ingest::uploads;
use crate::support::{Client, Key, Reply, Server, Site, article, eventually};

/// The tag that examples name in their paths.
const TAG: &str = "biology";
/// The bytes of an upload. Their SHA-256 is the one of the examples.
const UPLOADED: &[u8] = b"test";

/// The objects of a library to which the examples refer instead of their placeholders.
struct SeededLibrary {
    bookmark: String,
    document: String,
    /// A bookmark of a page that can be fetched; it is deleted in the end.
    removable_bookmark: String,
    deleted_bookmark: String,
    highlight: String,
    collection: String,
    project: String,
    feed: String,
    feed_url: String,
    entry: String,
    /// An upload whose bytes have arrived.
    upload: String,
    /// The document of a completed upload.
    recording: String,
}

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

async fn send_upload(key: &Key) -> Value {
    let new = json!({ "filename": "lecture.mp3", "contentType": "audio/mpeg", "bytes": UPLOADED.len() });
    let ticket = key.post("/rest/v2/uploads", new).await.data(201).clone();
    assert!(matches!(uploads::put(&ticket, UPLOADED).await, 200 | 201 | 204));
    ticket
}

impl SeededLibrary {
    async fn create(key: &Key, session: &Client, site: &Site) -> Self {
        let text = "the shortest way is found by scent. So do ants find their way.";
        let saved = key.save(json!({ "url": "https://example.org/ants", "text": text, "tags": [TAG] })).await;
        let saved = key.wait_for(&saved, "ready").await;
        let bookmark = text_of(&saved, "bookmarkId");
        let page = site.page("/page", [article("Ants", "an ant")]);
        let removable = key.save_text(&page, "Ants.").await;
        let deleted = text_of(&key.save_text("https://example.org/bees", "Bees.").await, "bookmarkId");
        key.delete(&format!("/rest/v1/bookmarks/{deleted}")).await.data(200);
        let highlighted = json!({ "text": "the shortest", "startOffset": 0, "endOffset": 12 });
        let highlight = key.post(&format!("/rest/v1/bookmarks/{bookmark}/highlights"), highlighted).await;
        let collection = key.post("/rest/v1/collections", json!({ "name": "Ants" })).await;
        let project = session.post("/app/api/projects", json!({ "name": "Ants" })).await;
        let sound = site.page("/ants.mp3", [Reply::Status(404)]);
        let rss = format!(
            "<rss version=\"2.0\"><channel><title>Ants</title><item><title>A talk</title><guid>1</guid>\
             <description>Of ants.</description><enclosure url=\"{sound}\" type=\"audio/mpeg\"/></item>\
             </channel></rss>"
        );
        let headers = vec![("content-type", "application/rss+xml".to_owned())];
        let feed_url = site.page("/feed.xml", [Reply::Plain { status: 200, headers, body: rss }]);
        let feed = key.post("/rest/v1/feeds", json!({ "url": feed_url })).await;
        let entry = eventually("the entry is listed", async || {
            let entries = key.get("/rest/v1/entries").await.data(200)["entries"].clone();
            entries.get(0).map(|entry| text_of(entry, "entryId"))
        })
        .await;
        let completed = uploads::complete(key, &send_upload(key).await).await;
        Self {
            bookmark,
            document: text_of(&saved, "documentId"),
            removable_bookmark: text_of(&removable, "bookmarkId"),
            deleted_bookmark: deleted,
            highlight: text_of(&highlight.data(201)["highlight"], "highlightId"),
            collection: text_of(&collection.data(201)["collection"], "collectionId"),
            project: text_of(&project.data(201)["project"], "id"),
            feed: text_of(&feed.data(201)["feed"], "feedId"),
            feed_url,
            entry,
            upload: text_of(&send_upload(key).await, "uploadId"),
            recording: text_of(completed.data(202), "documentId"),
        }
    }

    /// The object that the first variable of a path names.
    fn object_of(&self, method: &Method, pattern: &str) -> &str {
        match pattern.split('/').nth(3).unwrap() {
            "bookmarks" if pattern.ends_with("/restore") => &self.deleted_bookmark,
            "bookmarks" if pattern.ends_with("/refetch") || *method == Method::DELETE => {
                &self.removable_bookmark
            }
            "bookmarks" => &self.bookmark,
            "documents" if pattern.ends_with("/transcript") => &self.recording,
            "documents" => &self.document,
            "highlights" => &self.highlight,
            "tags" => TAG,
            "collections" => &self.collection,
            "projects" => &self.project,
            "feeds" => &self.feed,
            "entries" => &self.entry,
            "uploads" => &self.upload,
            _ => panic!("the library has no object for {pattern}"),
        }
    }

    fn path(&self, method: &Method, pattern: &str) -> String {
        let parts = pattern.split('/').map(|part| match part {
            "{bookmarkId}" => self.bookmark.as_str(),
            variable if variable.starts_with('{') => self.object_of(method, pattern),
            plain => plain,
        });
        parts.collect::<Vec<_>>().join("/")
    }

    /// The example of a body with the objects of the library.
    fn body(&self, pattern: &str, name: &str, example: &Value) -> Value {
        match example {
            Value::Object(members) => Value::Object(
                members.iter().map(|(name, part)| (name.clone(), self.body(pattern, name, part))).collect(),
            ),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.body(pattern, name, item)).collect())
            }
            Value::String(_) => match name {
                "bookmarkId" => json!(self.bookmark),
                "feedId" => json!(self.feed),
                // The feed of the example is on a site that tests do not reach.
                "url" if pattern.starts_with("/rest/v1/feeds") => json!(self.feed_url),
                _ => example.clone(),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => example.clone(),
        }
    }
}

/// The required parameters of an operation as a query, with their examples.
fn query(described: &Value) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let parameters = described["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.filter(|part| part["in"] == "query" && part["required"] == true) {
        query.append_pair(parameter["name"].as_str().unwrap(), parameter["example"].as_str().unwrap());
    }
    query.finish()
}

#[actix_web::test]
async fn examples_of_the_description_succeed() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SeededLibrary::create(&key, &session, &site).await;
    let document = key.get("/openapi.json").await.body;
    let mut examples: Vec<(Method, &String, &Value)> = Vec::new();
    for (pattern, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            examples.push((method.to_ascii_uppercase().parse().unwrap(), pattern, described));
        }
    }
    // Objects are deleted after all other requests, and a collection after its bookmark was taken out of it.
    examples.sort_by_key(|(method, pattern, _)| (*method == Method::DELETE, Reverse(pattern.len())));

    let mut failed = Vec::new();
    for (method, pattern, described) in examples {
        if pattern.contains("/tags/") {
            // Another example renames or deletes the tag.
            let bookmark = format!("/rest/v1/bookmarks/{}", library.bookmark);
            key.patch(&bookmark, json!({ "tags": [TAG] })).await.data(200);
        }
        let example = &described["requestBody"]["content"]["application/json"]["example"];
        let body = example.as_object().filter(|members| !members.is_empty());
        let body = body.map(|_| library.body(pattern, "", example));
        let path = format!("{}?{}", library.path(&method, pattern), query(described));
        let answer = key.send(method.clone(), &path, body).await;
        if !(200..300).contains(&answer.status) {
            failed.push(format!("{method} {path}: {} {}", answer.status, answer.text));
        }
    }

    assert!(failed.is_empty(), "{failed:#?}");
}
