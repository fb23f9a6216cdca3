//! Counts the processes that died while they opened the index: one that ends every process is moved aside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::warn;

/// How often the index was being opened when its process died, since it was last opened well.
const OPENINGS_FILE: &str = "index.opening";

/// The count of a data folder. Clones share its stage.
#[derive(Clone, Debug)]
pub(super) struct OpeningCount {
    file: PathBuf,
    stage: Arc<Mutex<Stage>>,
}

/// What this process is doing with the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    /// It opens it, and counts as dead until it has; `deaths` were there before.
    Opening {
        deaths: u32,
    },
    /// It ends in order, whether the index is being opened or not.
    Ending,
}

impl OpeningCount {
    pub fn new(data_dir: &Path) -> Self {
        Self { file: data_dir.join(OPENINGS_FILE), stage: Arc::new(Mutex::new(Stage::Idle)) }
    }

    /// How many processes in a row have died while they opened the index.
    pub fn deaths(&self) -> u32 {
        fs::read_to_string(&self.file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    /// Counts this process as dead until [`Self::end`].
    pub fn begin(&self) {
        let mut stage = self.stage();
        if *stage != Stage::Ending {
            let deaths = self.deaths();
            *stage = Stage::Opening { deaths };
            self.write(deaths + 1);
        }
    }

    /// The index was opened, or opening it was given up: resets the count.
    pub fn end(&self) {
        let mut stage = self.stage();
        if *stage != Stage::Ending {
            *stage = Stage::Idle;
        }
        self.write(0);
    }

    /// The process was told to stop: if it is opening the index, it no longer counts as dead, and it opens no other.
    pub fn cancel(&self) {
        let mut stage = self.stage();
        if let Stage::Opening { deaths } = *stage {
            self.write(deaths);
        }
        *stage = Stage::Ending;
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, deaths: u32) {
        let written = match deaths {
            0 => fs::remove_file(&self.file),
            deaths => fs::write(&self.file, deaths.to_string()),
        };
        if let Err(cause) = written
            && cause.kind() != io::ErrorKind::NotFound
        {
            warn!(%cause, "could not note whether the passage index is being opened");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A data folder in which this many processes died while they opened the index.
    fn with_deaths(deaths: u32) -> (tempfile::TempDir, OpeningCount) {
        let home = tempfile::tempdir().unwrap();
        let count = OpeningCount::new(home.path());
        (0..deaths).for_each(|_| count.begin());
        (home, count)
    }

    #[test]
    fn death_while_opening_is_counted_until_one_opening_ends() {
        let (home, count) = with_deaths(3);
        assert_eq!(count.deaths(), 3);

        count.end();

        assert_eq!(count.deaths(), 0);
        assert!(!home.path().join(OPENINGS_FILE).exists());
    }

    #[test]
    fn orderly_end_while_opening_counts_no_death() {
        for deaths in [0, 2] {
            let (_home, count) = with_deaths(deaths);
            count.begin();

            count.cancel();
            count.begin();

            assert_eq!(count.deaths(), deaths);
        }
    }

    #[test]
    fn opening_that_ends_after_the_order_to_end_clears_the_count() {
        let (_home, count) = with_deaths(2);
        count.begin();
        count.cancel();

        count.end();

        assert_eq!(count.deaths(), 0);
    }
}
