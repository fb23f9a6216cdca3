//! What a connection to the database may not leave behind.

use std::time::Duration;

use actors::db::Db;
use actors::state::{self, Fact};
use futures_util::poll;

use crate::world::Home;

/// A caller that goes away while its transaction begins leaves no connection inside of a transaction: what others write
/// through that connection would be acknowledged and lost.
#[actix_web::test]
async fn writes_after_cancelled_begins_are_kept() {
    let home = Home::new().await;
    let db = Db::open(&home.database_url()).await.unwrap();

    for polls in 0..40 {
        let mut begin = Box::pin(db.begin());
        for _ in 0..polls % 5 {
            if poll!(&mut begin).is_ready() {
                break;
            }
            tokio::time::sleep(Duration::from_micros(100 * polls)).await;
        }
        drop(begin);
        state::write(db.write(), Fact::Generation, polls.to_string()).await.unwrap();

        let beside = Db::connect(&home.database_url()).await.unwrap();
        assert_eq!(state::read(beside.read(), Fact::Generation).await.unwrap(), Some(polls.to_string()));
        beside.close().await.unwrap();
    }
}
