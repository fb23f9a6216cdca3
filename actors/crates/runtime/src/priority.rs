//! The priority of threads: requests go before password hashes.

/// The nice value of password hashes. Beside a busy thread of normal priority a hash gets a quarter of the core.
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
