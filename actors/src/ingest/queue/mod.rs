//! The queue of durable work: rows with a lease, a fencing token, tries, and an end.
//!
//! It is bounded: of each kind at most one job waits and one runs for a thing, however often it is asked for; beyond
//! [`MOST_WAITING`] of a person's no more is saved or imported; what runs at a time is bounded by the track's room. What waits
//! is a row, and takes no memory.
//!
//! [`ask`] writes the intent, in the transaction that makes the work necessary. [`claim()`] takes what is due, fairly
//! ([`turn`]), and each try ends in one of the ways of [`ending`].

mod claim;
mod ending;
mod turn;

use entity::id::{JobId, UserId};
use entity::job::{Column, Entity, Model};
use entity::kind::{BookmarkKind, ContentType, JobState};
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};
use std::time::Duration;
use uuid::Uuid;

use crate::db::insert_all;

pub use claim::{Claimed, Favour, Places, claim};
pub use ending::{
    DIED, Later, advance, backoff, bury, cause_of_death, current, end_wait, finish, give_up, give_way,
    put_back, release, renew, sweep,
};
pub use turn::promote;

/// A try that says nothing for so long is taken for dead. Its worker renews at a third of that.
pub const LEASE: Duration = Duration::from_secs(12);
/// Jobs of one person that wait for their turn: beyond so many that they wait for saves are refused, and beyond so many of a
/// backlog imports wait.
pub const MOST_WAITING: u64 = 100_000;
/// After so many tries a job is given up.
pub const MOST_ATTEMPTS: i32 = 6;
/// After so many tries that died with their process a job is given up.
pub const MOST_DEATHS: i32 = 3;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Make the text of a document by fetching its address.
    Page,
    /// Make the text of a document from content that was given.
    Text,
    /// Make the text of a document from its stored file.
    File,
    /// Make the text of a recording.
    Hear,
    /// Put a document's passages into the index.
    Index,
    /// File a document's passages anew.
    Relabel,
    /// Take a document out of the index.
    Forget,
    /// Fetch the source of a feed.
    Poll,
    /// Give a follower the entries of a feed.
    Deliver,
    /// Take the documents of a feed away that was left.
    ForgetFeed,
    /// Ask a feed's hub to say when there is something new.
    Subscribe,
    /// Tell a notice by a letter.
    Letter,
    /// Take the rows of a file in, or what came of them back.
    Import,
    /// Pack everything that a person has into a file.
    Export,
}

impl Work {
    /// Every kind.
    pub const ALL: [Work; 14] = [
        Work::Page,
        Work::Text,
        Work::File,
        Work::Hear,
        Work::Index,
        Work::Relabel,
        Work::Forget,
        Work::Poll,
        Work::Deliver,
        Work::ForgetFeed,
        Work::Subscribe,
        Work::Letter,
        Work::Import,
        Work::Export,
    ];

    /// The name in the row.
    pub fn name(self) -> &'static str {
        match self {
            Work::Page => "page",
            Work::Text => "text",
            Work::File => "file",
            Work::Hear => "hear",
            Work::Index => "index",
            Work::Relabel => "relabel",
            Work::Forget => "forget",
            Work::Poll => "poll",
            Work::Deliver => "deliver",
            Work::ForgetFeed => "forget_feed",
            Work::Subscribe => "subscribe",
            Work::Letter => "letter",
            Work::Import => "import",
            Work::Export => "export",
        }
    }

    /// The work of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// What makes the text of a bookmark's document.
    pub fn of_bookmark(kind: BookmarkKind) -> Self {
        match kind {
            BookmarkKind::Page => Work::Page,
            BookmarkKind::Upload => Work::File,
        }
    }

    /// What makes the text of a stored file, as far as is known what it is.
    pub fn of_file(content_type: ContentType) -> Self {
        match content_type {
            ContentType::Audio | ContentType::Video => Work::Hear,
            ContentType::Pdf | ContentType::Article | ContentType::Note => Work::File,
        }
    }

    /// Whether it makes a document's text or puts it into the index: then its failure is the document's.
    pub fn makes_document(self) -> bool {
        match self {
            Work::Page | Work::Text | Work::File | Work::Hear | Work::Index => true,
            Work::Relabel
            | Work::Forget
            | Work::Poll
            | Work::Deliver
            | Work::ForgetFeed
            | Work::Subscribe
            | Work::Letter
            | Work::Import
            | Work::Export => false,
        }
    }

    /// Whether it is done for all who follow a feed, in the name of one of them. (An index and [`turn`] name these.)
    pub fn serves_all(self) -> bool {
        match self {
            Work::Poll | Work::Subscribe => true,
            Work::Page
            | Work::Text
            | Work::File
            | Work::Hear
            | Work::Index
            | Work::Relabel
            | Work::Forget
            | Work::Deliver
            | Work::ForgetFeed
            | Work::Letter
            | Work::Import
            | Work::Export => false,
        }
    }

    /// Where it waits.
    pub fn track(self) -> Track {
        match self {
            Work::Page | Work::Poll | Work::Subscribe | Work::Letter => Track::Web,
            Work::File => Track::Files,
            Work::Hear => Track::Recordings,
            Work::Text | Work::Index | Work::Relabel | Work::Forget | Work::Deliver | Work::ForgetFeed => {
                Track::Library
            }
            Work::Import | Work::Export => Track::Transfers,
        }
    }
}

/// Work of one kind of need waits on a track of its own, so that slow sites do not hold up what is here already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// Waits for other machines most of its time.
    Web,
    /// Works on what is here, for seconds.
    Library,
    /// Reads files, for seconds.
    Files,
    /// Takes whole libraries in, or packs them.
    Transfers,
    /// Fetches recordings and hears them, for about as long as they play.
    Recordings,
}

impl Track {
    /// Every track.
    pub const ALL: [Track; 5] =
        [Track::Web, Track::Library, Track::Files, Track::Transfers, Track::Recordings];

    /// The name by which it is counted.
    pub fn name(self) -> &'static str {
        match self {
            Track::Web => "web",
            Track::Library => "library",
            Track::Files => "files",
            Track::Transfers => "transfers",
            Track::Recordings => "recordings",
        }
    }

    fn number(self) -> i16 {
        match self {
            Track::Web => 0,
            Track::Library => 1,
            Track::Files => 2,
            Track::Transfers => 3,
            Track::Recordings => 4,
        }
    }
}

/// How soon work is wanted, against other work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A person waits for it.
    Now,
    /// It belongs to a backlog: an import, vectors that a new model makes.
    Backlog,
}

impl Priority {
    /// How soon this job was wanted.
    pub fn of(job: &Model) -> Self {
        if job.priority <= Priority::Now.number() { Priority::Now } else { Priority::Backlog }
    }

    fn number(self) -> i16 {
        match self {
            Priority::Now => 0,
            Priority::Backlog => 10,
        }
    }
}

/// Whether a person may ask for more: fewer than [`MOST_WAITING`] jobs of theirs that are wanted as soon wait for their turn.
/// Of a backlog those count too that wait for their time, at a host for example: a look takes longer then, and is taken
/// once for many.
pub async fn has_room(db: &impl ConnectionTrait, user: UserId, wanted: Priority) -> Result<bool, DbErr> {
    // Spelled out, as in the partial indexes.
    let waiting = match wanted {
        Priority::Now => Condition::all()
            .add(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
            .add(Column::Track.is_in(Track::ALL.map(Track::number))),
        Priority::Backlog => Condition::all()
            .add(Expr::cust("state IN ('queued', 'running')"))
            .add(Column::State.eq(JobState::Queued)),
    };
    let beyond = Entity::owned_by(user)
        .select_only()
        .column(Column::Id)
        .filter(waiting)
        .filter(Column::Priority.eq(wanted.number()))
        .offset(MOST_WAITING - 1)
        .limit(1);
    Ok(beyond.into_tuple::<JobId>().one(db).await?.is_none())
}

/// How many jobs of all users are in a state on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The track's name.
    pub track: &'static str,
    /// Jobs that wait: for their turn, or for their time.
    pub waiting: u64,
    /// Jobs that run.
    pub running: u64,
    /// Since when the first of those that wait might have begun.
    pub since: Option<Timestamp>,
}

/// How much there is to do on each track.
pub async fn depths(db: &impl ConnectionTrait) -> Result<Vec<Depth>, DbErr> {
    let counted = Entity::find()
        .select_only()
        .column(Column::Track)
        .column(Column::State)
        .column_as(Column::Id.count(), "jobs")
        .column_as(Column::RunAt.min(), "since")
        .filter(Expr::cust("state IN ('queued', 'running')"))
        .group_by(Column::Track)
        .group_by(Column::State);
    let rows: Vec<(i16, JobState, i64, Option<Timestamp>)> = counted.into_tuple().all(db).await?;
    let row = |track: Track, state: JobState| {
        rows.iter().find(|(number, found, ..)| (*number, *found) == (track.number(), state))
    };
    let jobs = |track: Track, state: JobState| {
        row(track, state).map_or(0, |(_, _, jobs, _)| u64::try_from(*jobs).unwrap_or_default())
    };
    let depth = |track: Track| Depth {
        track: track.name(),
        waiting: jobs(track, JobState::Queued),
        running: jobs(track, JobState::Running),
        since: row(track, JobState::Queued).and_then(|(.., since)| *since),
    };
    Ok(Track::ALL.into_iter().map(depth).collect())
}

/// Takes work back that waits and is not necessary any more.
pub async fn withdraw(
    db: &impl ConnectionTrait,
    user: UserId,
    work: Work,
    subject: Uuid,
) -> Result<(), DbErr> {
    Entity::delete_many()
        .filter(Column::UserId.eq(user))
        .filter(Column::Kind.eq(work.name()))
        .filter(Column::Subject.eq(subject))
        .filter(Column::State.eq(JobState::Queued))
        .exec(db)
        .await
        .map(drop)
}

/// The subjects of jobs of a kind that wait or run.
pub fn subjects(work: Work) -> SelectStatement {
    Query::select()
        .column(Column::Subject)
        .from(Entity)
        .and_where(Column::Kind.eq(work.name()))
        .and_where(Column::State.is_in([JobState::Queued, JobState::Running]))
        .to_owned()
}

/// Whether somebody else's work waits on the job's track, or work that is wanted sooner.
pub async fn others_wait(db: &impl ConnectionTrait, job: &Model) -> Result<bool, DbErr> {
    let others = Condition::any()
        .add(Column::Priority.lt(job.priority))
        .add(Column::Priority.eq(job.priority).and(Column::UserId.ne(job.user_id)));
    let waiting = Entity::find()
        .filter(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
        .filter(Column::Track.eq(job.track))
        .filter(others);
    Ok(waiting.one(db).await?.is_some())
}

/// Asks for work, in the transaction that makes it necessary. Work that waits already is not asked for twice: it begins
/// anew with all its tries, as soon as the sooner of the two.
pub async fn ask(
    db: &impl ConnectionTrait,
    user: UserId,
    work: Work,
    subject: Uuid,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    ask_all(db, user, work, [subject], priority, now).await
}

/// Asks for the same work on each of these subjects, every one of which is named once.
pub async fn ask_all(
    db: &impl ConnectionTrait,
    user: UserId,
    work: Work,
    subjects: impl IntoIterator<Item = Uuid>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    let (track, priority) = (work.track().number(), priority.number());
    let mut subjects = subjects.into_iter().peekable();
    if subjects.peek().is_none() {
        return Ok(());
    }
    let turn = turn::next(db, user, work.name(), (track, priority)).await?;
    let rows = subjects.zip(turn..).map(|(subject, turn)| Model {
        turn: Some(turn),
        ..Model::queued(user, work.name(), subject, (track, priority), now)
    });
    insert_all::<Entity>(db, rows, Some(&waiting(db, now))).await.map(drop)
}

/// What becomes of work that waits already.
fn waiting(db: &impl ConnectionTrait, now: Timestamp) -> OnConflict {
    let smaller =
        if db.get_database_backend() == sea_orm::DatabaseBackend::Postgres { "LEAST" } else { "MIN" };
    // Turns of two priorities do not compare: with a sooner priority comes its turn.
    let turn =
        "CASE WHEN job.turn IS NULL OR excluded.priority < job.priority THEN excluded.turn ELSE job.turn END";
    OnConflict::columns([Column::Kind, Column::Subject])
        .target_and_where(Expr::cust("state = 'queued'"))
        .value(Column::Priority, Expr::cust(format!("{smaller}(job.priority, excluded.priority)")))
        .value(Column::Turn, Expr::cust(turn))
        .value(Column::RunAt, now)
        .value(Column::Attempts, 0)
        .value(Column::Deaths, 0)
        .value(Column::Done, 0)
        .to_owned()
}
