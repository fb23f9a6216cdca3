//! What a server sends to its database while no request arrives.

use sea_orm::Statement;

use crate::support::{Server, eventually};

/// Parts of the last statements of the clean-ups at the start.
const LAST_CLEAN_UPS: [&str; 2] = [r#""bookmark"."deleted_at" < "#, r#"DELETE FROM "oauth_client""#];
/// How the statement begins that looks for changes of other processes. It is sent every 400 ms.
const CHECK: &str = r#"SELECT (SELECT "service_state"."value""#;
/// Checks after which the statements are counted: four seconds.
const CHECKS: usize = 10;
/// The greatest number of statements for each check, so 10 a second.
const MAX_STATEMENTS_PER_CHECK: usize = 4;

#[actix_web::test]
async fn idle_server_sends_at_most_ten_statements_a_second() {
    let (_server, _db, sent) = Server::start_recording().await;
    let mut statements: Vec<Statement> = Vec::new();
    eventually("the clean-ups of the start have ended", async || {
        statements.extend(sent.take());
        let is_sent = |part: &&str| statements.iter().any(|statement| statement.sql.contains(*part));
        LAST_CLEAN_UPS.iter().all(is_sent).then_some(())
    })
    .await;
    statements.clear();

    let checks = eventually("the server has checked for changes several times", async || {
        statements.extend(sent.take());
        let checks = statements.iter().filter(|statement| statement.sql.starts_with(CHECK)).count();
        (checks >= CHECKS).then_some(checks)
    })
    .await;

    let sql: Vec<&str> = statements.iter().map(|statement| statement.sql.as_str()).collect();
    assert!(sql.len() <= checks * MAX_STATEMENTS_PER_CHECK, "{sql:#?}");
}
