//! What a failure of the engine tells of the index.

/// What the operating system refuses for reasons outside of the files: no permission, too many open files, no memory, no
/// room, a read-only disk, a quota.
const OUTSIDE_CAUSES: [i32; 9] = [1, 12, 13, 16, 23, 24, 28, 30, 122];

/// What a failure of the engine tells of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineFault {
    /// The engine refused what it was asked for. The index is as it was.
    Refused,
    /// The engine lacked memory, room, open files or permissions, or was interrupted. The cause lies outside of the files.
    Outside,
    /// The engine could not read its files, or they contradict each other.
    Damage,
}

/// Whether an error of the engine, which keeps causes only as text, comes from outside of the files. The engine writes the
/// operating system's code in one of two ways.
pub(super) fn is_outside(cause: &str) -> bool {
    OUTSIDE_CAUSES.iter().any(|code| {
        cause.contains(&format!("(os error {code})")) || cause.contains(&format!("Os {{ code: {code},"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_outside_of_the_files_are_told_from_damage() {
        assert!(is_outside("service error: open WAL: No space left on device (os error 28)"));
        assert!(is_outside("Can't init WAL: Os { code: 24, kind: Uncategorized, message: \"Too many\" }"));
        assert!(!is_outside("failed to load segment: No such file or directory (os error 2)"));
        assert!(!is_outside("expected value at line 1 column 1"));
    }
}
