//! The real program: SIGTERM ends it in order, and what it counted is there afterwards.

use std::time::{Duration, Instant};

use crate::world::{Home, Program, eventually, program};

#[actix_web::test]
async fn sigterm_ends_the_program_with_status_0_and_what_was_counted_is_kept() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    for count in 1..=5 {
        assert_eq!(key.get("/rest/v2/usage").await.data(200)["rest"]["today"], count);
    }

    let began = Instant::now();
    let ended = running.terminate().await;

    assert_eq!(ended.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    assert_eq!(key.get("/rest/v2/usage").await.data(200)["rest"]["today"], 6);
    assert_eq!(lines(&running, "GET /usage").await, 6);
    assert!(running.terminate().await.success());
}

#[actix_web::test]
async fn what_was_saved_just_before_sigterm_is_ready_after_the_next_start() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    let mut saved = Vec::new();
    for n in 0..10 {
        saved.push(
            key.save_text(&format!("https://example.org/{n}"), &format!("The heron number n{n}n.")).await,
        );
    }

    assert!(running.terminate().await.success());

    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    for (n, bookmark) in saved.iter().enumerate() {
        key.once(bookmark, "ready").await;
        assert_eq!(key.search(&format!("n{n}n")).await, [bookmark["documentId"].as_str().unwrap()]);
    }
}

/// Lines of the activity with this route, once they have been written.
async fn lines(running: &Program, route: &str) -> usize {
    let credentials = serde_json::json!({ "email": program::EMAIL, "password": program::PASSWORD });
    let signed_in = running.stranger().post("/app/api/session", credentials).await;
    signed_in.data(200);
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let session = running.stranger().with("cookie", &cookie);
    // The last call is written within a second.
    let mut seen = 0;
    eventually("the activity comes to rest", async || {
        let answer = session.get("/app/api/activity").await;
        let all = answer.data(200)["activity"].as_array().unwrap();
        let count = all.iter().filter(|line| line["route"] == route).count();
        let rests = count == seen && count >= 6;
        seen = count;
        rests.then_some(count)
    })
    .await
}
