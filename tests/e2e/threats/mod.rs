//! Attacks of the threat table that other tests do not cover, one part of the table per file (faults-and-threats.md, section 4.1).

mod embedded_urls;
mod foreign_ids;
mod hostile_input;
mod mass_assignment;
mod own_addresses;
mod privacy;
mod prompt_injection;
mod request_headers;

use carrel::routing::undescribed;
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
    let mut of_key = route_table::requests("/rest/v1", undescribed(rest::V1));
    of_key.extend(route_table::requests("/rest/v2", undescribed(rest::V2)));
    let library = undescribed(rest::V1).chain(undescribed(rest::V2));
    let mut of_browser = route_table::requests("/app/api", app::ROUTES);
    of_browser.extend(route_table::requests("/app/api/library", library));
    [(key, of_key), (browser, of_browser)]
}
