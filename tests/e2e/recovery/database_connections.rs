//! Database connections after cancelled transactions and statements.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use actors::service_state::{self, ServiceStateKey};
use database::Db;
use errors::Error;

use sea_orm::ConnectionTrait;

use crate::support::Home;

/// More than the write connections of a service. They are used in turn, so each of them is used.
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
    let beside = Db::connect(&home.database_url()).await.unwrap();

    for polls in 1.. {
        let begun = poll_times(Box::pin(db.begin()), polls).await.transpose().unwrap();
        let has_begun = begun.is_some();
        drop(begun);

        for n in 0..WRITES {
            let value = format!("{polls}.{n}");
            service_state::write(db.write(), ServiceStateKey::Generation, value.clone()).await.unwrap();
            let kept = service_state::read(beside.read(), ServiceStateKey::Generation).await.unwrap();
            assert_eq!(kept, Some(value), "cut after {polls} polls");
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
