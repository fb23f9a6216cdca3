//! Works on many short documents together: supplied texts are split, stored and indexed, and stored texts are indexed, with a few
//! statements and one change of the index for all documents of a user.
//!
//! A text goes from its source to the index in one attempt. The transaction that stores its passages turns its job into the job that
//! indexes it ([`jobs::continue_as_index`]), so after a crash the passages are indexed as those of any other document. Each step may run
//! twice, as the steps of a job that runs alone ([`super::sequencer`], [`super::index`]).
//!
//! Documents that are not short, or need more than one step for each, such as those with HTML or with a former text, are left to jobs that
//! run alone. So are all documents of a step that failed: nothing of it is kept, and the one at fault is found.

mod completion;
mod passages;
mod texts;

use std::collections::BTreeMap;

use entity::job;
use jobs::{ClaimedJob, JobError, JobKind};
use tracing::warn;
use values::id::UserId;

use super::extraction_context::ExtractionContext;
use super::indexing_context::IndexingContext;

/// The jobs of one user in a batch.
#[derive(Debug, Default)]
struct UserJobs {
    /// Jobs of kind [`JobKind::ProcessText`].
    texts: Vec<job::Model>,
    /// Jobs of kind [`JobKind::Index`].
    documents: Vec<job::Model>,
}

/// Runs leased jobs of kinds that [run in batches](JobKind::runs_in_batches), and ends them. Jobs that have not ended when it returns are
/// to be run alone: they are not short, their job or document changed meanwhile, or the database, the model or the index failed, which is
/// logged. After a failure the documents of other users are worked on all the same.
pub async fn run(extraction: &ExtractionContext, indexing: &IndexingContext, jobs: &[ClaimedJob]) {
    for (user, jobs) in by_user(jobs) {
        let count = jobs.texts.len() + jobs.documents.len();
        if let Err(JobError::Internal(error)) = run_of_user(extraction, indexing, user, jobs).await
            && !error.is_reported()
        {
            warn!(
                user.id = %user, jobs = count, cause = error.chain(),
                "jobs that ran together failed; each of them runs alone"
            );
        }
    }
}

/// Groups the jobs by their users. A user with few jobs does not wait for those of one with many, so the fewest come first.
fn by_user(jobs: &[ClaimedJob]) -> Vec<(UserId, UserJobs)> {
    let mut by_user: BTreeMap<UserId, UserJobs> = BTreeMap::new();
    for job in jobs {
        let of_user = by_user.entry(job.row.user_id).or_default();
        let of_kind =
            if job.kind == JobKind::ProcessText { &mut of_user.texts } else { &mut of_user.documents };
        of_kind.push(job.row.clone());
    }
    let mut by_user: Vec<_> = by_user.into_iter().collect();
    by_user.sort_by_key(|(_, jobs)| jobs.texts.len() + jobs.documents.len());
    by_user
}

/// Works on the jobs of a user.
///
/// # Errors
/// [`JobError::LeaseLost`] when the job or the document of one of them changed meanwhile; [`JobError::Internal`] when the database, the
/// model or the index fails, or the library is full.
async fn run_of_user(
    extraction: &ExtractionContext,
    indexing: &IndexingContext,
    user: UserId,
    jobs: UserJobs,
) -> Result<(), JobError> {
    for texts in texts::select_short(&extraction.core, user, jobs.texts).await? {
        let stored = texts::store(extraction, user, texts).await?;
        passages::index(indexing, user, stored).await?;
    }
    passages::index_stored(indexing, user, jobs.documents).await
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn user_with_the_fewest_jobs_comes_first() {
        let now = Timestamp::from_millis(1);
        let (many, few) = (UserId::new(now), UserId::new(now));
        let job = |user: UserId, kind: JobKind, number: u128| {
            let row = job::Model::queued(user, kind.name(), Uuid::from_u128(number), (1, 0), now);
            ClaimedJob { kind, row }
        };
        let jobs = [
            job(many, JobKind::ProcessText, 1),
            job(few, JobKind::Index, 2),
            job(many, JobKind::Index, 3),
            job(many, JobKind::ProcessText, 4),
        ];

        let by_user = by_user(&jobs);

        let numbers = |jobs: &[job::Model]| jobs.iter().map(|job| job.subject.as_u128()).collect::<Vec<_>>();
        let found: Vec<_> = by_user
            .iter()
            .map(|(user, jobs)| (*user, numbers(&jobs.texts), numbers(&jobs.documents)))
            .collect();
        assert_eq!(found, [(few, vec![], vec![2]), (many, vec![1, 4], vec![3])]);
    }
}
