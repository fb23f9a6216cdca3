//! The priority of threads: requests run before password hashes, models and parsers.

/// Adds `increment` to the nice value of the calling thread, and so to that of threads that it starts. The maximum of the sum is 19.
/// Call it on a thread that does nothing else, because the priority cannot be raised again without privileges.
///
/// Does nothing on systems other than Linux: there a nice value belongs to the whole process. A failure is logged at debug level and
/// ignored, because the work is also correct at full priority.
pub fn lower_thread_priority(increment: i32) {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(increment) {
        tracing::debug!(%cause, nice = increment, "a thread runs at full priority");
    }
}
