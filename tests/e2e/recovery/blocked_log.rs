//! The program with a blocked or closed stderr: it continues to respond and shuts down.

use std::time::Duration;

use tokio::time::timeout;

use crate::support::{Home, Program, eventually};

/// Each request writes a log line of more than 100 bytes: together several times the capacity of a pipe (64 KiB).
const REQUESTS: usize = 4_000;
const PARALLEL_REQUESTS: usize = 40;
/// A service that waits for its log would never respond.
const REQUESTS_TIMEOUT: Duration = Duration::from_secs(60);

async fn send_requests(running: &Program) {
    let anonymous = running.anonymous();
    for _ in 0..REQUESTS / PARALLEL_REQUESTS {
        let answers = (0..PARALLEL_REQUESTS).map(|_| anonymous.get("/healthz"));
        for answer in futures_util::future::join_all(answers).await {
            assert_eq!(answer.status, 200);
        }
    }
}

/// Covers the fault table (row 39).
#[actix_web::test]
async fn unread_stderr_delays_no_response_and_no_shutdown() {
    let home = Home::new().await;
    let running = Program::start_with_unread_stderr(&home, "data", &[("LOG__LEVEL", "debug")]).await;

    timeout(REQUESTS_TIMEOUT, send_requests(&running)).await.expect("requests wait for the log");
    let metrics = running.anonymous().get("/metrics").await.text;
    let (ended, held) = running.terminate_and_read_stderr().await;

    assert_eq!(ended.code(), Some(0));
    let written = held.matches("answered").count();
    assert!(0 < written && written < REQUESTS, "the pipe was never full: {written} lines");
    assert!(metrics.contains("carrel_log_lost_lines_total{reason=\"queue_full\"}"), "{metrics}");
}

/// Covers the fault table (row 39).
#[actix_web::test]
async fn closed_stderr_stops_nothing_and_counts_lost_lines() {
    let home = Home::new().await;
    let mut running = Program::start_with_unread_stderr(&home, "data", &[("LOG__LEVEL", "debug")]).await;
    running.close_stderr();

    let anonymous = running.anonymous();
    let lost = eventually("a lost line is counted", async || {
        let metrics = anonymous.get("/metrics").await.text;
        let line = metrics.lines().find(|line| line.contains("reason=\"write_failed\""))?.to_owned();
        line.rsplit(' ').next()?.parse::<u64>().ok().filter(|lost| *lost > 0)
    })
    .await;

    assert!(lost > 0);
    assert_eq!(running.terminate().await.code(), Some(0));
}
