//! Lack of file handles, which SQLite reports as a file that cannot be opened, or as a database that is read-only.

use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tracing::error;

/// Minimum interval between log messages, because every connection that cannot be opened meets the fault.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Time of the last log message.
#[derive(Debug, Default)]
pub(super) struct HandleReport(Mutex<Option<Instant>>);

impl HandleReport {
    /// Logs the limit if no file can be opened now.
    pub(super) fn report_if_exhausted(&self) {
        // Any file will do, but not one of the database: closing it would release the locks of SQLite.
        let errno = File::open("/dev/null").err().as_ref().and_then(Errno::from_io_error);
        if errno == Some(Errno::MFILE) || errno == Some(Errno::NFILE) {
            self.report();
        }
    }

    /// Logs that handles ran out, and the limit.
    pub(super) fn report(&self) {
        if !self.is_due(Instant::now()) {
            return;
        }
        let limit = getrlimit(Resource::Nofile).current;
        error!(
            limit,
            "no file descriptor was free, so a file of the database could not be opened: raise RLIMIT_NOFILE (LimitNOFILE of systemd, \
             `ulimit -n`), or lower server.max_connections_per_address; if the process has not reached its limit, raise fs.file-max of the system"
        );
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|at| now.duration_since(at) >= REPORT_INTERVAL);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_exhaustion_is_logged_once_per_interval() {
        let (report, start) = (HandleReport::default(), Instant::now());

        assert!(report.is_due(start));
        assert!(!report.is_due(start + REPORT_INTERVAL - Duration::from_secs(1)));
        assert!(report.is_due(start + REPORT_INTERVAL));
    }
}
