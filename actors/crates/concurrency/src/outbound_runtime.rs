//! A separate runtime for requests to another service, so that blocking code can send them.

use std::fmt;
use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime with one thread. Its connections make progress whatever the thread that waits for a response does, and whatever the runtime of
/// the actors does. It can be dropped anywhere, also by an async task; requests in progress end then.
pub struct OutboundRuntime {
    handle: Handle,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl OutboundRuntime {
    /// Starts the thread, with this name.
    ///
    /// # Errors
    /// [`io::Error`] when the thread cannot be started.
    pub fn start(thread_name: &str) -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name(thread_name).enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Runs a future and waits for its output. Blocks, so it must not be called by an async task: it panics there.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl fmt::Debug for OutboundRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboundRuntime").finish_non_exhaustive()
    }
}

impl Drop for OutboundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The drop of a runtime waits for its threads, which an async task must not.
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn runtime_is_used_by_blocking_code_and_dropped_by_a_task() {
        let runtime = OutboundRuntime::start("outbound").unwrap();

        let used = tokio::task::spawn_blocking(move || {
            let output = runtime.block_on(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                7
            });
            (output, runtime)
        });
        let (output, runtime) = used.await.unwrap();

        assert_eq!(output, 7);
        drop(runtime);
    }
}
