//! Requests to every route of a route table.

use carrel::routing::Route;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Client, Response};

/// A route and a path whose ids do not exist.
pub struct RouteRequest {
    pub route: &'static Route,
    pub path: String,
}

/// Returns a request for each route of a table that is mounted at this path.
pub fn requests(mounted: &str, routes: impl IntoIterator<Item = &'static Route>) -> Vec<RouteRequest> {
    let request = |route: &'static Route| RouteRequest { route, path: fill_path(mounted, route.pattern) };
    routes.into_iter().map(request).collect()
}

/// Fills the parameters of a pattern with ids that do not exist.
pub fn fill_path(mounted: &str, pattern: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { Uuid::now_v7().to_string() } else { part.to_owned() };
    format!("{mounted}{}", pattern.split('/').map(part).collect::<Vec<_>>().join("/"))
}

impl RouteRequest {
    /// An empty body if the method has one.
    pub fn body(&self) -> Option<Value> {
        (!matches!(self.route.method.as_str(), "GET" | "DELETE")).then(|| json!({}))
    }

    /// Sends the request with an empty body.
    pub async fn send(&self, client: &Client) -> Response {
        self.send_with(client, "", self.body()).await
    }

    /// Sends the request with this suffix of the path and this body.
    pub async fn send_with(&self, client: &Client, behind: &str, body: Option<Value>) -> Response {
        let method: Method = self.route.method.as_str().parse().unwrap();
        client.send(method, &format!("{}{behind}", self.path), body).await
    }
}
