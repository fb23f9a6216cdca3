//! Tests of claims.

use std::collections::HashMap;

use sea_orm::{DbBackend, QueryTrait};

use super::*;
use crate::claimable::ClaimableSlots;
use crate::inspect::due_jobs_of_others;
use crate::test_queue::{NOON, OWNER, TestQueue, subject};
use crate::{
    Deferral, JobKind, MAX_ATTEMPTS, MAX_CRASHES, Priority, REPEATED_CRASH, advance, crash_reason, defer,
    enqueue, finish, give_up, give_up_crashed, is_given_up, promote, release, renew,
};

/// The first time at which a lease that begins at `since` has expired.
fn after_lease(since: Timestamp) -> Timestamp {
    since + LEASE_DURATION + Duration::from_millis(1)
}

#[tokio::test]
async fn job_is_claimed_again_when_its_lease_has_expired() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let first = queue.claim_one(NOON).await;
    assert!(queue.claim(1, NOON + LEASE_DURATION).await.jobs.is_empty());

    let second = queue.claim_one(after_lease(NOON)).await;

    assert_eq!((second.id, second.attempts, second.crashes), (first.id, 2, 1));
    assert_ne!(second.lease_token, first.lease_token);
}

#[tokio::test]
async fn attempt_that_lost_its_lease_changes_nothing() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let lost = queue.claim_one(NOON).await;
    let now = after_lease(NOON);
    let current = queue.claim_one(now).await;
    let before = queue.job(current.id).await;

    let db = queue.db.write();
    let deferral = Deferral { counts_attempt: true, reason: Some("late"), delay: Duration::ZERO };
    let changed = [
        renew(db, &lost, now).await.unwrap(),
        advance(db, &lost, now).await.unwrap(),
        defer(db, &lost, deferral, now).await.unwrap(),
        release(db, &lost, now).await.unwrap(),
        give_up(db, &lost, "late", now).await.unwrap(),
        finish(db, &lost, now).await.unwrap(),
    ];

    assert_eq!(changed, [false; 6]);
    assert_eq!(queue.job(current.id).await, before);
    assert!(finish(db, &current, now).await.unwrap());
}

#[tokio::test]
async fn renewed_lease_expires_later() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let job = queue.claim_one(NOON).await;
    let renewed_at = NOON + Duration::from_secs(10);

    assert!(renew(queue.db.write(), &job, renewed_at).await.unwrap());

    assert!(queue.claim(1, after_lease(NOON)).await.jobs.is_empty());
    assert_eq!(queue.claim_one(after_lease(renewed_at)).await.id, job.id);
}

#[tokio::test]
async fn leases_of_a_crashed_process_end_once() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let job = queue.claim_one(NOON).await;
    let (db, other) = (queue.db.write(), LeaseOwner(Uuid::from_u128(2)));

    assert_eq!(end_leases(db, other, NOON).await.unwrap(), 0);
    assert_eq!(end_leases(db, OWNER, NOON).await.unwrap(), 1);
    let again = queue.claim_one(NOON).await;

    assert_eq!((again.id, again.crashes), (job.id, 1));
    assert_eq!(end_leases(db, OWNER, NOON).await.unwrap(), 0);
}

#[tokio::test]
async fn job_whose_attempts_all_crashed_is_given_up() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let mut now = NOON;
    for _ in 0..MAX_CRASHES {
        queue.claim_one(now).await;
        now = after_lease(now);
    }

    let claimed = queue.claim(1, now).await;

    assert!(claimed.jobs.is_empty());
    let [crashed] = claimed.crashed.as_slice() else { panic!("{claimed:?}") };
    assert_eq!(crash_reason(&crashed.row), REPEATED_CRASH);
    assert!(give_up_crashed(queue.db.write(), &crashed.row, now).await.unwrap());
    assert!(is_given_up(queue.db.read(), JobKind::Index, subject(1)).await.unwrap());
    assert!(queue.claim(1, after_lease(now)).await.crashed.is_empty());
}

#[tokio::test]
async fn job_that_crashes_in_its_last_attempt_is_given_up() {
    let queue = TestQueue::new().await;
    queue.enqueue(queue.add_user().await, subject(1)).await;
    let reason = "the site is down";
    for attempt in 1..MAX_ATTEMPTS {
        let job = queue.claim_one(NOON).await;
        assert_eq!(job.attempts, attempt);
        let deferral = Deferral { counts_attempt: true, reason: Some(reason), delay: Duration::ZERO };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());
        promote(&queue.db, NOON).await.unwrap();
    }
    assert_eq!(queue.claim_one(NOON).await.attempts, MAX_ATTEMPTS);

    let claimed = queue.claim(1, after_lease(NOON)).await;

    assert!(claimed.jobs.is_empty());
    let [crashed] = claimed.crashed.as_slice() else { panic!("{claimed:?}") };
    assert_eq!(crash_reason(&crashed.row), reason);
}

#[tokio::test]
async fn user_at_the_maximum_of_slots_leaves_the_others() {
    let queue = TestQueue::new().await;
    let (many, other) = (queue.add_user().await, queue.add_user().await);
    for number in 0..4 {
        queue.enqueue(many, subject(number)).await;
    }
    queue.enqueue(other, subject(9)).await;
    let slots = SlotBudget {
        max_per_user: 2,
        used_by_user: HashMap::from([(many, 2)]),
        ..SlotBudget::unrestricted(4)
    };

    let claimed =
        claim(&queue.db, OWNER, Track::Library, ClaimOrder::InteractiveFirst, NOON, slots).await.unwrap();

    assert_eq!(claimed.jobs.iter().map(|job| job.row.user_id).collect::<Vec<_>>(), [other]);
}

#[tokio::test]
async fn jobs_of_users_at_the_maximum_are_not_read() {
    let queue = TestQueue::new().await;
    let (many, other) = (queue.add_user().await, queue.add_user().await);
    queue.enqueue(many, subject(1)).await;
    let slots = SlotBudget {
        max_per_user: 2,
        used_by_user: HashMap::from([(many, 2)]),
        ..SlotBudget::unrestricted(4)
    };
    let claimable = async || {
        let kinds = slots.claimable_kinds(Track::Library).unwrap();
        let waiting = waiting_jobs(Track::Library, &[many]).filter(kinds.clone());
        find_claimable(&queue.db, Track::Library, &slots, &kinds, &waiting).await.unwrap()
    };

    assert!(claimable().await.is_empty());
    let db = queue.db.write();
    enqueue(db, other, JobKind::Index, subject(2), Priority::Backlog, NOON).await.unwrap();
    assert_eq!(claimable().await, ClaimableSlots { interactive: 0, backlog: 4 });
    queue.enqueue(other, subject(3)).await;
    assert_eq!(claimable().await, ClaimableSlots { interactive: 4, backlog: 4 });
}

#[tokio::test]
async fn backlog_is_not_starved_by_interactive_jobs() {
    let queue = TestQueue::new().await;
    let user = queue.add_user().await;
    enqueue(queue.db.write(), user, JobKind::Index, subject(1), Priority::Backlog, NOON).await.unwrap();
    for number in 2..6 {
        queue.enqueue(user, subject(number)).await;
    }
    let slots = SlotBudget::unrestricted(2);

    let claimed =
        claim(&queue.db, OWNER, Track::Library, ClaimOrder::BacklogFirst, NOON, slots).await.unwrap();

    let priorities: Vec<Priority> = claimed.jobs.iter().map(|job| Priority::of(&job.row)).collect();
    assert_eq!(priorities, [Priority::Backlog, Priority::Now]);
}

#[tokio::test]
async fn job_of_unknown_kind_waits_while_others_run() {
    let queue = TestQueue::new().await;
    let user = queue.add_user().await;
    let unknown = queue.insert_unknown(user, subject(1)).await;
    queue.enqueue(user, subject(2)).await;

    assert_eq!(queue.claim_one(NOON).await.subject, subject(2));
    assert!(queue.claim(9, NOON).await.jobs.is_empty());

    assert_eq!(queue.job(unknown.id).await, Some(unknown));
}

#[tokio::test]
async fn crashed_job_of_unknown_kind_is_not_given_up() {
    let queue = TestQueue::new().await;
    let user = queue.add_user().await;
    let crashed = Model {
        state: JobState::Running,
        attempts: MAX_ATTEMPTS,
        lease_until: Some(NOON),
        ..queue.unknown(user, subject(1))
    };
    queue.insert(&crashed).await;

    let claimed = queue.claim(9, after_lease(NOON)).await;

    assert!(claimed.jobs.is_empty() && claimed.crashed.is_empty(), "{claimed:?}");
    assert_eq!(queue.job(crashed.id).await, Some(crashed));
}

/// Budgets of a server that may claim all jobs, of one that leaves those that change the index to another server, and of one whose disk is
/// below its floor. Each with the index that has the jobs of a track that it may claim, and the one that has them by their users.
fn budgets_with_indexes() -> [(SlotBudget, &'static str, &'static str); 3] {
    let all = SlotBudget::unrestricted(4);
    [
        (all.clone(), "job_due", "job_user_due"),
        (SlotBudget { skips_index_jobs: true, ..all.clone() }, "job_text_due", "job_text_user_due"),
        (SlotBudget { only_deletions: true, ..all }, "job_deletion_due", "job_deletion_user_due"),
    ]
}

#[tokio::test]
async fn claims_read_an_index_of_their_kinds_in_its_order() {
    let queue = TestQueue::new().await;
    for (slots, by_position, by_user) in budgets_with_indexes() {
        let kinds = slots.claimable_kinds(Track::Library).unwrap();
        let waiting = waiting_jobs(Track::Library, &[]).filter(kinds.clone());
        let without_a_user = waiting_jobs(Track::Library, &[UserId::new(NOON)]).filter(kinds.clone());
        let expired = jobs_with_expired_lease(Track::Library, NOON).filter(kinds.clone());
        let [before, after] =
            <[_; 2]>::try_from(due_jobs_of_others((1, 10), &kinds, &[UserId::new(NOON)])).unwrap();

        let queries = [
            ("job_lease (lease_until<?".to_owned(), expired),
            (format!("{by_position} (track=?"), waiting.clone()),
            (format!("{by_position} (track=?"), without_a_user),
            (format!("{by_position} (track=? AND priority<?"), select_interactive(waiting.clone())),
            (format!("{by_position} (track=? AND priority=?"), select_backlog(waiting)),
            (format!("{by_user} (track=? AND priority=? AND user_id<?"), before),
            (format!("{by_user} (track=? AND priority=? AND user_id>?"), after),
        ];

        for (index, query) in queries {
            queue.assert_uses_index(query.limit(4).build(DbBackend::Sqlite), &index).await;
        }
    }
}

#[tokio::test]
async fn due_jobs_of_excluded_kinds_are_not_claimable() {
    let queue = TestQueue::new().await;
    let (many, other) = (queue.add_user().await, queue.add_user().await);
    let slots = SlotBudget {
        max_per_user: 2,
        used_by_user: HashMap::from([(many, 2)]),
        skips_index_jobs: true,
        ..SlotBudget::unrestricted(4)
    };
    let db = queue.db.write();
    let claimable = async || {
        let kinds = slots.claimable_kinds(Track::Library).unwrap();
        let waiting = waiting_jobs(Track::Library, &[many]).filter(kinds.clone());
        find_claimable(&queue.db, Track::Library, &slots, &kinds, &waiting).await.unwrap()
    };
    enqueue(db, many, JobKind::ProcessText, subject(1), Priority::Now, NOON).await.unwrap();
    queue.enqueue(other, subject(2)).await;

    assert!(claimable().await.is_empty());
    enqueue(db, other, JobKind::DeliverEntries, subject(3), Priority::Now, NOON).await.unwrap();
    assert_eq!(claimable().await, ClaimableSlots { interactive: 4, backlog: 0 });
}

#[tokio::test]
async fn subject_has_one_running_job() {
    let queue = TestQueue::new().await;
    let user = queue.add_user().await;
    queue.enqueue(user, subject(1)).await;
    let removal = JobKind::RemoveFromIndex;
    enqueue(queue.db.write(), user, removal, subject(1), Priority::Now, NOON).await.unwrap();

    let first = queue.claim_one(NOON).await;
    assert!(queue.claim(2, NOON).await.jobs.is_empty());
    assert!(finish(queue.db.write(), &first, NOON).await.unwrap());

    assert_eq!(queue.claim_one(NOON).await.kind, removal.name());
}
