//! Two services on one database: what one of them changes, the other knows within a second.

use std::time::{Duration, Instant};

use crate::world::{Home, Program, program};

#[actix_web::test]
async fn a_key_that_is_revoked_beside_a_service_is_refused_by_it_within_a_second() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let (one, other) = (Program::start(&home, "data").await, Program::start(&home, "second").await);
    let (here, there) = (one.holder(&id, &secret), other.holder(&id, &secret));
    here.get("/rest/v2/usage").await.data(200);
    there.get("/rest/v2/usage").await.data(200);

    program::run(&home, &["key", "revoke", &id], "");
    let revoked = Instant::now();

    for key in [here, there] {
        let last_admitted = loop {
            let asked = Instant::now();
            let answer = key.get("/rest/v2/usage").await;
            match answer.status {
                200 => {
                    assert!(asked.duration_since(revoked) < Duration::from_secs(2), "it is admitted for ever")
                }
                _ => {
                    assert_eq!(answer.refused(401), "API_KEY_INVALID");
                    break asked;
                }
            }
        };
        assert!(last_admitted.duration_since(revoked) <= Duration::from_secs(1));
    }
}

#[actix_web::test]
async fn what_two_services_admit_together_is_one_day() {
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let (one, other) = (Program::start(&home, "data").await, Program::start(&home, "second").await);
    for _ in 0..3 {
        one.holder(&id, &secret).get("/rest/v2/usage").await.data(200);
        other.holder(&id, &secret).get("/rest/v2/usage").await.data(200);
    }

    assert!(one.terminate().await.success());
    assert!(other.terminate().await.success());

    let third = Program::start(&home, "data").await;
    assert_eq!(third.holder(&id, &secret).get("/rest/v2/usage").await.data(200)["rest"]["today"], 7);
}

#[actix_web::test]
async fn two_services_that_start_at_once_on_an_empty_database_both_become_ready() {
    let home = Home::new().await;

    let (mut one, mut other) = (Program::begin(&home, "data"), Program::begin(&home, "second"));

    one.ready().await;
    other.ready().await;
}
