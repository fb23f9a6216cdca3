//! Lower priorities for threads that would delay the answers to other requests.

/// For transcription. Beside a busy thread of normal priority it gets a tenth of the core.
pub const BACKGROUND_NICE: i32 = 10;
/// For password hashes and parsers: after other requests, before background work. Beside a busy thread of normal priority they get a
/// quarter of the core.
pub const HEAVY_REQUEST_NICE: i32 = 5;

/// Raises the nice value of the calling thread, and of those that it starts, by `nice`. Does nothing where nice values belong to
/// processes, as everywhere but on Linux.
pub fn lower_thread_priority(nice: i32) {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(nice) {
        tracing::debug!(%cause, nice, "a thread runs at full priority");
    }
}
