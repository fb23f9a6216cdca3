//! The activity is kept for 90 days.

use std::time::Duration;

use values::plan::Plan;

use crate::support::{Server, eventually};

const DAY: Duration = Duration::from_secs(86_400);

/// Covers the threat table (row L4).
#[actix_web::test]
async fn activity_row_is_deleted_after_ninety_days() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    key.get("/rest/v2/search?q=secret+words").await.data(200);
    server.context().requests.activity.flush().await.unwrap();
    let lines = session.get("/app/api/activity").await;
    let line = &lines.data(200)["activity"][0];
    assert_eq!((&line["route"], &line["status"]), (&"GET /search".into(), &200.into()));
    assert!(!lines.body.to_string().contains("secret words"));
    let owner = user.id();

    server.clock.advance(DAY * 90);
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;
    assert_eq!(count_activity_rows(&server, owner).await, 1);
    server.clock.advance(Duration::from_millis(1));
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    eventually("the old row is deleted", async || {
        (count_activity_rows(&server, owner).await == 0).then_some(())
    })
    .await;
}

async fn count_activity_rows(server: &Server, owner: values::id::UserId) -> usize {
    entity::activity::Entity::owned_by(owner).all(server.context().core.db.read()).await.unwrap().len()
}
