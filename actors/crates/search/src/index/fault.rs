//! Classifies failures of the engine by their cause.

/// Codes of errors that the operating system reports for reasons outside of the files: `EPERM`, `ENOMEM`, `EACCES`, `EBUSY`, `ENFILE`,
/// `EMFILE`, `ENOSPC`, `EROFS` and `EDQUOT` of Linux.
const ENVIRONMENT_ERRNOS: [i32; 9] = [1, 12, 13, 16, 23, 24, 28, 30, 122];

/// The kind of a failure of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFault {
    /// The engine refused the request. The index is unchanged.
    InvalidRequest,
    /// The engine lacked memory, space, open files or permissions, or was interrupted. The cause lies outside of the files.
    Environment,
    /// The engine could not read its files, or they contradict each other.
    Damage,
}

/// Returns whether an error of the engine, which keeps causes only as text, comes from outside of the files. The engine writes the
/// operating system's code in one of two ways.
pub(super) fn is_environmental(cause: &str) -> bool {
    ENVIRONMENT_ERRNOS.iter().any(|code| {
        cause.contains(&format!("(os error {code})")) || cause.contains(&format!("Os {{ code: {code},"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environmental_causes_are_told_from_damage() {
        assert!(is_environmental("service error: open WAL: No space left on device (os error 28)"));
        assert!(is_environmental(
            "Can't init WAL: Os { code: 24, kind: Uncategorized, message: \"Too many\" }"
        ));
        assert!(!is_environmental("failed to load segment: No such file or directory (os error 2)"));
        assert!(!is_environmental("expected value at line 1 column 1"));
    }
}
