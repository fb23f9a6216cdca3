//! Rows of the tables of routes, asked for one after another.

use carrel::http::table::Route;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Client, Response};

/// A route with the path of nothing that there is.
pub struct RouteRequest {
    pub route: &'static Route,
    pub path: String,
}

/// All rows of a table that is mounted here.
pub fn requests(mounted: &str, routes: &'static [Route]) -> Vec<RouteRequest> {
    routes.iter().map(|route| RouteRequest { route, path: fill_path(mounted, route.pattern) }).collect()
}

/// The pattern with ids of nothing.
pub fn fill_path(mounted: &str, pattern: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { Uuid::now_v7().to_string() } else { part.to_owned() };
    format!("{mounted}{}", pattern.split('/').map(part).collect::<Vec<_>>().join("/"))
}

impl RouteRequest {
    /// An empty body, where the method has one.
    pub fn body(&self) -> Option<Value> {
        (!matches!(self.route.method.as_str(), "GET" | "DELETE")).then(|| json!({}))
    }

    /// Asks for it with an empty body.
    pub async fn send(&self, client: &Client) -> Response {
        self.send_with(client, "", self.body()).await
    }

    /// Asks for it with this behind its path, and this body.
    pub async fn send_with(&self, client: &Client, behind: &str, body: Option<Value>) -> Response {
        let method: Method = self.route.method.as_str().parse().unwrap();
        client.send(method, &format!("{}{behind}", self.path), body).await
    }
}
