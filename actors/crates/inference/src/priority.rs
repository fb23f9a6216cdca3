//! The priority of threads that run a model in the background.
//!
//! The `runtime` crate has a similar function for password hashes. This crate does not use it, because a leaf crate must not depend
//! on `runtime` (actix), and the value differs.

/// Nice value of background threads (the maximum is 19). Next to a busy thread of normal priority such a thread gets a tenth of the
/// core.
const BACKGROUND_NICE: i32 = 10;

/// Raises the nice value of the calling thread and of threads that it starts, so that requests run first. With
/// batches on every core this halves the latency of the slowest queries. Does nothing except on Linux, because elsewhere a nice
/// value belongs to the whole process.
pub(crate) fn lower_thread_priority() {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(BACKGROUND_NICE) {
        tracing::debug!(%cause, nice = BACKGROUND_NICE, "a thread runs at full priority");
    }
}
