//! Classifies failures of the engine by their cause.

/// Codes of errors that the operating system reports for reasons outside of the files: `EPERM`, `ENOMEM`, `EACCES`, `EBUSY`, `ENFILE`,
/// `EMFILE` and `EROFS` of Linux.
const ENVIRONMENT_ERRNOS: [i32; 7] = [1, 12, 13, 16, 23, 24, 30];
/// `ENOSPC` and `EDQUOT` of Linux.
const NO_SPACE_ERRNOS: [i32; 2] = [28, 122];
/// How the engine writes that another process has locked its log: the `Debug` form of an error without a code.
const LOCKED_LOG_CAUSE: &str = "Kind(WouldBlock)";
/// `EIO` of Linux: the device failed a read or a write.
const DISK_FAILURE_ERRNOS: [i32; 1] = [5];

/// The kind of a failure of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFault {
    /// The engine refused the request. The index is unchanged.
    InvalidRequest,
    /// The engine lacked memory, open files or permissions, was interrupted, or found its log locked by another process. The cause lies
    /// outside of the files.
    Environment,
    /// The disk, or the quota of its user, has no space left.
    NoSpace,
    /// The disk failed a read or a write.
    DiskFailure,
    /// The engine could not read its files, or they contradict each other.
    Damage,
}

/// Classifies a failure of the engine, which keeps causes only as text, by the code of the operating system in it. A failure without a
/// known code is damage, unless another process has locked the log.
pub(super) fn classify_cause(cause: &str) -> EngineFault {
    if has_errno(cause, &NO_SPACE_ERRNOS) {
        EngineFault::NoSpace
    } else if has_errno(cause, &DISK_FAILURE_ERRNOS) {
        EngineFault::DiskFailure
    } else if cause.contains(LOCKED_LOG_CAUSE) || has_errno(cause, &ENVIRONMENT_ERRNOS) {
        EngineFault::Environment
    } else {
        EngineFault::Damage
    }
}

/// Returns whether a cause contains one of these codes. The engine writes the code in one of two ways.
fn has_errno(cause: &str, errnos: &[i32]) -> bool {
    errnos.iter().any(|code| {
        // The two forms are those of `Display` and of `Debug` of an `io::Error`.
        cause.contains(&format!("(os error {code})")) || cause.contains(&format!("Os {{ code: {code},"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_classified_by_the_code_of_the_system() {
        for (cause, fault) in [
            ("service error: open WAL: No space left on device (os error 28)", EngineFault::NoSpace),
            ("flush: Disk quota exceeded (os error 122)", EngineFault::NoSpace),
            ("write segment: Input/output error (os error 5)", EngineFault::DiskFailure),
            (
                "Can't init WAL: Os { code: 24, kind: Uncategorized, message: \"Too many\" }",
                EngineFault::Environment,
            ),
            ("Can't init WAL: Kind(WouldBlock)", EngineFault::Environment),
            ("failed to load segment: No such file or directory (os error 2)", EngineFault::Damage),
            ("expected value at line 1 column 1", EngineFault::Damage),
        ] {
            assert_eq!(classify_cause(cause), fault, "{cause}");
        }
    }
}
