//! A try of a job: its work under its lease, and how it ended, written down.

use std::time::Duration;

use database::is_reported;
use entity::id::DocumentId;
use entity::kind::DocumentStatus;
use entity::time::Timestamp;
use entity::{bookmark, document, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use tokio::task::JoinError;
use tracing::field::{DisplayValue, display};
use tracing::{info, warn};
use uuid::Uuid;

use super::queue::{self, LEASE, Later, MOST_ATTEMPTS, JobKind};
use super::{feed, file, forget, index, media, page};
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::notices::email;
use library::owned_transaction::begin_owned;
use library::{exports, imports};

/// JobKind that met something busy is tried again no sooner.
const SOON: Duration = Duration::from_secs(2);
/// A text for which a library has no room is tried again no sooner: its user may have made room by then.
const NO_ROOM_RETRY: Duration = Duration::from_secs(3600);
/// Attempts of a file whose parser crashes, hangs or runs out of memory.
const MAX_FATAL_ATTEMPTS: i32 = 3;
/// JobKind that met a full disk, or a fault of the storage, is tried again after this.
const DISK_FULL_RETRY: Duration = Duration::from_secs(30);
const STORAGE_RETRY: Duration = Duration::from_secs(60);
const DISK_FULL: &str = "the disk of the service is full; processing continues when there is space again";
const STORAGE_FAILED: &str = "the storage of the service failed; this will be retried";
/// Told of work that waits for a host.
const AT_HOST: &str = "waiting, because other requests to the same host come first";

/// Why a job did not end well.
#[derive(Debug)]
pub enum JobError {
    /// Another try may go better; not before `after` where the other side said so.
    Passing {
        /// For the person, in words.
        reason: String,
        /// As the other side asked.
        after: Option<Duration>,
    },
    /// A parser did not survive its file: another try may go better, when the machine is less busy, and not many.
    Fatal(String),
    /// No try will go better.
    Permanent(String),
    /// Something that it needs is not there: it waits, as if it had not been tried.
    Waiting {
        /// What for, for the person, in words.
        reason: &'static str,
        /// When to look again.
        after: Duration,
    },
    /// Others are asking the same host, or it asked to be left alone: it waits so long.
    Turn(Duration),
    /// Another worker has the job by now.
    LeaseLost,
    /// Something inside went wrong: another try, and the cause for the log.
    Inside(Error),
}

impl<E: Into<Error>> From<E> for JobError {
    fn from(error: E) -> Self {
        JobError::Internal(error.into())
    }
}

/// One try, under its lease: ends early when the lease is lost.
pub async fn work(ctx: IngestContext, job: job::Model) -> Result<(), JobError> {
    tokio::select! {
        done = run(&ctx, &job) => done,
        lost = hold(&ctx, &job) => Err(lost),
    }
}

async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Page | JobKind::Text) => page::run(ctx, job).await,
        Some(JobKind::File) => file::run(ctx, job).await,
        Some(JobKind::Transcribe) => media::run(ctx, job).await,
        Some(JobKind::Index) => index::run(ctx, job).await,
        Some(JobKind::UpdateLabels) => index::relabel(ctx, job).await,
        Some(JobKind::RemoveFromIndex) => forget::run(ctx, job).await,
        Some(JobKind::FetchFeed) => feed::poll::run(ctx, job).await,
        Some(JobKind::DeliverEntries) => feed::deliver::run(ctx, job).await,
        Some(JobKind::ForgetFeed) => feed::forget::run(ctx, job).await,
        Some(JobKind::Subscribe) => feed::push::subscribe::run(ctx, job).await,
        Some(JobKind::SendEmail) => letter::run(ctx, job).await,
        Some(JobKind::Import) => imports::run(ctx, job).await,
        Some(JobKind::Export) => exports::run(ctx, job).await,
        None => {
            Err(JobError::Permanent("this version of the service does not know this kind of job".to_owned()))
        }
    }
}

/// Renews the lease for as long as the job is this try's.
async fn hold(ctx: &IngestContext, job: &job::Model) -> JobError {
    let mut failed = 0;
    loop {
        tokio::time::sleep(LEASE / 3).await;
        match jobs::renew(ctx.core.db.write(), job, ctx.core.clock.now()).await {
            Ok(true) => failed = 0,
            Ok(false) => return JobError::LeaseLost,
            Err(_) if failed < 2 => failed += 1,
            Err(error) => return error.into(),
        }
    }
}

/// Writes down how a try ended.
pub async fn settle(ctx: &IngestContext, job: &job::Model, ended: Result<Result<(), JobError>, JoinError>) {
    let failure = match ended {
        Ok(Ok(())) | Ok(Err(JobError::LeaseLost)) => return,
        Err(stopped) if stopped.is_cancelled() => return,
        Ok(Err(failure)) => failure,
        Err(_panicked) => JobError::Internal(Error::internal("the job panicked")),
    };
    if let Err(error) = failed(ctx, job, failure).await
        && !is_reported(&error)
    {
        warn!(job.id = %job.id, job.kind = %job.kind, %error, "could not record that {} failed", activity(job));
    }
}

async fn failed(ctx: &IngestContext, job: &job::Model, failure: JobError) -> Result<(), DbErr> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    let Some(job) = jobs::current(&txn, job).await? else { return Ok(()) };
    let ending = disposition(&job, failure);
    if !put_down(&txn, &job, &ending, now).await? {
        return Ok(());
    }
    say(&txn, &job, &ending, now).await?;
    txn.commit().await?;
    if let Disposition::Dead(_) = ending {
        given_up(&job);
    }
    Ok(())
}

/// What becomes of a job that did not end well.
enum Disposition {
    /// Another worker has it.
    Lost,
    /// It comes again in a moment, as if it had not been tried; the job alone says why.
    Postponed(Duration, Option<&'static str>),
    /// It waits, as if it had not been tried, and its document says for what.
    Waits(Duration, &'static str),
    /// The try failed; another one comes after so long.
    Again(Duration, String),
    /// The try failed, and was the last.
    GivenUp(String),
}

/// Writes it into the job's row; whether the job is still this worker's.
async fn put_down(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    ending: &Disposition,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let later = match ending {
        Disposition::LeaseLost => return Ok(false),
        Disposition::Dead(reason) => return jobs::give_up(txn, job, reason, now).await,
        Disposition::Deferred(after, reason) => Later { tried: false, reason: *reason, after: *after },
        Disposition::Blocked(after, reason) => Later { tried: false, reason: Some(reason), after: *after },
        Disposition::Retry(after, reason) => Later { tried: true, reason: Some(reason), after: *after },
    };
    jobs::put_back(txn, job, later, now).await
}

/// Says so of what the job is for. A document whose try failed is told as failed, even where another try comes.
async fn say(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    ending: &Disposition,
    now: Timestamp,
) -> Result<(), DbErr> {
    let is_document = JobKind::named(&job.kind).is_some_and(JobKind::makes_document);
    match ending {
        Disposition::LeaseLost | Disposition::Deferred(..) => Ok(()),
        Disposition::Blocked(_, reason) => say_why(txn, job, reason).await,
        Disposition::Retry(_, reason) if !is_document => say_why(txn, job, reason).await,
        Disposition::Retry(_, reason) => mark_failed(txn, job, reason, now).await,
        Disposition::Dead(reason) => mark_given_up(txn, job, reason, now).await,
    }
}

fn disposition(job: &job::Model, failure: JobError) -> Disposition {
    let (reason, after, last) = match failure {
        JobError::LeaseLost => return Disposition::LeaseLost,
        JobError::Blocked { reason, after } => return Disposition::Blocked(after, reason),
        JobError::HostBusy(wait) => return Disposition::Deferred(wait, Some(AT_HOST)),
        // Not the job's fault, and over in a moment.
        JobError::Internal(Error::Busy(wait)) => return Disposition::Deferred(wait.max(SOON), None),
        JobError::Internal(Error::StorageFailed(_)) => return Disposition::Blocked(STORAGE_RETRY, STORAGE_FAILED),
        JobError::Internal(Error::StorageFull) => return Disposition::Blocked(DISK_FULL_RETRY, DISK_FULL),
        JobError::Transient { reason, after } => (reason, after, job.attempts >= MOST_ATTEMPTS),
        JobError::ParserCrash(reason) => (reason, None, job.attempts >= MAX_FATAL_ATTEMPTS),
        JobError::Permanent(reason) => (reason, None, true),
        JobError::Internal(error @ Error::LibraryFull { .. }) => {
            // An import keeps its place and is resumed by its user.
            let last = job.kind == JobKind::Import.name() || job.attempts >= MOST_ATTEMPTS;
            (error.to_string(), Some(NO_ROOM_RETRY), last)
        }
        // Its user makes room and begins another export.
        JobError::Internal(error @ Error::TransfersFull { .. }) => (error.to_string(), None, true),
        JobError::Internal(error) => {
            let (cause, document) = (error.chain(), document_of(job));
            warn!(
                job.id = %job.id, job.kind = %job.kind, document.id = document, job.attempts, cause,
                "{} failed inside the service", activity(job)
            );
            ("an internal error occurred".to_owned(), None, job.attempts >= MOST_ATTEMPTS)
        }
    };
    let (document, next) = (document_of(job), if last { "given up" } else { "will retry" });
    info!(
        job.id = %job.id, job.kind = %job.kind, document.id = document, job.attempts, last, reason,
        "{} failed (attempt {}, {next})", activity(job), job.attempts
    );
    let after = after.unwrap_or_default().max(jobs::backoff(job));
    if last { Disposition::Dead(reason) } else { Disposition::Retry(after, reason) }
}

/// What a job does, in words; the name in its row where this version does not know it.
fn activity(job: &job::Model) -> &str {
    JobKind::named(&job.kind).map_or(job.kind.as_str(), |work| work.activity())
}

/// The document that a job makes, for a log line.
fn document_of(job: &job::Model) -> Option<DisplayValue<Uuid>> {
    JobKind::named(&job.kind).filter(|work| work.makes_document()).map(|_| display(job.subject))
}

/// Gives a job up whose tries all died with their process, and says so of what it was for, in one transaction.
pub async fn bury(ctx: &IngestContext, job: &job::Model) -> Result<(), DbErr> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if jobs::mark_dead(&txn, job, now).await? {
        mark_given_up(&txn, job, jobs::crash_reason(job), now).await?;
        txn.commit().await?;
        let (reason, document) = (jobs::crash_reason(job), document_of(job));
        warn!(
            job.id = %job.id, job.kind = %job.kind, document.id = document, reason,
            "{} was given up", activity(job)
        );
        given_up(job);
    }
    Ok(())
}

/// Counts a job that nobody tries again by itself.
fn given_up(job: &job::Model) {
    if let Some(work) = JobKind::named(&job.kind) {
        metrics::counter!("carrel_jobs_given_up_total", "work" => work.name()).increment(1);
    }
}

/// What a job is for says that it failed, and nothing is kept for another try.
async fn mark_given_up(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    mark_failed(db, job, reason, now).await?;
    match JobKind::named(&job.kind) {
        Some(JobKind::Transcribe) => media::fetched::release_file(db, DocumentId(job.subject)).await?,
        Some(JobKind::Index) => index::give_up(db, job).await?,
        Some(_) | None => {}
    }
    Ok(())
}

/// A document whose text or index could not be made says so. What stays readable and found, because only a newer text or
/// another filing failed, stays ready and keeps the reason.
async fn mark_failed(
    db: &impl ConnectionTrait,
    job: &job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => return imports::failed(db, job, reason, now).await,
        Some(JobKind::Export) => return exports::failed(db, job, reason, now).await,
        Some(work) if !work.makes_document() => return Ok(()),
        Some(_) | None => {}
    }
    // The bookmark before its document, as whoever deletes it takes them: nobody waits in a circle.
    bookmark::Entity::touch_for_document(db, job.user_id, DocumentId(job.subject), now).await?;
    say_reason(db, job, reason).await?;
    document::Entity::update_many()
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
        .filter(document::Column::Status.ne(DocumentStatus::Ready))
        .exec(db)
        .await
        .map(drop)
}

/// Says of what a job is for why it is not further: it waits, or is tried again.
async fn say_why(db: &impl ConnectionTrait, job: &job::Model, reason: &str) -> Result<(), DbErr> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => imports::waits(db, job, reason).await,
        Some(JobKind::Export) => exports::waits(db, job, reason).await,
        Some(work) if work.makes_document() => say_reason(db, job, reason).await,
        Some(_) | None => Ok(()),
    }
}

/// Says of the job's document why it is not further.
pub async fn say_reason(db: &impl ConnectionTrait, job: &job::Model, reason: &str) -> Result<(), DbErr> {
    document::Entity::update_many()
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::Error, Expr::value(reason))
        .exec(db)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use entity::id::UserId;
    use entity::kind::JobState;

    use super::*;

    #[test]
    fn what_its_parser_does_not_survive_is_tried_three_times() {
        let now = Timestamp::from_millis(0);
        let tried = |attempts| job::Model {
            state: JobState::Running,
            attempts,
            ..job::Model::queued(UserId::new(now), JobKind::Page.name(), DocumentId::new(now).0, (0, 0), now)
        };
        let is_over = |failure| matches!(failure, Disposition::Dead(_));

        let fatal = || JobError::ParserCrash("it crashed".to_owned());
        assert_eq!(
            [1, 2, 3].map(|attempts| is_over(disposition(&tried(attempts), fatal()))),
            [false, false, true]
        );
        assert!(is_over(disposition(&tried(1), JobError::Permanent("no text".to_owned()))));
    }

    #[test]
    fn text_without_room_is_tried_again_after_an_hour() {
        let now = Timestamp::from_millis(0);
        let tried = |work: JobKind, attempts| job::Model {
            state: JobState::Running,
            attempts,
            ..job::Model::queued(UserId::new(now), work.name(), DocumentId::new(now).0, (0, 0), now)
        };
        let full = || JobError::Internal(Error::LibraryFull { used: 9, limit: 8 });

        let Disposition::Retry(after, reason) = disposition(&tried(JobKind::Text, 1), full()) else { panic!("given up") };
        assert!(after >= NO_ROOM_RETRY);
        assert_eq!(reason, "the library of this account is full: 9 of 8 bytes are used");
        assert!(matches!(disposition(&tried(JobKind::Text, MOST_ATTEMPTS), full()), Disposition::Dead(_)));
        assert!(matches!(disposition(&tried(JobKind::Import, 1), full()), Disposition::Dead(_)));
    }
}
