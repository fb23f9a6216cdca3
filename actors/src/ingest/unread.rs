//! What it means for a job that the sandbox made no text.

use std::time::Duration;

use entity::job;

use super::attempt::Failure;
use crate::adapters::sandbox::SandboxError;

/// What crashes, hangs or bloats its parser is tried so often.
const MOST_TRIES: i32 = 3;

/// What a parser did not survive, it may survive when the machine
/// is less busy; what it understood will not change.
pub(crate) fn unread(error: SandboxError, job: &job::Model) -> Failure {
    let reason = error.to_string();
    match error {
        SandboxError::Unavailable(_) => Failure::Passing { reason, after: Some(Duration::from_secs(5)) },
        SandboxError::Crashed | SandboxError::TimedOut if job.attempts < MOST_TRIES => {
            Failure::Passing { reason, after: None }
        }
        SandboxError::Crashed
        | SandboxError::TimedOut
        | SandboxError::TooLarge
        | SandboxError::Unreadable(_)
        | SandboxError::Unheard(_)
        | SandboxError::NoText(_)
        | SandboxError::NoImport(_) => Failure::Permanent(reason),
    }
}

#[cfg(test)]
mod tests {
    use entity::id::{DocumentId, UserId};
    use entity::kind::JobState;
    use entity::time::Timestamp;

    use super::*;
    use crate::ingest::queue::Work;

    fn tried(attempts: i32) -> job::Model {
        let now = Timestamp::from_millis(0);
        job::Model {
            state: JobState::Running,
            attempts,
            ..job::Model::queued(UserId::new(now), Work::Page.name(), DocumentId::new(now).0, (0, 0), now)
        }
    }

    #[test]
    fn what_its_parser_does_not_survive_is_tried_three_times() {
        for error in [|| SandboxError::Crashed, || SandboxError::TimedOut] {
            let ends =
                [1, 2, 3].map(|attempts| matches!(unread(error(), &tried(attempts)), Failure::Permanent(_)));
            assert_eq!(ends, [false, false, true]);
        }
        assert!(matches!(unread(SandboxError::TooLarge, &tried(1)), Failure::Permanent(_)));
    }
}
