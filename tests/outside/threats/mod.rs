//! Requests of an attacker, one part of the threat table a file (faults-and-threats.md, 4.1): what other tests do not try.

mod extra_fields;
mod headers;
mod hostile_input;
mod injections;
mod own_address;
mod privacy;

use entity::plan::Plan;

use crate::world::{Client, Server};

/// A new user's client with a key of all scopes, and the same user's browser.
async fn key_and_browser(server: &Server) -> (Client, Client) {
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    (Client::clone(&key), browser)
}
