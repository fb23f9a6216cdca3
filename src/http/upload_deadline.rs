//! How long a client may take to send a file that is written to the store while it arrives: the file of an upload or of an import.

use std::time::Duration;

use errors::Error;
use tokio::time::{Instant, timeout_at};

use super::min_body_rate::MinBodyRate;

/// A request whose client sends nothing for this long is ended.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The longest time for a whole file.
const MAX_UPLOAD_TIME: Duration = Duration::from_secs(6 * 3600);
/// A file that arrives more slowly uses up its grace time. Far slower than a poor mobile connection, and fast enough that clients
/// which only keep their uploads open lose them.
const MIN_UPLOAD_RATE: MinBodyRate =
    MinBodyRate { grace: Duration::from_secs(120), min_bytes_per_second: 8 << 10 };

/// The time that is left to the client which sends one file.
#[derive(Debug)]
pub struct UploadDeadline {
    started_at: Instant,
    received_bytes: u64,
    /// How long the server has taken to write what had arrived.
    write_time: Duration,
}

impl UploadDeadline {
    /// Starts the time of a file of which nothing has arrived.
    pub fn start() -> Self {
        Self { started_at: Instant::now(), received_bytes: 0, write_time: Duration::ZERO }
    }

    /// Records that more bytes have arrived; they earn time.
    pub fn record_received(&mut self, bytes: usize) {
        self.received_bytes = self.received_bytes.saturating_add(bytes as u64);
    }

    /// Waits until what has arrived is written. The client is not charged for this time: it cannot send while the store is slow.
    pub async fn wait_for_write<T>(&mut self, write: impl Future<Output = T>) -> T {
        let started_at = Instant::now();
        let written = write.await;
        self.record_write(started_at.elapsed());
        written
    }

    fn record_write(&mut self, time: Duration) {
        self.write_time = self.write_time.saturating_add(time);
    }

    /// Waits for what the client sends next.
    ///
    /// # Errors
    /// [`Error::BodyTimeout`] when nothing arrives for a minute, when the file arrives more slowly than 8 KiB per second for longer
    /// than two minutes in all, not counting the time of [`Self::wait_for_write`], or after six hours.
    pub async fn wait_for<T>(&self, next: impl Future<Output = T>) -> Result<T, Error> {
        timeout_at(self.next_deadline(Instant::now()), next).await.map_err(|_| Error::BodyTimeout)
    }

    /// Returns when the request is ended if nothing arrives from `now` on.
    fn next_deadline(&self, now: Instant) -> Instant {
        let allowed = MIN_UPLOAD_RATE.allowed(self.received_bytes).saturating_add(self.write_time);
        // The rate alone bounds nothing: a client at the minimum rate earns time without end.
        let allowed = allowed.min(MAX_UPLOAD_TIME);
        // A client that was fast at first has earned much time, and must not be silent for as long.
        (self.started_at + allowed).min(now + MAX_SILENCE)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns how long a client is served that sends `bytes` after each pause.
    fn served_time(pause: Duration, bytes: usize) -> Duration {
        let mut deadline = UploadDeadline::start();
        let mut now = deadline.started_at;
        while now + pause <= deadline.next_deadline(now) && now < deadline.started_at + 7 * 3600 * SECOND {
            now += pause;
            deadline.record_received(bytes);
        }
        deadline.next_deadline(now) - deadline.started_at
    }

    #[test]
    fn client_that_trickles_is_refused_after_its_grace() {
        assert_eq!(served_time(59 * SECOND, 1), 120 * SECOND);
        // Half of the minimum rate.
        assert_eq!(served_time(SECOND, 4 << 10), Duration::from_millis(239_500));
    }

    #[test]
    fn client_that_is_silent_for_a_minute_is_refused() {
        assert_eq!(served_time(61 * SECOND, 1 << 30), 60 * SECOND);
    }

    #[test]
    fn steady_client_is_served_for_six_hours() {
        assert_eq!(served_time(SECOND, 8 << 10), 6 * 3600 * SECOND);
        assert_eq!(served_time(50 * SECOND, 1 << 20), 6 * 3600 * SECOND);
    }

    #[test]
    fn time_of_slow_writes_is_not_charged_to_the_client() {
        let mut deadline = UploadDeadline::start();
        let now = deadline.started_at + 600 * SECOND;

        deadline.record_write(590 * SECOND);

        assert_eq!(deadline.next_deadline(now), now + MAX_SILENCE);
    }

    #[actix_web::test]
    async fn time_of_a_write_is_recorded() {
        let mut deadline = UploadDeadline::start();

        deadline.wait_for_write(tokio::time::sleep(Duration::from_millis(20))).await;

        assert!(deadline.write_time >= Duration::from_millis(20));
    }

    #[actix_web::test]
    async fn wait_ends_when_the_time_is_used_up() {
        let mut deadline = UploadDeadline::start();
        deadline.started_at -= 121 * SECOND;

        assert!(matches!(deadline.wait_for(pending::<()>()).await, Err(Error::BodyTimeout)));
        deadline.record_received(1 << 20);
        assert!(deadline.wait_for(ready(())).await.is_ok());
    }
}
