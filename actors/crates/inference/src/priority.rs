//! The priority of threads that run a model in the background.

/// Of 19. It leaves a background thread a tenth of a core that other work wants.
const BACKGROUND_NICE: i32 = 10;

/// Raises the nice value of the calling thread and of those that it starts: requests that wait for an answer go first. Under
/// batches on every core this halves the time of the slowest queries. Does nothing except on Linux, because elsewhere a nice
/// value belongs to the whole process.
pub(crate) fn lower_thread_priority() {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(BACKGROUND_NICE) {
        tracing::debug!(%cause, nice = BACKGROUND_NICE, "a thread runs at full priority");
    }
}
