//! Many searches at the same time wait instead of being refused, and one account does not delay another.

use actors::retrieval::SearchQuery;
use entity::plan::Plan;
use futures_util::future::{Either, join_all, select};
use search::index::Filter;

use crate::support::{Home, Program, Server, program};

fn search_query() -> SearchQuery {
    SearchQuery { query: "heron".to_owned(), within: Filter::default(), limit: 10 }
}

#[actix_web::test]
async fn five_hundred_concurrent_searches_are_all_answered() {
    const SEARCHES: usize = 500;
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let bookmark = key.save_text("https://example.org/a", "A heron in the reeds.").await;
    key.wait_for(&bookmark, "ready").await;

    let answers =
        join_all((0..SEARCHES).map(|_| server.app().retrieval.search(user.id(), search_query()))).await;

    let found = answers.into_iter().filter(|answer| matches!(answer, Ok(ranked) if !ranked.found.is_empty()));
    assert_eq!(found.count(), SEARCHES);
}

#[actix_web::test]
async fn five_hundred_http_searches_are_all_answered() {
    const SEARCHES: usize = 500;
    const DOCUMENTS: usize = 20;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    // In a separate process: both ends of 500 connections exceed the default limit of open files of one process.
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    for number in 0..DOCUMENTS {
        let text = format!("A heron in the reeds, seen {number} times.");
        let bookmark = key.save_text(&format!("https://example.org/{number}"), &text).await;
        key.wait_for(&bookmark, "ready").await;
    }

    let answers = join_all((0..SEARCHES).map(|_| key.get("/rest/v2/search?q=heron"))).await;

    for answer in answers {
        assert!(!answer.data(200)["results"].as_array().unwrap().is_empty());
    }
}

#[actix_web::test]
async fn search_does_not_wait_behind_another_account() {
    const SEARCHES: usize = 500;
    let server = Server::start().await;
    let (greedy, other) = (server.user(Plan::Pro).await.id(), server.user(Plan::Pro).await.id());
    let mut line = Vec::new();
    while line.len() < SEARCHES {
        let mut search = Box::pin(server.app().retrieval.search(greedy, search_query()));
        // A worker may answer before the first poll ends: such a search does not wait.
        if futures_util::poll!(search.as_mut()).is_pending() {
            line.push(search);
        }
    }

    let answer = server.app().retrieval.search(other, search_query());
    let first = select(Box::pin(answer), Box::pin(join_all(line))).await;

    assert!(matches!(first, Either::Left((Ok(_), _))));
}
