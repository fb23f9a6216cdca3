//! The output of the log: a bounded queue, and a thread that writes its lines to stderr.
//!
//! Nothing that logs waits for stderr. A line that finds the queue full is lost and counted, and so is a line that stderr
//! refuses (row 39).

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use tracing::warn;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that may wait for stderr. With some 300 bytes a line a full queue holds about 5 MB.
const MAX_QUEUED_LINES: usize = 16_384;
/// Time for which the end of the process waits for lines that are not written yet.
const MAX_FLUSH: Duration = Duration::from_secs(2);
/// Interval at which the log itself says that lines were lost.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// The counters of this process, from the moment that its log was started.
static COUNTERS: OnceLock<Counters> = OnceLock::new();

/// Log lines that were lost since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostLines {
    /// The queue was full: stderr is read too slowly, or not at all.
    pub queue_full: u64,
    /// Writing to stderr failed, for example because the reader of the pipe has ended.
    pub write_failed: u64,
}

#[derive(Clone, Debug)]
struct Counters {
    queue_full: ErrorCounter,
    write_failed: Arc<AtomicU64>,
    /// The number of lost lines that the log has reported already.
    reported: Arc<AtomicU64>,
}

impl Counters {
    fn read(&self) -> LostLines {
        LostLines {
            queue_full: u64::try_from(self.queue_full.dropped_lines()).unwrap_or(u64::MAX),
            write_failed: self.write_failed.load(Ordering::Relaxed),
        }
    }
}

/// Returns the log lines that this process has lost; zeros if its log was not started.
pub fn lost_lines() -> LostLines {
    COUNTERS.get().map(Counters::read).unwrap_or_default()
}

/// Says in the log from time to time how many of its lines were lost. Runs until it is aborted.
pub async fn report_lost_lines() {
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        report_newly_lost();
    }
}

fn report_newly_lost() {
    let Some(counters) = COUNTERS.get() else { return };
    let LostLines { queue_full, write_failed } = counters.read();
    let total = queue_full.saturating_add(write_failed);
    // One exchange: the guard and the periodic report may run at the same time.
    let before = counters.reported.swap(total, Ordering::Relaxed);
    if total > before {
        let lost = total - before;
        warn!(log.lost_lines = lost, "log lines were lost: stderr is not read fast enough, or not at all");
    }
}

/// Keeps the log's thread alive. Dropping it writes the lines that still wait, for at most two seconds.
#[must_use = "without it the last lines of the log are lost"]
#[derive(Debug)]
pub struct LogGuard {
    worker: Option<WorkerGuard>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        report_newly_lost();
        let worker = self.worker.take();
        // The guard of tracing-appender waits about a second, but it prints to stdout when the queue is full, which may block too.
        run_bounded(MAX_FLUSH, move || drop(worker));
    }
}

/// The queue of the log of this process, whose lines go to stderr.
pub(super) fn to_stderr() -> (NonBlocking, LogGuard) {
    let (queue, worker, counters) = start(io::stderr(), MAX_QUEUED_LINES);
    // Where the process has a log already, this one is not used.
    let _ = COUNTERS.set(counters);
    (queue, LogGuard { worker: Some(worker) })
}

fn start<W: Write + Send + 'static>(writer: W, max_lines: usize) -> (NonBlocking, WorkerGuard, Counters) {
    let write_failed = Arc::new(AtomicU64::new(0));
    let writer = CountedWriter { writer, failed: write_failed.clone() };
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(max_lines);
    let (queue, worker) = builder.thread_name("log").finish(writer);
    let counters = Counters { queue_full: queue.error_counter(), write_failed, reported: Arc::default() };
    (queue, worker, counters)
}

/// Counts the lines that could not be written: tracing-appender drops these errors.
struct CountedWriter<W> {
    writer: W,
    failed: Arc<AtomicU64>,
}

impl<W: Write> Write for CountedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    /// Called once for each line.
    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        let written = self.writer.write_all(line);
        if written.is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Runs `work` on a separate thread and waits for its end, but no longer than `limit`: for output that may block indefinitely.
pub fn run_bounded(limit: Duration, work: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let spawned = thread::Builder::new().spawn(move || {
        work();
        let _ = done.send(());
    });
    // Without a thread the output is lost: this thread must not block.
    if spawned.is_ok() {
        let _ = ended.recv_timeout(limit);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Writes nothing until the other end of the channel is dropped.
    struct BlockedWriter(mpsc::Receiver<()>);

    impl Write for BlockedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Keeps lines, but fails for `lost` and in the middle of `half`; sends a message when it has received `last`.
    struct FailingWriter {
        written: Arc<Mutex<Vec<u8>>>,
        got_last: mpsc::Sender<()>,
    }

    impl Write for FailingWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let length = match bytes {
                b"lost\n" | b"lf\n" => return Err(io::ErrorKind::BrokenPipe.into()),
                b"half\n" => 2,
                _ => bytes.len(),
            };
            self.written.lock().unwrap().extend_from_slice(&bytes[..length]);
            if bytes == b"last\n" {
                self.got_last.send(()).unwrap();
            }
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Covers the fault table (row 39).
    #[test]
    fn blocked_writer_loses_lines_and_counts_them() {
        let (release, blocked) = mpsc::channel();
        let (mut queue, worker, counters) = start(BlockedWriter(blocked), 2);

        for _ in 0..10 {
            queue.write_all(b"line\n").unwrap();
        }

        // Two wait in the queue, and the thread may have taken another.
        assert!((7..=8).contains(&counters.read().queue_full), "{counters:?}");
        drop(release);
        drop(worker);
    }

    /// Covers the fault table (row 39).
    #[test]
    fn failed_lines_are_counted_and_later_ones_written() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let (got_last, last) = mpsc::channel();
        let (mut queue, _worker, counters) = start(FailingWriter { written: written.clone(), got_last }, 10);

        for line in ["kept\n", "lost\n", "half\n", "lost\n", "last\n"] {
            queue.write_all(line.as_bytes()).unwrap();
        }
        last.recv().unwrap();

        assert_eq!(counters.read(), LostLines { queue_full: 0, write_failed: 3 });
        assert_eq!(String::from_utf8_lossy(&written.lock().unwrap()), "kept\nhalast\n");
    }

    #[test]
    fn bounded_work_that_blocks_is_left_behind() {
        let (release, blocked) = mpsc::channel::<()>();

        run_bounded(Duration::ZERO, move || {
            let _ = blocked.recv();
        });

        drop(release);
    }
}
