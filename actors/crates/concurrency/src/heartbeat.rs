//! Repeats an asynchronous action until it is dropped, such as the renewal of a lease.

use std::time::Duration;

use tokio::task::AbortHandle;
use tracing::warn;

/// A task that repeats an action. It ends when this is dropped.
#[derive(Debug)]
pub struct Heartbeat(AbortHandle);

impl Heartbeat {
    /// Runs `action` once in every period, the first time after one. A failure, which is a text for the log, is logged with `purpose`;
    /// the action is run again in the next period.
    pub fn every<F>(period: Duration, purpose: &'static str, action: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send,
    {
        let task = tokio::spawn(async move {
            loop {
                // Not an interval, which would make up for the periods that a slow action took.
                tokio::time::sleep(period).await;
                if let Err(cause) = action().await {
                    warn!(cause, what = purpose, "heartbeat failed");
                }
            }
        });
        Self(task.abort_handle())
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn heartbeat_survives_failures_and_ends_when_dropped() {
        let (beats, period) = (Arc::new(AtomicUsize::new(0)), Duration::from_millis(10));
        let count = beats.clone();
        let heartbeat = Heartbeat::every(period, "a test", move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { Err("it failed".to_owned()) }
        });

        while beats.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(period).await;
        }
        drop(heartbeat);
        tokio::time::sleep(period).await;
        let last = beats.load(Ordering::SeqCst);
        tokio::time::sleep(10 * period).await;
        assert_eq!(beats.load(Ordering::SeqCst), last);
    }
}
