//! Wakes the worker when a job may be due, so that it need not wait for its next look at the queue.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Tells the worker that there may be a due job. Clones share the signal.
///
/// A signal that nothing waits for is kept, so it is never lost; several signals may become one. It is a hint: the worker
/// also looks at the queue at an interval, for jobs of other processes and jobs whose wait has ended.
#[derive(Clone, Debug, Default)]
pub struct JobSignal(Arc<Notify>);

impl JobSignal {
    /// Signals that there may be a due job. Call it after the commit of the transaction that enqueued the job.
    pub fn notify(&self) {
        self.0.notify_one();
    }

    /// Waits until this time, and then for the next signal. All signals that are sent before it are one. Only one task may wait: each signal
    /// wakes one.
    pub async fn notified(&self, not_before: Instant) {
        sleep_until(not_before).await;
        self.0.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn is_signalled(signal: &JobSignal) -> bool {
        tokio::time::timeout(Duration::from_millis(1), signal.notified(Instant::now())).await.is_ok()
    }

    #[tokio::test]
    async fn signals_before_the_wait_are_kept_as_one() {
        let signal = JobSignal::default();
        signal.clone().notify();
        signal.notify();

        signal.notified(Instant::now()).await;

        assert!(!is_signalled(&signal).await);
    }

    #[tokio::test]
    async fn signals_before_the_time_are_one_at_that_time() {
        let (signal, time) = (JobSignal::default(), Instant::now() + Duration::from_millis(20));
        let sender = signal.clone();
        signal.notify();
        let send_again = async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            sender.notify();
        };

        tokio::join!(signal.notified(time), send_again);

        assert!(Instant::now() >= time);
        assert!(!is_signalled(&signal).await);
    }
}
