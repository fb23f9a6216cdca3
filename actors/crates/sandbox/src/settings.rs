//! The limits of child processes.

use std::time::Duration;

use super::wire::{Setup, WorkerMode};

/// The limits of child processes.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// Children that work at the same time, at least 1.
    pub children: usize,
    /// Wall-clock time of one job. Five times [`Self::cpu_seconds`] or more: children have a lower priority, and get a quarter of the
    /// processor time of a machine that is busy. A child that exceeds it hangs.
    pub wall_time: Duration,
    /// Processor seconds of one job.
    pub cpu_seconds: u64,
    /// Address space of a child in bytes, its program included.
    pub memory_bytes: u64,
    /// The longest input, in bytes.
    pub input_bytes: usize,
    /// The longest text that comes back, in bytes.
    pub output_bytes: usize,
    /// Time after which a child without work ends.
    pub idle_timeout: Duration,
    /// Jobs after which a child is replaced by a fresh one.
    pub max_jobs: u32,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            children: std::thread::available_parallelism().map_or(1, usize::from).min(4),
            wall_time: Duration::from_secs(90),
            cpu_seconds: 15,
            memory_bytes: 1 << 30,
            input_bytes: 32 << 20,
            output_bytes: 16 << 20,
            idle_timeout: Duration::from_secs(20),
            max_jobs: 500,
        }
    }
}

impl SandboxSettings {
    /// Returns the limits for documents, which are larger and less urgent than pages. A child
    /// holds the whole file and its text.
    pub fn documents() -> Self {
        let input_bytes = 512 << 20;
        Self {
            children: Self::default().children.min(2),
            wall_time: Duration::from_secs(300),
            cpu_seconds: 60,
            memory_bytes: (1 << 30) + input_bytes as u64,
            input_bytes,
            output_bytes: 64 << 20,
            max_jobs: 50,
            ..Self::default()
        }
    }

    /// Returns the limits for pictures of pages and for their text layers. A reader waits for them, so a page that takes long is given up
    /// earlier than the text of a document.
    pub fn pictures() -> Self {
        Self {
            wall_time: Duration::from_secs(100),
            cpu_seconds: 20,
            idle_timeout: Duration::from_secs(60),
            ..Self::documents()
        }
    }

    /// Returns the limits for pictures of web pages: those of pages, with at most two children, because decoding takes milliseconds.
    pub(super) fn web_pictures(pages: &Self) -> Self {
        Self { children: pages.children.min(2), ..pages.clone() }
    }

    pub(super) fn setup(&self, mode: WorkerMode) -> Setup {
        Setup {
            mode,
            memory_bytes: self.memory_bytes,
            cpu_seconds: self.cpu_seconds,
            input_bytes: self.input_bytes,
            output_bytes: self.output_bytes,
        }
    }
}
