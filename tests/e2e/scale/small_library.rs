//! A small library for tests of how statements are run.

use serde_json::{Value, json};

use crate::import::imports::{bookmark_list, start_import, wait_for};
use crate::support::{Client, Key, Reply, Site, article, eventually};

/// A library with two objects of each kind, so that every list has a second page.
pub struct SmallLibrary {
    pub bookmark: String,
    pub document: String,
    pub collection: String,
    pub project: String,
    pub feed: String,
    pub entry: String,
    pub import: String,
}

pub fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

/// Posts each body and returns this member of the object in each response.
async fn create<const N: usize>(
    client: &Client,
    path: &str,
    (object, id): (&str, &str),
    bodies: [Value; N],
) -> Vec<String> {
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(text_of(&client.post(path, body).await.data(201)[object], id));
    }
    ids
}

impl SmallLibrary {
    pub async fn create(key: &Key, session: &Client, site: &Site) -> Self {
        let named = || ["Herons", "Reeds"].map(|name| json!({ "name": name }));
        let collections = create(key, "/rest/v1/collections", ("collection", "collectionId"), named()).await;
        let projects = create(session, "/app/api/projects", ("project", "id"), named()).await;
        let mut bookmarks = Vec::new();
        for n in 0..2 {
            let saved = json!({
                "url": format!("https://reeds.example/{n}"),
                "text": "The heron stands in the reeds.",
                "tags": ["heron"],
                "notes": "Seen twice.",
                "collectionIds": collections,
            });
            bookmarks.push(key.wait_for(&key.save(saved).await, "ready").await);
        }
        let ids: Vec<String> = bookmarks.iter().map(|bookmark| text_of(bookmark, "bookmarkId")).collect();
        let highlights = [(0, "The"), (4, "heron")]
            .map(|(at, text)| json!({ "text": text, "startOffset": at, "endOffset": at + text.len() }));
        let path = format!("/rest/v1/bookmarks/{}/highlights", ids[0]);
        create(key, &path, ("highlight", "highlightId"), highlights).await;
        let project = projects[0].clone();
        let items: Vec<Value> = ids.iter().map(|id| json!({ "bookmarkId": id })).collect();
        key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await.data(201);
        for title in ["One", "Two"] {
            let note = json!({ "title": title, "bodyMd": "Of herons." });
            key.post(&format!("/rest/v2/projects/{project}/notes"), note).await.data(201);
            let decision = json!({ "title": title });
            session.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
        }
        let (feed, entry) = follow_feeds(key, site).await;
        let pages = ["/one", "/two"].map(|path| site.page(path, [article("Herons", "a heron")]));
        let links: String = pages.iter().map(|page| format!("<DT><A HREF=\"{page}\">A page</A>\n")).collect();
        let import = start_import(session, bookmark_list(&links).as_bytes(), &[]).await;
        wait_for(session, &import, "done").await;
        Self {
            bookmark: ids[0].clone(),
            document: text_of(&bookmarks[0], "documentId"),
            collection: collections[0].clone(),
            project,
            feed,
            entry,
            import,
        }
    }
}

/// Follows two feeds, and returns the id of the first one and of an entry of it.
async fn follow_feeds(key: &Key, site: &Site) -> (String, String) {
    let feeds = ["/feed-1.xml", "/feed-2.xml"].map(|path| {
        let item = |n| {
            format!(
                "<item><title>Entry {n}</title><link>/entry-{n}</link><guid>{n}</guid>\
                 <description>Of herons.</description></item>"
            )
        };
        let items: String = (1..=2).map(item).collect();
        let body = format!("<rss version=\"2.0\"><channel><title>Herons</title>{items}</channel></rss>");
        let headers = vec![("content-type", "application/rss+xml".to_owned())];
        json!({ "url": site.page(path, [Reply::Plain { status: 200, headers, body }]) })
    });
    let ids = create(key, "/rest/v1/feeds", ("feed", "feedId"), feeds).await;
    let path = format!("/rest/v1/entries?feedId={}", ids[0]);
    let entry = eventually("the entries of the first feed are listed", async || {
        let entries = key.get(&path).await.data(200)["entries"].clone();
        entries.get(1).map(|entry| text_of(entry, "entryId"))
    })
    .await;
    (ids[0].clone(), entry)
}
