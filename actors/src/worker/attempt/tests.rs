//! Tests of attempts of jobs.

use errors::StorageFailure;
use values::id::{DocumentId, UserId};
use values::kind::JobState;

use super::*;

fn running(kind: JobKind, attempts: i32) -> ClaimedJob {
    let now = Timestamp::from_millis(0);
    let row = job::Model {
        state: JobState::Running,
        attempts,
        ..job::Model::queued(UserId::new(now), kind.name(), DocumentId::new(now).0, (0, 0), now)
    };
    ClaimedJob { kind, row }
}

#[test]
fn job_whose_parser_crashes_has_three_attempts() {
    let is_given_up = |disposition| matches!(disposition, Disposition::GivenUp { .. });

    let crash = || JobError::ParserCrash("it crashed".to_owned());
    assert_eq!(
        [1, 2, 3].map(|attempts| is_given_up(disposition(&running(JobKind::FetchPage, attempts), crash()))),
        [false, false, true]
    );
    assert!(is_given_up(disposition(
        &running(JobKind::FetchPage, 1),
        JobError::Permanent("no text".to_owned())
    )));
}

#[test]
fn reason_has_its_advice_after_the_last_attempt_alone() {
    let reason_after = |attempts| {
        let error = JobError::FailedFetch {
            reason: "the server cannot be reached".to_owned(),
            last_advice: "try again later",
            after: None,
        };
        match disposition(&running(JobKind::FetchPage, attempts), error) {
            Disposition::Retry { reason, .. } => ("retried", reason),
            Disposition::GivenUp { reason } => ("given up", reason),
            Disposition::LeaseLost | Disposition::Wait(_) => panic!("the attempt did not fail"),
        }
    };

    for attempts in 1..MAX_ATTEMPTS {
        assert_eq!(reason_after(attempts), ("retried", "the server cannot be reached".to_owned()));
    }
    assert_eq!(
        reason_after(MAX_ATTEMPTS),
        ("given up", "the server cannot be reached; try again later".to_owned())
    );
}

#[test]
fn job_that_meets_a_storage_fault_waits_without_an_attempt() {
    for (failure, wait, cause) in
        [(StorageFailure::Transient, 60, "the storage"), (StorageFailure::NoIndex, 30, "the disk")]
    {
        let error = JobError::Internal(failure.into());

        let end = disposition(&running(JobKind::Index, MAX_ATTEMPTS), error);

        let Disposition::Wait(Wait::Blocked { delay, reason }) = end else { panic!("{failure:?}") };
        assert_eq!(delay, Duration::from_secs(wait), "{failure:?}");
        assert!(reason.starts_with(cause), "{reason}");
    }
}

#[test]
fn text_without_room_is_retried_after_an_hour() {
    let full = || JobError::Internal(Error::LibraryFull { used: 9, limit: 8 });

    let Disposition::Retry { delay, reason } = disposition(&running(JobKind::ProcessText, 1), full()) else {
        panic!("given up")
    };
    assert!(delay >= Duration::from_secs(3600));
    assert_eq!(
        reason,
        "the library of this account is full: 9 of 8 bytes are used; delete something, or ask the operator for another plan"
    );
    let last = disposition(&running(JobKind::ProcessText, MAX_ATTEMPTS), full());
    assert!(matches!(last, Disposition::GivenUp { .. }));
    assert!(matches!(disposition(&running(JobKind::Import, 1), full()), Disposition::GivenUp { .. }));
}
