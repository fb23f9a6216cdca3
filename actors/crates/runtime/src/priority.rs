//! Threads that give way to those which answer requests.

/// For work that nobody waits for. 10 of 19 leaves it a tenth of a core that other work wants.
pub const BACKGROUND_NICE: i32 = 10;
/// For password hashes: behind requests, before background work. Leaves a hash a quarter of a core that requests want.
pub const PASSWORD_NICE: i32 = 5;

/// Raises the nice value of the calling thread, and of those that it starts, by `nice`. Does nothing where nice values belong to processes, as everywhere but on
/// Linux.
pub fn lower_thread_priority(nice: i32) {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(nice) {
        tracing::debug!(%cause, nice, "a thread runs at full priority");
    }
}
