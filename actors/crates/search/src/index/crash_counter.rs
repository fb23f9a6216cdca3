//! Counts the processes that ended while they opened the index. An index that ends every process is moved aside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::warn;

/// Holds the number of processes that ended while they opened the index, since one last opened it.
const CRASHES_FILE: &str = "index.opening";

/// The counter of a data folder. Clones share its stage.
#[derive(Clone, Debug)]
pub(super) struct CrashCounter {
    file: PathBuf,
    stage: Arc<Mutex<Stage>>,
}

/// The stage of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// It is opening the index, and counts as crashed until it has. Before it there were `crashes`.
    Opening {
        crashes: u32,
    },
    /// It stops, whether or not it is opening the index.
    Stopping,
}

impl CrashCounter {
    pub fn new(data_dir: &Path) -> Self {
        Self { file: data_dir.join(CRASHES_FILE), stage: Arc::new(Mutex::new(Stage::Idle)) }
    }

    /// Returns how many processes in a row ended while they opened the index.
    pub fn crashes(&self) -> u32 {
        fs::read_to_string(&self.file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Counts this process as crashed until [`Self::finish_opening`].
    pub fn begin_opening(&self) {
        let mut stage = self.stage();
        if *stage != Stage::Stopping {
            let crashes = self.crashes();
            *stage = Stage::Opening { crashes };
            // Written before the index is opened: a process that the engine aborts, or that SIGBUS ends, writes nothing afterwards.
            self.write(crashes + 1);
        }
    }

    /// Resets the count: the index was opened, or is moved aside.
    pub fn finish_opening(&self) {
        let mut stage = self.stage();
        if *stage != Stage::Stopping {
            *stage = Stage::Idle;
        }
        self.write(0);
    }

    /// Records that the process stops: neither an opening in progress nor a later one counts as a crash.
    pub fn cancel_opening(&self) {
        let mut stage = self.stage();
        if let Stage::Opening { crashes } = *stage {
            self.write(crashes);
        }
        *stage = Stage::Stopping;
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, crashes: u32) {
        let written = match crashes {
            0 => fs::remove_file(&self.file),
            crashes => fs::write(&self.file, crashes.to_string()),
        };
        if let Err(cause) = written
            && cause.kind() != io::ErrorKind::NotFound
        {
            warn!(%cause, "could not record an attempt to open the passage index");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data folder in which this many processes ended while they opened the index.
    fn with_crashes(crashes: u32) -> (tempfile::TempDir, CrashCounter) {
        let home = tempfile::tempdir().unwrap();
        let counter = CrashCounter::new(home.path());
        (0..crashes).for_each(|_| counter.begin_opening());
        (home, counter)
    }

    #[test]
    fn crashes_are_counted_until_an_opening_finishes() {
        let (home, counter) = with_crashes(3);
        assert_eq!(counter.crashes(), 3);

        counter.finish_opening();

        assert_eq!(counter.crashes(), 0);
        assert!(!home.path().join(CRASHES_FILE).exists());
    }

    #[test]
    fn stop_while_opening_counts_no_crash() {
        for crashes in [0, 2] {
            let (_home, counter) = with_crashes(crashes);
            counter.begin_opening();

            counter.cancel_opening();
            counter.begin_opening();

            assert_eq!(counter.crashes(), crashes);
        }
    }

    #[test]
    fn opening_that_finishes_after_a_stop_resets_the_count() {
        let (_home, counter) = with_crashes(2);
        counter.begin_opening();
        counter.cancel_opening();

        counter.finish_opening();

        assert_eq!(counter.crashes(), 0);
    }
}
