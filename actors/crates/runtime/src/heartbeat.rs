//! A sign of life: something that is said again and again as long as it is true.

use std::time::Duration;

use tokio::task::AbortHandle;
use tracing::warn;

use crate::error_chain;

/// As long as this lives, something is done at every period, the first time after one.
#[derive(Debug)]
pub struct Beat(AbortHandle);

impl Beat {
    /// Does `again` at every period. What fails is done again with the next one; `what` names it in the log.
    pub fn every<F, E>(period: Duration, what: &'static str, again: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send,
        E: std::error::Error + Send,
    {
        let beating = tokio::spawn(async move {
            loop {
                tokio::time::sleep(period).await;
                if let Err(error) = again().await {
                    warn!(cause = error_chain(&error), what, "a sign of life could not be given");
                }
            }
        });
        Self(beating.abort_handle())
    }
}

impl Drop for Beat {
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
    async fn it_beats_on_after_a_failure_and_ends_with_its_holder() {
        let (beats, period) = (Arc::new(AtomicUsize::new(0)), Duration::from_millis(10));
        let count = beats.clone();
        let beat = Beat::every(period, "a test", move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { Err(std::fmt::Error) }
        });

        while beats.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(period).await;
        }
        drop(beat);
        tokio::time::sleep(period).await;
        let last = beats.load(Ordering::SeqCst);
        tokio::time::sleep(10 * period).await;
        assert_eq!(beats.load(Ordering::SeqCst), last);
    }
}
