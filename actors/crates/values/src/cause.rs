//! The causes of an error.

use std::error::Error;
use std::iter;

/// Returns the causes of an error, from its own source to the root cause, without the error itself.
pub fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |&cause| cause.source())
}

/// Formats an error and its causes on one line, separated by colons.
pub fn error_chain(error: &dyn Error) -> String {
    causes(error).fold(error.to_string(), |chain, cause| format!("{chain}: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the index")]
    struct Unreadable(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("could not start")]
    struct NotStarted(#[source] Unreadable);

    fn not_started() -> NotStarted {
        NotStarted(Unreadable(io::Error::other("the disk failed")))
    }

    #[test]
    fn causes_end_with_the_root() {
        let error = not_started();

        let found: Vec<_> = causes(&error).map(|cause| cause.to_string()).collect();

        assert_eq!(found, ["could not read the index", "the disk failed"]);
    }

    #[test]
    fn error_chain_names_the_error_and_its_causes() {
        assert_eq!(error_chain(&not_started()), "could not start: could not read the index: the disk failed");
    }

    #[test]
    fn error_chain_without_causes_is_the_message() {
        assert_eq!(error_chain(&io::Error::other("the disk failed")), "the disk failed");
    }
}
