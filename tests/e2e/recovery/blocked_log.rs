//! The real program with a stderr that is not read: it continues to answer requests, loses log lines instead, and ends in order.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::support::{Client, Home, Program, eventually};

/// Requests between two looks at the metrics. Each writes at least one line of more than 100 bytes.
const BATCH_REQUESTS: usize = 1_000;
const PARALLEL_REQUESTS: usize = 40;
/// More lines than wait for stderr at any time: the queue has room for 16,384, and a pipe holds 64 KiB.
const MAX_REQUESTS: usize = 40_000;
/// A server that waits for its log never answers again.
const REQUESTS_TIMEOUT: Duration = Duration::from_secs(120);
/// Several times what a batch takes on a busy machine.
const MAX_BATCH_TIME: Duration = Duration::from_secs(15);

async fn send_requests(anonymous: &Client, count: usize) {
    for _ in 0..count / PARALLEL_REQUESTS {
        for answer in join_all((0..PARALLEL_REQUESTS).map(|_| anonymous.get("/healthz"))).await {
            assert_eq!(answer.status, 200);
        }
    }
}

/// The log lines that the server has lost for this reason.
async fn lost_lines(anonymous: &Client, reason: &str) -> u64 {
    let metrics = anonymous.get("/metrics").await.text;
    let name = format!("carrel_log_lost_lines_total{{reason=\"{reason}\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name.as_str()));
    value.unwrap_or_else(|| panic!("{metrics}")).trim().parse().unwrap()
}

/// Sends requests until the queue of the log is full; returns their number.
async fn fill_log_queue(anonymous: &Client) -> usize {
    for batch in 1..=MAX_REQUESTS / BATCH_REQUESTS {
        send_requests(anonymous, BATCH_REQUESTS).await;
        if lost_lines(anonymous, "queue_full").await > 0 {
            return batch * BATCH_REQUESTS;
        }
    }
    panic!("no line was lost after {MAX_REQUESTS} requests");
}

/// Covers the fault table (row 39).
#[actix_web::test]
async fn unread_stderr_delays_no_response_and_no_shutdown() {
    let home = Home::new().await;
    let running = Program::start_with_unread_stderr(&home, "data", &[("LOG__LEVEL", "debug")]).await;
    let anonymous = running.anonymous();

    let filling = timeout(REQUESTS_TIMEOUT, fill_log_queue(&anonymous)).await;
    let requests = filling.expect("requests wait for the log");
    let (lost_before, began) = (lost_lines(&anonymous, "queue_full").await, Instant::now());
    let sent = timeout(MAX_BATCH_TIME, send_requests(&anonymous, BATCH_REQUESTS)).await;
    sent.unwrap_or_else(|_| panic!("requests wait for the full queue: {:?}", began.elapsed()));
    let lost_after = lost_lines(&anonymous, "queue_full").await;
    let (ended, held) = running.terminate_and_read_stderr().await;

    assert_eq!(ended.code(), Some(0));
    // The queue is full, so each request loses its line.
    let expected = u64::try_from(BATCH_REQUESTS).unwrap();
    assert!(lost_after - lost_before >= expected, "{lost_before}, then {lost_after}");
    let written = held.matches("request finished").count();
    assert!(0 < written && written < requests, "the pipe was never full: {written} lines");
}

/// Covers the fault table (row 39).
#[actix_web::test]
async fn closed_stderr_stops_nothing_and_counts_lost_lines() {
    let home = Home::new().await;
    let mut running = Program::start_with_unread_stderr(&home, "data", &[("LOG__LEVEL", "debug")]).await;
    running.close_stderr();

    let anonymous = running.anonymous();
    eventually("a lost line is counted", async || {
        (lost_lines(&anonymous, "write_failed").await > 0).then_some(())
    })
    .await;

    assert_eq!(running.terminate().await.code(), Some(0));
}
