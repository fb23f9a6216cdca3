//! What is to be done, where it waits, and how soon it is wanted.

use entity::job::Model;
use entity::kind::{BookmarkKind, ContentType};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Make the text of a document by fetching its address.
    Page,
    /// Make the text of a document from content that was given.
    Text,
    /// Make the text of a document from its stored file.
    File,
    /// Make the text of a recording.
    Transcribe,
    /// Put a document's passages into the index.
    Index,
    /// File a document's passages anew.
    UpdateLabels,
    /// Take a document out of the index.
    RemoveFromIndex,
    /// Fetch the source of a feed.
    FetchFeed,
    /// Give a follower the entries of a feed.
    DeliverEntries,
    /// Take the documents of a feed away that was left.
    ForgetFeed,
    /// Ask a feed's hub to say when there is something new.
    Subscribe,
    /// Tell a notice by a letter.
    SendEmail,
    /// Take the rows of a file in, or what came of them back.
    Import,
    /// Pack everything that a person has into a file.
    Export,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [JobKind; 14] = [
        JobKind::Page,
        JobKind::Text,
        JobKind::File,
        JobKind::Transcribe,
        JobKind::Index,
        JobKind::UpdateLabels,
        JobKind::RemoveFromIndex,
        JobKind::FetchFeed,
        JobKind::DeliverEntries,
        JobKind::ForgetFeed,
        JobKind::Subscribe,
        JobKind::SendEmail,
        JobKind::Import,
        JobKind::Export,
    ];

    /// The name in the row.
    pub fn name(self) -> &'static str {
        match self {
            JobKind::Page => "page",
            JobKind::Text => "text",
            JobKind::File => "file",
            JobKind::Transcribe => "hear",
            JobKind::Index => "index",
            JobKind::UpdateLabels => "relabel",
            JobKind::RemoveFromIndex => "forget",
            JobKind::FetchFeed => "poll",
            JobKind::DeliverEntries => "deliver",
            JobKind::ForgetFeed => "forget_feed",
            JobKind::Subscribe => "subscribe",
            JobKind::SendEmail => "letter",
            JobKind::Import => "import",
            JobKind::Export => "export",
        }
    }

    /// What is done, in words for a log line or a report.
    pub fn activity(self) -> &'static str {
        match self {
            JobKind::Page => "fetching a page",
            JobKind::Text => "reading a text",
            JobKind::File => "reading a file",
            JobKind::Transcribe => "transcribing a recording",
            JobKind::Index => "indexing a document",
            JobKind::UpdateLabels => "updating a document in the index",
            JobKind::RemoveFromIndex => "removing a document from the index",
            JobKind::FetchFeed => "fetching a feed",
            JobKind::DeliverEntries => "delivering the entries of a feed",
            JobKind::ForgetFeed => "removing a feed",
            JobKind::Subscribe => "subscribing to a feed",
            JobKind::SendEmail => "sending an e-mail",
            JobKind::Import => "an import",
            JobKind::Export => "an export",
        }
    }

    /// The work of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// What makes the text of a bookmark's document.
    pub fn of_bookmark(kind: BookmarkKind) -> Self {
        match kind {
            BookmarkKind::Page => JobKind::Page,
            BookmarkKind::Upload => JobKind::File,
        }
    }

    /// What makes the text of a stored file, as far as is known what it is.
    pub fn of_file(content_type: ContentType) -> Self {
        match content_type {
            ContentType::Audio | ContentType::Video => JobKind::Transcribe,
            ContentType::Pdf | ContentType::Article | ContentType::Note => JobKind::File,
        }
    }

    /// What jobs of this kind do. The methods below read it, so that a new kind is classified once.
    fn effect(self) -> Effect {
        match self {
            JobKind::Page | JobKind::Text | JobKind::File | JobKind::Transcribe => Effect::MakesText,
            JobKind::Index => Effect::IndexesDocument,
            JobKind::UpdateLabels => Effect::UpdatesIndex,
            JobKind::RemoveFromIndex | JobKind::ForgetFeed => Effect::Deletes,
            JobKind::FetchFeed | JobKind::Subscribe => Effect::ServesFollowers,
            JobKind::DeliverEntries | JobKind::SendEmail | JobKind::Import | JobKind::Export => Effect::Other,
        }
    }

    /// Whether it makes a document's text or puts it into the index: then its failure is the document's.
    pub fn makes_document(self) -> bool {
        matches!(self.effect(), Effect::MakesText | Effect::IndexesDocument)
    }

    /// The names of those that do.
    pub fn that_make_documents() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|work| work.makes_document()).map(Self::name)
    }

    /// Whether it changes the passage index and the rows that describe its content. Only the service that maintains the index
    /// runs such jobs.
    pub fn changes_index(self) -> bool {
        matches!(self.effect(), Effect::IndexesDocument | Effect::UpdatesIndex | Effect::Deletes)
    }

    /// Whether it only deletes. Such jobs run below the floor of the disk too.
    pub fn only_deletes(self) -> bool {
        self.effect() == Effect::Deletes
    }

    /// Whether it is done for all who follow a feed, in the name of one of them. (An index and [`super::turn`] name these.)
    pub fn serves_all(self) -> bool {
        self.effect() == Effect::ServesFollowers
    }

    /// Where it waits.
    pub fn track(self) -> Track {
        match self {
            JobKind::Page | JobKind::FetchFeed | JobKind::Subscribe | JobKind::SendEmail => Track::Web,
            JobKind::File => Track::Files,
            JobKind::Transcribe => Track::Recordings,
            JobKind::Text | JobKind::Index | JobKind::UpdateLabels | JobKind::RemoveFromIndex | JobKind::DeliverEntries | JobKind::ForgetFeed => {
                Track::Library
            }
            JobKind::Import => Track::Imports,
            JobKind::Export => Track::Exports,
        }
    }
}

/// What a job does to documents, to the passage index, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Makes a document's text.
    MakesText,
    /// Puts a document's passages into the index, the last step of making a document.
    IndexesDocument,
    /// Changes what the index says of a document.
    UpdatesIndex,
    /// Removes documents, or their passages from the index.
    Deletes,
    /// Works for all followers of a feed.
    ServesFollowers,
    /// None of these. An import is here because it may add rows as well as undo them.
    Other,
}

/// JobKind of one kind of need waits on a track of its own, so that slow sites do not hold up what is here already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// Waits for other machines most of its time.
    Web,
    /// Works on what is here, for seconds.
    Library,
    /// Reads files, for seconds.
    Files,
    /// Takes whole libraries in, or back.
    Imports,
    /// Fetches recordings and hears them, for about as long as they play.
    Recordings,
    /// Packs whole libraries, each in one go.
    Exports,
}

impl Track {
    /// Every track.
    pub const ALL: [Track; 6] =
        [Track::Web, Track::Library, Track::Files, Track::Imports, Track::Recordings, Track::Exports];

    /// The name by which it is counted.
    pub fn name(self) -> &'static str {
        match self {
            Track::Web => "web",
            Track::Library => "library",
            Track::Files => "files",
            Track::Imports => "imports",
            Track::Recordings => "recordings",
            Track::Exports => "exports",
        }
    }

    pub(super) fn number(self) -> i16 {
        match self {
            Track::Web => 0,
            Track::Library => 1,
            Track::Files => 2,
            Track::Imports => 3,
            Track::Recordings => 4,
            Track::Exports => 5,
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

    pub(super) fn number(self) -> i16 {
        match self {
            Priority::Now => 0,
            Priority::Backlog => 10,
        }
    }
}
