//! A signed-in reader who follows feeds of a site, for the tests of the pages that show them.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Reply, Server, Site};

/// A feed with entries of these titles, each an hour older than the one before.
pub fn rss(title: &str, entries: &[&str]) -> Reply {
    let item = |(n, entry): (usize, &&str)| {
        let slug = entry.to_lowercase().replace(' ', "-");
        format!(
            "<item><title>{entry}</title><link>/{slug}</link><guid>{slug}</guid>\
             <pubDate>Mon, 06 May 2024 {:02}:00:00 GMT</pubDate><description>About it.</description></item>",
            11 - n
        )
    };
    let items: String = entries.iter().enumerate().map(item).collect();
    let body = format!("<rss version=\"2.0\"><channel><title>{title}</title>{items}</channel></rss>");
    let etag = format!("\"{}\"", body.len());
    let headers = vec![("content-type", "application/rss+xml".to_owned()), ("etag", etag)];
    Reply::Plain { status: 200, headers, body }
}

/// A user with a session of the web app.
pub struct Reader {
    pub app: Client,
}

impl Reader {
    pub async fn new(server: &Server) -> Self {
        Self { app: server.user(Plan::Pro).await.sign_in().await }
    }

    /// Follows a feed of the site that has these entries, and returns it.
    pub async fn follow(&self, site: &Site, path: &str, entries: &[&str], folder: Option<&str>) -> Value {
        let url = site.page(path, [rss("Feed", entries)]);
        let body = match folder {
            Some(folder) => json!({ "url": url, "folder": folder }),
            None => json!({ "url": url }),
        };
        self.app.post("/app/api/library/feeds", body).await.data(201)["feed"].clone()
    }

    /// Fetches a feed now.
    pub async fn refresh(&self, feed: &Value) {
        let path = format!("/app/api/library/feeds/{}/refresh", feed["feedId"].as_str().unwrap());
        self.app.post(&path, json!({})).await.data(202);
    }

    /// Lists entries with these parameters.
    pub async fn stream(&self, query: &str) -> Value {
        self.app.get(&format!("/app/api/entries?{query}")).await.data(200).clone()
    }
}
