//! Database connections after cancelled transactions and statements.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use actors::activity::insert_lines;
use actors::service_state::{self, ServiceStateKey};
use database::Db;
use entity::activity;
use errors::Error;
use sea_orm::{ConnectionTrait, Database};
use serde_json::json;
use values::id::ActivityId;
use values::plan::Plan;

use crate::support::{Home, Server, has_postgres};

/// More than the write connections of a server. They are used in turn, so each of them is used.
const WRITES: usize = 16;

/// Polls a future at most this number of times and drops it. Returns its output if it has completed.
async fn poll_times<F: Future>(mut future: Pin<Box<F>>, times: usize) -> Option<F::Output> {
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls < times => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
        }
    })
    .await
}

/// A caller that is cancelled while its transaction begins must not leave a connection inside a transaction: later writes through
/// that connection would be acknowledged and lost.
#[actix_web::test]
async fn writes_after_a_cancelled_begin_are_kept() {
    let home = Home::new().await;
    let db = Db::open(&home.database_url()).await.unwrap();
    let other = Db::connect(&home.database_url()).await.unwrap();

    for polls in 1.. {
        let begun = poll_times(Box::pin(db.begin()), polls).await.transpose().unwrap();
        let has_begun = begun.is_some();
        drop(begun);

        for n in 0..WRITES {
            let value = format!("{polls}.{n}");
            service_state::write(db.write(), ServiceStateKey::Generation, value.clone()).await.unwrap();
            let stored = service_state::read_state(other.read(), ServiceStateKey::Generation).await.unwrap();
            assert_eq!(stored, Some(value), "cut after {polls} polls");
        }
        if has_begun {
            return;
        }
        assert!(polls < 1000, "it never begins");
    }
}

/// PostgreSQL cancels a statement that takes too long. The caller can retry.
#[actix_web::test]
async fn statement_cancelled_by_postgres_is_busy() {
    let home = Home::new().await;
    let db = Db::open(&home.database_url()).await.unwrap();
    if !db.is_postgres() {
        return;
    }
    let transaction = db.begin().await.unwrap();
    transaction.execute_unprepared("SET LOCAL statement_timeout = '50ms'").await.unwrap();

    let error = transaction.execute_unprepared("SELECT pg_sleep(5)").await.unwrap_err();

    assert!(matches!(Error::from(error), Error::Busy(_)));
}

/// PostgreSQL ends one of two transactions that wait for each other, and after a failover it refuses writes. The server
/// does not retry a request: it answers 503 with Retry-After.
#[actix_web::test]
async fn deadlock_and_failover_are_answered_with_503() {
    if !has_postgres("SQLite has one writer and no standby") {
        return;
    }
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let rows = Database::connect(server.database_url()).await.unwrap();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = TG_ARGV[0]; END $$";
    rows.execute_unprepared(refuse).await.unwrap();

    for (table, path, body) in [
        ("bookmark", "/rest/v1/bookmarks", json!({ "url": "https://example.org/1", "text": "A heron." })),
        ("collection", "/rest/v1/collections", json!({ "name": "Herons" })),
    ] {
        for code in ["40P01", "40001", "25006"] {
            let before = format!("CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW");
            rows.execute_unprepared(&format!("{before} EXECUTE FUNCTION refuse('{code}')")).await.unwrap();

            let refused = key.post(path, body.clone()).await;

            assert_eq!(refused.error_code(503), "OVERLOADED", "{path}: {code}");
            assert!(refused.header_number("retry-after") > 0, "{path}: {code}");
            rows.execute_unprepared(&format!("DROP TRIGGER refuse ON {table}")).await.unwrap();
        }
        key.post(path, body).await.data(201);
    }
    rows.close().await.unwrap();
}

/// The answer to a COMMIT may be lost. The lines are written again, and those that are there do not hold the others up.
#[actix_web::test]
async fn activity_that_is_written_again_is_kept_once() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let (id, context) = (owner.id(), server.context());
    owner.full_key().await.get("/rest/v1/user").await.data(200);
    context.requests.activity.flush().await.unwrap();
    let lines = async || activity::Entity::owned_by(id).all(server.context().core.db.read()).await.unwrap();
    let line = lines().await.pop().unwrap();

    let further = activity::Model { id: ActivityId::new(line.at), ..line.clone() };
    insert_lines(context.core.db.write(), &[&line, &further]).await.unwrap();

    assert_eq!(lines().await.len(), 2);
}
