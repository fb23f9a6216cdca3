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

use super::queue::{self, LEASE, Later, MOST_ATTEMPTS, Work};
use super::{feed, file, forget, index, media, page};
use crate::app::App;
use crate::error::Error;
use crate::notices::letter;
use crate::owned_transaction::begin_owned;
use crate::{exports, imports};

/// Work that met something busy is tried again no sooner.
const SOON: Duration = Duration::from_secs(2);
/// A text for which a library has no room is tried again no sooner: its user may have made room by then.
const NO_ROOM_RETRY: Duration = Duration::from_secs(3600);
/// Attempts of a file whose parser crashes, hangs or runs out of memory.
const MAX_FATAL_ATTEMPTS: i32 = 3;
/// Work that met a full disk, or a fault of the storage, is tried again after this.
const DISK_FULL_RETRY: Duration = Duration::from_secs(30);
const STORAGE_RETRY: Duration = Duration::from_secs(60);
const DISK_FULL: &str = "the disk of the service is full; processing continues when there is space again";
const STORAGE_FAILED: &str = "the storage of the service failed; this will be retried";
/// Told of work that waits for a host.
const AT_HOST: &str = "waiting, because other requests to the same host come first";

/// Why a job did not end well.
#[derive(Debug)]
pub enum Failure {
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

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Inside(error.into())
    }
}

/// One try, under its lease: ends early when the lease is lost.
pub async fn work(app: App, job: job::Model) -> Result<(), Failure> {
    tokio::select! {
        done = run(&app, &job) => done,
        lost = hold(&app, &job) => Err(lost),
    }
}

async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    match Work::named(&job.kind) {
        Some(Work::Page | Work::Text) => page::run(app, job).await,
        Some(Work::File) => file::run(app, job).await,
        Some(Work::Hear) => media::run(app, job).await,
        Some(Work::Index) => index::run(app, job).await,
        Some(Work::Relabel) => index::relabel(app, job).await,
        Some(Work::Forget) => forget::run(app, job).await,
        Some(Work::Poll) => feed::poll::run(app, job).await,
        Some(Work::Deliver) => feed::deliver::run(app, job).await,
        Some(Work::ForgetFeed) => feed::forget::run(app, job).await,
        Some(Work::Subscribe) => feed::push::subscribe::run(app, job).await,
        Some(Work::Letter) => letter::run(app, job).await,
        Some(Work::Import) => imports::run(app, job).await,
        Some(Work::Export) => exports::run(app, job).await,
        None => {
            Err(Failure::Permanent("this version of the service does not know this kind of job".to_owned()))
        }
    }
}

/// Renews the lease for as long as the job is this try's.
async fn hold(app: &App, job: &job::Model) -> Failure {
    let mut failed = 0;
    loop {
        tokio::time::sleep(LEASE / 3).await;
        match queue::renew(app.db.write(), job, app.clock.now()).await {
            Ok(true) => failed = 0,
            Ok(false) => return Failure::LeaseLost,
            Err(_) if failed < 2 => failed += 1,
            Err(error) => return error.into(),
        }
    }
}

/// Writes down how a try ended.
pub async fn settle(app: &App, job: &job::Model, ended: Result<Result<(), Failure>, JoinError>) {
    let failure = match ended {
        Ok(Ok(())) | Ok(Err(Failure::LeaseLost)) => return,
        Err(stopped) if stopped.is_cancelled() => return,
        Ok(Err(failure)) => failure,
        Err(_panicked) => Failure::Inside(Error::internal("the job panicked")),
    };
    if let Err(error) = failed(app, job, failure).await
        && !is_reported(&error)
    {
        warn!(job.id = %job.id, job.kind = %job.kind, %error, "could not record that {} failed", activity(job));
    }
}

async fn failed(app: &App, job: &job::Model, failure: Failure) -> Result<(), DbErr> {
    let now = app.clock.now();
    let txn = begin_owned(&app.db, job.user_id).await?;
    let Some(job) = queue::current(&txn, job).await? else { return Ok(()) };
    let ending = ending(&job, failure);
    if !put_down(&txn, &job, &ending, now).await? {
        return Ok(());
    }
    say(&txn, &job, &ending, now).await?;
    txn.commit().await?;
    if let Ending::GivenUp(_) = ending {
        given_up(&job);
    }
    Ok(())
}

/// What becomes of a job that did not end well.
enum Ending {
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
    ending: &Ending,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let later = match ending {
        Ending::Lost => return Ok(false),
        Ending::GivenUp(reason) => return queue::give_up(txn, job, reason, now).await,
        Ending::Postponed(after, reason) => Later { tried: false, reason: *reason, after: *after },
        Ending::Waits(after, reason) => Later { tried: false, reason: Some(reason), after: *after },
        Ending::Again(after, reason) => Later { tried: true, reason: Some(reason), after: *after },
    };
    queue::put_back(txn, job, later, now).await
}

/// Says so of what the job is for. A document whose try failed is told as failed, even where another try comes.
async fn say(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    ending: &Ending,
    now: Timestamp,
) -> Result<(), DbErr> {
    let is_document = Work::named(&job.kind).is_some_and(Work::makes_document);
    match ending {
        Ending::Lost | Ending::Postponed(..) => Ok(()),
        Ending::Waits(_, reason) => say_why(txn, job, reason).await,
        Ending::Again(_, reason) if !is_document => say_why(txn, job, reason).await,
        Ending::Again(_, reason) => mark_failed(txn, job, reason, now).await,
        Ending::GivenUp(reason) => mark_given_up(txn, job, reason, now).await,
    }
}

fn ending(job: &job::Model, failure: Failure) -> Ending {
    let (reason, after, last) = match failure {
        Failure::LeaseLost => return Ending::Lost,
        Failure::Waiting { reason, after } => return Ending::Waits(after, reason),
        Failure::Turn(wait) => return Ending::Postponed(wait, Some(AT_HOST)),
        // Not the job's fault, and over in a moment.
        Failure::Inside(Error::Busy(wait)) => return Ending::Postponed(wait.max(SOON), None),
        Failure::Inside(Error::StorageFailed(_)) => return Ending::Waits(STORAGE_RETRY, STORAGE_FAILED),
        Failure::Inside(Error::StorageFull) => return Ending::Waits(DISK_FULL_RETRY, DISK_FULL),
        Failure::Passing { reason, after } => (reason, after, job.attempts >= MOST_ATTEMPTS),
        Failure::Fatal(reason) => (reason, None, job.attempts >= MAX_FATAL_ATTEMPTS),
        Failure::Permanent(reason) => (reason, None, true),
        Failure::Inside(error @ Error::LibraryFull { .. }) => {
            // An import keeps its place and is resumed by its user.
            let last = job.kind == Work::Import.name() || job.attempts >= MOST_ATTEMPTS;
            (error.to_string(), Some(NO_ROOM_RETRY), last)
        }
        // Its user makes room and begins another export.
        Failure::Inside(error @ Error::TransfersFull { .. }) => (error.to_string(), None, true),
        Failure::Inside(error) => {
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
    let after = after.unwrap_or_default().max(queue::backoff(job));
    if last { Ending::GivenUp(reason) } else { Ending::Again(after, reason) }
}

/// What a job does, in words; the name in its row where this version does not know it.
fn activity(job: &job::Model) -> &str {
    Work::named(&job.kind).map_or(job.kind.as_str(), |work| work.activity())
}

/// The document that a job makes, for a log line.
fn document_of(job: &job::Model) -> Option<DisplayValue<Uuid>> {
    Work::named(&job.kind).filter(|work| work.makes_document()).map(|_| display(job.subject))
}

/// Gives a job up whose tries all died with their process, and says so of what it was for, in one transaction.
pub async fn bury(app: &App, job: &job::Model) -> Result<(), DbErr> {
    let now = app.clock.now();
    let txn = begin_owned(&app.db, job.user_id).await?;
    if queue::bury(&txn, job, now).await? {
        mark_given_up(&txn, job, queue::cause_of_death(job), now).await?;
        txn.commit().await?;
        let (reason, document) = (queue::cause_of_death(job), document_of(job));
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
    if let Some(work) = Work::named(&job.kind) {
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
    match Work::named(&job.kind) {
        Some(Work::Hear) => media::fetched::release_file(db, DocumentId(job.subject)).await?,
        Some(Work::Index) => index::give_up(db, job).await?,
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
    match Work::named(&job.kind) {
        Some(Work::Import) => return imports::failed(db, job, reason, now).await,
        Some(Work::Export) => return exports::failed(db, job, reason, now).await,
        Some(work) if !work.makes_document() => return Ok(()),
        Some(_) | None => {}
    }
    // The bookmark before its document, as whoever deletes it takes them: nobody waits in a circle.
    bookmark::Entity::touch_of(db, job.user_id, DocumentId(job.subject), now).await?;
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
    match Work::named(&job.kind) {
        Some(Work::Import) => imports::waits(db, job, reason).await,
        Some(Work::Export) => exports::waits(db, job, reason).await,
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
            ..job::Model::queued(UserId::new(now), Work::Page.name(), DocumentId::new(now).0, (0, 0), now)
        };
        let is_over = |failure| matches!(failure, Ending::GivenUp(_));

        let fatal = || Failure::Fatal("it crashed".to_owned());
        assert_eq!(
            [1, 2, 3].map(|attempts| is_over(ending(&tried(attempts), fatal()))),
            [false, false, true]
        );
        assert!(is_over(ending(&tried(1), Failure::Permanent("no text".to_owned()))));
    }

    #[test]
    fn text_without_room_is_tried_again_after_an_hour() {
        let now = Timestamp::from_millis(0);
        let tried = |work: Work, attempts| job::Model {
            state: JobState::Running,
            attempts,
            ..job::Model::queued(UserId::new(now), work.name(), DocumentId::new(now).0, (0, 0), now)
        };
        let full = || Failure::Inside(Error::LibraryFull { used: 9, limit: 8 });

        let Ending::Again(after, reason) = ending(&tried(Work::Text, 1), full()) else { panic!("given up") };
        assert!(after >= NO_ROOM_RETRY);
        assert_eq!(reason, "the library of this account is full: 9 of 8 bytes are used");
        assert!(matches!(ending(&tried(Work::Text, MOST_ATTEMPTS), full()), Ending::GivenUp(_)));
        assert!(matches!(ending(&tried(Work::Import, 1), full()), Ending::GivenUp(_)));
    }
}
