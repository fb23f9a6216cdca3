//! Wakes the worker when a job may be due, so that it need not wait for its next look at the queue.

use std::sync::Arc;

use tokio::sync::Notify;

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

    /// Waits for the next signal. Only one task may wait: each signal wakes one.
    pub async fn notified(&self) {
        self.0.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn signals_before_the_wait_are_kept_as_one() {
        let signal = JobSignal::default();
        signal.clone().notify();
        signal.notify();

        signal.notified().await;

        assert!(tokio::time::timeout(Duration::from_millis(1), signal.notified()).await.is_err());
    }
}
