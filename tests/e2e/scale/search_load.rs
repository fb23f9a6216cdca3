//! Many searches at once wait in a queue instead of being refused, and one account does not delay another.

use std::time::{Duration, Instant};

use actors::retrieval::SearchQuery;
use entity::chunk;
use futures_util::StreamExt;
use futures_util::future::{Either, join_all, select};
use futures_util::stream::FuturesUnordered;
use library::bookmarks::BookmarkConditions;
use sea_orm::PaginatorTrait;
use search::index::Filter;
use search::query_syntax::ParsedQuery;
use values::plan::Plan;

use crate::support::{Home, Program, Server, program};

const SEARCHES: usize = 500;
/// The target is a second or two. Debug builds are slower, but the queue refuses a search that has waited for 5 seconds.
const MAX_TIME_OF_ALL: Duration = Duration::from_secs(4);
/// Passages of [`long_text`].
const PASSAGES: usize = 400;
/// Several times what one search usually takes while another account has filled the queue.
const MAX_TIME_BESIDE_OTHERS: Duration = Duration::from_secs(2);

fn query() -> SearchQuery {
    SearchQuery {
        query: ParsedQuery::of_text("heron"),
        within: Filter::default(),
        bookmarks: BookmarkConditions::default(),
        limit: 10,
    }
}

/// A text of which each paragraph is a passage that matches the query.
fn long_text() -> String {
    format!("A heron in the reeds. {}\n\n", "The water is calm. ".repeat(55)).repeat(PASSAGES)
}

#[actix_web::test]
async fn five_hundred_concurrent_searches_are_all_answered() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let bookmark = key.save_text("https://example.org/a", &long_text()).await;
    key.wait_for(&bookmark, "ready").await;
    let passages = chunk::Entity::owned_by(user.id()).count(server.context().core.db.read()).await.unwrap();
    assert_eq!(passages, PASSAGES as u64);

    let began = Instant::now();
    let answers =
        join_all((0..SEARCHES).map(|_| server.context().retrieval.search(user.id(), query()))).await;
    let time = began.elapsed();

    let found = answers.into_iter().filter(|answer| matches!(answer, Ok(ranked) if !ranked.hits.is_empty()));
    assert_eq!(found.count(), SEARCHES);
    assert!(time < MAX_TIME_OF_ALL, "{time:?}");
}

#[actix_web::test]
async fn five_hundred_http_searches_are_all_answered() {
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
    let long = key.save_text("https://example.org/long", &long_text()).await;
    key.wait_for(&long, "ready").await;

    let began = Instant::now();
    let answers = join_all((0..SEARCHES).map(|_| key.get("/rest/v2/search?q=heron"))).await;
    let time = began.elapsed();

    for answer in answers {
        assert!(!answer.data(200)["results"].as_array().unwrap().is_empty());
    }
    assert!(time < MAX_TIME_OF_ALL, "{time:?}");
}

#[actix_web::test]
async fn search_does_not_wait_behind_another_account() {
    let server = Server::start().await;
    let (greedy, other) = (server.user(Plan::Pro).await.id(), server.user(Plan::Pro).await.id());
    let waiting = FuturesUnordered::new();
    while waiting.len() < SEARCHES {
        let mut search = Box::pin(server.context().retrieval.search(greedy, query()));
        // A worker may answer before the first poll ends: such a search does not wait.
        if futures_util::poll!(search.as_mut()).is_pending() {
            waiting.push(search);
        }
    }

    let began = Instant::now();
    let mut answered_before = 0;
    let all_of_greedy = async {
        let mut waiting = waiting;
        while let Some(answer) = waiting.next().await {
            answer.unwrap();
            answered_before += 1;
            // Else this loop would run on while answers arrive, and the other search would not be polled.
            tokio::task::yield_now().await;
        }
    };
    let of_other = server.context().retrieval.search(other, query());
    let is_other_first = match select(Box::pin(of_other), Box::pin(all_of_greedy)).await {
        Either::Left((answer, _)) => answer.is_ok(),
        Either::Right(_) => false,
    };
    let time = began.elapsed();

    assert!(is_other_first, "the search waited for all those of the other account");
    // Accounts take turns: a few that had a permit end before it. In the order of arrival, nearly all would.
    assert!(
        answered_before < SEARCHES / 2,
        "{answered_before} searches of the other account were answered first"
    );
    assert!(time < MAX_TIME_BESIDE_OTHERS, "{time:?}");
}
