//! The priority of threads: requests run before password hashes.
//!
//! The crates `inference` and `sandbox` lower priorities with separate functions, because they must not depend on this crate, which
//! brings actix: leaf crates stay usable without actors, and a child of the sandbox starts with as little as possible.

/// The nice value of password hashes. Next to a busy thread of normal priority a hash gets a quarter of the core.
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
