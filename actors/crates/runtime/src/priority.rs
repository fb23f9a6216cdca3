//! Thread priorities: requests go before password hashes, and those before background work.

/// The nice value of work that nobody waits for. 10 of 19 leaves it a tenth of a core that other work wants.
pub const BACKGROUND_NICE: i32 = 10;
/// The nice value of password hashes: behind requests, before background work. It leaves a hash a quarter of a core that requests want.
pub const PASSWORD_NICE: i32 = 5;

/// Raises the nice value of the calling thread, and of those that it starts, by `nice`. Does nothing on systems other than Linux,
/// where nice values belong to processes. A failure is logged at debug level.
pub fn lower_thread_priority(nice: i32) {
    if !cfg!(target_os = "linux") {
        return;
    }
    if let Err(cause) = rustix::process::nice(nice) {
        tracing::debug!(%cause, nice, "a thread runs at full priority");
    }
}
