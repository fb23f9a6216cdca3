//! The kinds of jobs, their tracks and their priorities.

use entity::job::{Column, Model};
use sea_orm::ColumnTrait;
use sea_orm::sea_query::{Expr, SimpleExpr};
use values::kind::{BookmarkKind, ContentType};

/// The kind of a job, which selects the handler that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Fetches a page and extracts the text of its document.
    FetchPage,
    /// Extracts the text of a document from content that a client or a feed supplied.
    ProcessText,
    /// Extracts the text of a document from its stored file.
    ProcessFile,
    /// Transcribes a recording; the transcript becomes the text of its document.
    Transcribe,
    /// Puts the passages of a document into the index.
    Index,
    /// Removes a document from the index.
    RemoveFromIndex,
    /// Fetches the source of a feed once for all its followers.
    FetchFeed,
    /// Delivers the entries of a feed to a follower.
    DeliverEntries,
    /// Removes the documents of a feed that was unfollowed.
    RemoveFeed,
    /// Requests a subscription to notifications at a feed's hub (WebSub).
    Subscribe,
    /// Sends a notice or the link of a password reset by e-mail.
    SendEmail,
    /// Imports the rows of a file, or undoes an import.
    Import,
    /// Writes an export of the data of a user.
    Export,
    /// Answers a question that the web app keeps.
    AnswerQuestion,
}

impl JobKind {
    /// All kinds; [`JobKind::named`] finds only those that are listed here.
    pub const ALL: [JobKind; 14] = [
        JobKind::FetchPage,
        JobKind::ProcessText,
        JobKind::ProcessFile,
        JobKind::Transcribe,
        JobKind::Index,
        JobKind::RemoveFromIndex,
        JobKind::FetchFeed,
        JobKind::DeliverEntries,
        JobKind::RemoveFeed,
        JobKind::Subscribe,
        JobKind::SendEmail,
        JobKind::Import,
        JobKind::Export,
        JobKind::AnswerQuestion,
    ];

    /// The table of the kinds: everything but their handlers that tells one from another.
    fn spec(self) -> JobSpec {
        use Effect::{Deletes, IndexesDocument, MakesText, Other, ServesFollowers};
        use Track::{Answers, Exports, Files, Imports, Library, Recordings, Web};

        match self {
            JobKind::FetchPage => JobSpec::new("fetch_page", "fetching a page", MakesText, Web),
            JobKind::ProcessText => JobSpec::new("process_text", "reading a text", MakesText, Library),
            JobKind::ProcessFile => JobSpec::new("process_file", "reading a file", MakesText, Files),
            JobKind::Transcribe => {
                JobSpec::new("transcribe", "transcribing a recording", MakesText, Recordings)
            }
            JobKind::Index => JobSpec::new("index", "indexing a document", IndexesDocument, Library),
            JobKind::RemoveFromIndex => {
                JobSpec::new("remove_from_index", "removing a document from the index", Deletes, Library)
            }
            JobKind::FetchFeed => JobSpec::new("fetch_feed", "fetching a feed", ServesFollowers, Web),
            JobKind::DeliverEntries => {
                JobSpec::new("deliver_entries", "delivering the entries of a feed", Other, Library)
            }
            JobKind::RemoveFeed => JobSpec::new("remove_feed", "removing a feed", Deletes, Library),
            JobKind::Subscribe => JobSpec::new("subscribe", "subscribing to a feed", ServesFollowers, Web),
            JobKind::SendEmail => JobSpec::new("send_email", "sending an e-mail", Other, Web),
            JobKind::Import => JobSpec::new("import", "an import", Other, Imports),
            JobKind::Export => JobSpec::new("export", "an export", Other, Exports),
            JobKind::AnswerQuestion => {
                JobSpec::new("answer_question", "answering a question", Other, Answers)
            }
        }
    }

    /// Returns the name that the row of a job contains: a verb phrase in snake case. `/app/api/work`, the field `job.kind` of the log and
    /// the metric `carrel_jobs_given_up_total` show it. Databases contain it, so it never changes after a release.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Describes the activity in words, for the reports of `carrel doctor` and `carrel jobs list`. Log lines have [`Self::name`].
    pub fn activity(self) -> &'static str {
        self.spec().activity
    }

    /// Returns the kind of this name, or `None` for a name of another version of the server.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind that makes the text of the document of a bookmark.
    pub fn of_bookmark(kind: BookmarkKind) -> Self {
        match kind {
            BookmarkKind::Page => JobKind::FetchPage,
            BookmarkKind::Upload => JobKind::ProcessFile,
        }
    }

    /// Returns the kind that makes the text of a stored file of this type.
    pub fn of_file(content_type: ContentType) -> Self {
        match content_type {
            ContentType::Audio | ContentType::Video => JobKind::Transcribe,
            ContentType::Pdf | ContentType::Article | ContentType::Note => JobKind::ProcessFile,
        }
    }

    /// Returns whether it extracts the text of a document or puts it into the index. The failure of such a job is recorded with the
    /// document. The computed column `job.makes_document` lists the names of these kinds, which a test compares.
    pub fn makes_document(self) -> bool {
        matches!(self.spec().effect, Effect::MakesText | Effect::IndexesDocument)
    }

    /// Returns the names of the kinds that make documents.
    pub fn that_make_documents() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|kind| kind.makes_document()).map(Self::name)
    }

    /// Returns whether many short jobs of this kind are worked on together: those that make passages of supplied texts, and those that put
    /// passages into the index. All of these kinds share a track.
    pub fn runs_in_batches(self) -> bool {
        matches!(self, JobKind::ProcessText | JobKind::Index)
    }

    /// Returns whether it, or the job that it continues as, puts the metadata passage of a document into the index too. The triggers of
    /// `document.awaits_index_job` list the names of these kinds, which a test compares.
    pub fn indexes_metadata(self) -> bool {
        matches!(self, JobKind::ProcessText | JobKind::Index)
    }

    /// Returns the names of the kinds that index the metadata of documents.
    pub fn that_index_metadata() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|kind| kind.indexes_metadata()).map(Self::name)
    }

    /// Returns whether it changes the passage index and the rows that describe its content. Only the server that maintains the index
    /// runs such jobs.
    pub fn changes_index(self) -> bool {
        matches!(self.spec().effect, Effect::IndexesDocument | Effect::Deletes)
    }

    /// Returns whether it only deletes. Such jobs also run when the disk is below its floor.
    pub fn only_deletes(self) -> bool {
        self.spec().effect == Effect::Deletes
    }

    /// Returns whether it serves all followers of a feed, although the row has the id of one of them. The partial index `job_shared_due`
    /// and the module `fairness` list the names of these kinds, which a test compares.
    pub fn serves_all_followers(self) -> bool {
        self.spec().effect == Effect::ServesFollowers
    }

    /// Returns the track on which the job waits.
    pub fn track(self) -> Track {
        self.spec().track
    }
}

/// Selects the jobs of kinds that this version of the server knows. The others wait for a version that knows them: after a
/// downgrade, or beside a newer process on the same database.
pub(crate) fn has_known_kind() -> SimpleExpr {
    Column::Kind.is_in(JobKind::ALL.map(JobKind::name))
}

/// Returns the condition that a job is of one of these kinds. Their names are part of the SQL text, as in the partial indexes, in the order
/// of [`JobKind::ALL`]: with bound parameters the planners would not use these indexes.
pub(crate) fn is_one_of(kinds: &[JobKind]) -> SimpleExpr {
    let names: Vec<String> = kinds.iter().map(|kind| format!("'{}'", kind.name())).collect();
    Expr::cust(format!("job.kind IN ({})", names.join(", ")))
}

/// The properties of a kind of jobs that the queue uses.
struct JobSpec {
    name: &'static str,
    activity: &'static str,
    effect: Effect,
    track: Track,
}

impl JobSpec {
    fn new(name: &'static str, activity: &'static str, effect: Effect, track: Track) -> Self {
        Self { name, activity, effect, track }
    }
}

/// The effect of a job on documents and on the passage index, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Extracts the text of a document.
    MakesText,
    /// Puts the passages of a document into the index, the last step of making a document.
    IndexesDocument,
    /// Removes documents, or their passages from the index.
    Deletes,
    /// Works for all followers of a feed.
    ServesFollowers,
    /// None of these. An import is here because it may add rows as well as undo them.
    Other,
}

/// A part of the queue with separate slots. Jobs that wait for the same resource share a track, so that slow sites do not
/// delay work on the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// Jobs that wait for other machines most of the time.
    Web,
    /// Jobs of seconds that work on stored data.
    Library,
    /// Jobs of seconds that read files.
    Files,
    /// Imports and their undoing; they yield.
    Imports,
    /// Fetching and transcription of recordings, which takes about as long as they play.
    Recordings,
    /// Exports, each in one attempt.
    Exports,
    /// Answers to questions, for which a user waits. They wait for a model most of the time.
    Answers,
}

impl Track {
    /// All tracks, in the order in which reports list them.
    pub const ALL: [Track; 7] = [
        Track::Web,
        Track::Library,
        Track::Files,
        Track::Imports,
        Track::Recordings,
        Track::Exports,
        Track::Answers,
    ];

    /// Returns the name in metrics and reports.
    pub fn name(self) -> &'static str {
        match self {
            Track::Web => "web",
            Track::Library => "library",
            Track::Files => "files",
            Track::Imports => "imports",
            Track::Recordings => "recordings",
            Track::Exports => "exports",
            Track::Answers => "answers",
        }
    }

    // The row contains the number, so a number is never given to another track.
    pub(crate) fn number(self) -> i16 {
        match self {
            Track::Web => 0,
            Track::Library => 1,
            Track::Files => 2,
            Track::Imports => 3,
            Track::Recordings => 4,
            Track::Exports => 5,
            Track::Answers => 6,
        }
    }
}

/// The urgency of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A user waits for it.
    Now,
    /// It is part of a large amount of work: an import, or the vectors of a new model.
    Backlog,
}

impl Priority {
    /// Returns the priority of a job. A number between the known ones counts as the less urgent priority.
    pub fn of(job: &Model) -> Self {
        if job.priority <= Priority::Now.number() { Priority::Now } else { Priority::Backlog }
    }

    pub(crate) fn number(self) -> i16 {
        match self {
            Priority::Now => 0,
            // A gap, so that a priority between the two needs no change of rows.
            Priority::Backlog => 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        let found = JobKind::ALL.map(|kind| JobKind::named(kind.name()));

        assert_eq!(found, JobKind::ALL.map(Some));
        assert_eq!(JobKind::named("a_later_kind"), None);
    }

    #[test]
    fn kinds_that_run_in_batches_share_a_track() {
        let tracks = JobKind::ALL.into_iter().filter(|kind| kind.runs_in_batches()).map(JobKind::track);

        assert_eq!(tracks.collect::<Vec<_>>(), [Track::Library, Track::Library]);
    }
}
