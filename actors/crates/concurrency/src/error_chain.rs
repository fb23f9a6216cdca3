//! An error with its causes, for the log.

use std::error::Error;

/// Returns the error and its causes on one line, as `outer: inner: innermost`.
pub fn error_chain(error: &dyn Error) -> String {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        chain = format!("{chain}: {inner}");
        cause = inner.source();
    }
    chain
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the index")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn causes_follow_the_error() {
        let error = Unreadable(io::Error::other("the disk failed"));

        assert_eq!(error_chain(&error), "could not read the index: the disk failed");
    }
}
