//! Attacks of the threat table that other tests do not cover, one part of the table per file (faults-and-threats.md, 4.1).

mod embedded_urls;
mod foreign_ids;
mod hostile_input;
mod mass_assignment;
mod own_addresses;
mod privacy;
mod prompt_injection;
mod request_headers;

use carrel::routing::Route;
use carrel::{app, rest};
use values::plan::Plan;

use crate::support::route_table::{self, RouteRequest};
use crate::support::{Client, Server};

/// Settings with limits that no test of all routes reaches.
const HIGH_LIMITS: [(&str, &str); 2] =
    [("PLANS__PRO__HOURLY_PER_KEY", "100000"), ("PLANS__PRO__REST_PER_DAY", "100000")];

/// A new user's client with a key of all scopes, and the same user's browser.
async fn key_and_browser(server: &Server) -> (Client, Client) {
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    (Client::clone(&key), browser)
}

/// Every route of the route tables, with a client that may call it: REST with a key, the web app with a session.
async fn routes(server: &Server) -> [(Client, Vec<RouteRequest>); 2] {
    let (key, browser) = key_and_browser(server).await;
    let all = |mounted: &[(&str, &'static [Route])]| -> Vec<RouteRequest> {
        mounted.iter().flat_map(|&(path, routes)| route_table::requests(path, routes)).collect()
    };
    let of_key = all(&[("/rest/v1", rest::V1), ("/rest/v2", rest::V2)]);
    let of_browser =
        all(&[("/app/api", app::ROUTES), ("/app/api/library", rest::V1), ("/app/api/library", rest::V2)]);
    [(key, of_key), (browser, of_browser)]
}
