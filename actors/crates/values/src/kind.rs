//! Enums that are stored in columns, each with its name on the wire and in the database.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A string that is not the name of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown name")]
pub struct UnknownName;

/// A kind whose values have names.
pub trait NamedKind: FromStr + Copy + 'static {
    /// The names of all values.
    const NAMES: &'static [&'static str];
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType), sea_orm(value_type = "String"))]
        pub enum $kind { $($(#[$vdoc])* #[serde(rename = $name)] $variant),+ }

        impl $kind {
            /// The names of all variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name on the wire and in the database.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name),+ }
            }
        }

        /// It is never a key alone; `sea-orm` requires this conversion of every part of a key.
        #[cfg(feature = "sea-orm")]
        impl sea_orm::TryFromU64 for $kind {
            fn try_from_u64(_: u64) -> Result<Self, sea_orm::DbErr> {
                Err(sea_orm::DbErr::ConvertFromU64(stringify!($kind)))
            }
        }

        impl JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $kind::NAMES })
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl NamedKind for $kind {
            const NAMES: &'static [&'static str] = $kind::NAMES;
        }

        impl FromStr for $kind {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                match name { $($name => Ok($kind::$variant),)+ _ => Err(UnknownName) }
            }
        }
    )+};
}

kinds! {
    /// Whether a highlight still stands on the words that were marked.
    AnchorState {
        /// It is where it was marked.
        Exact = "exact",
        /// Another text replaced the one that was marked, and the words are elsewhere in it.
        Moved = "moved",
        /// The current text does not contain the words.
        Lost = "lost",
    }

    /// State of an import and of its undo.
    ImportState {
        /// Its rows are being imported.
        Running = "running",
        /// The dry run has finished; it waits to be started.
        DryRunDone = "checked",
        /// Paused, together with the fetching of its pages, until it is resumed.
        Paused = "paused",
        /// Every row was processed; some may have been skipped.
        Done = "done",
        /// It stopped before the end. Unless it is a dry run, it can be resumed while its file is kept.
        Failed = "failed",
        /// Its objects are being deleted again.
        Undoing = "undoing",
        /// Its undo stopped before the end and can be started again.
        HalfUndone = "half_undone",
        /// It was undone: everything that it created and that was not changed since was deleted.
        Undone = "undone",
    }
    /// Result of a row of an import.
    RowOutcome {
        /// The row created an object.
        Created = "created",
        /// An existing object was updated.
        Updated = "updated",
        /// The row was not imported; its detail is the reason.
        Skipped = "skipped",
        /// An object was created for another row, such as a collection for a folder.
        Incidental = "incidental",
    }
    /// Kind of object of a row of an import.
    ImportedKind {
        /// A saved page or an uploaded file.
        Bookmark = "bookmark",
        /// A collection of bookmarks.
        Collection = "collection",
        /// A feed that the user follows.
        Feed = "feed",
        /// An entry of a feed.
        Entry = "entry",
        /// A highlight in a bookmark.
        Highlight = "highlight",
        /// A project without its contents.
        Project = "project",
        /// A decision of a project.
        Decision = "decision",
        /// A note of a project.
        Note = "note",
        /// An item of a project.
        Item = "item",
    }
    /// State of an export; a user has one running export at most.
    ExportState {
        /// The file is being written.
        Running = "running",
        /// The file is complete and can be downloaded.
        Done = "done",
        /// It failed.
        Failed = "failed",
    }
    /// State of a question that the web app keeps.
    QuestionState {
        /// Its answer is being prepared.
        Waiting = "waiting",
        /// It was answered, also by saying that the library has nothing about it.
        Answered = "answered",
        /// It could not be answered; it may be asked again.
        Failed = "failed",
    }
    /// What became of a question.
    AnswerOutcome {
        /// The library answers it.
        Answered = "answered",
        /// The library has something about it, but no sentence that answers it: the closest sentences or titles are quoted.
        Closest = "closest",
        /// The library has nothing about it, and the index is whole.
        NothingFound = "nothing_found",
    }
    /// The two kinds of API key.
    KeyKind {
        /// For the REST API; the MCP server refuses it.
        Rest = "rest",
        /// For the MCP server; carries the scope `mcp`.
        Mcp = "mcp",
    }
    /// Kind of source of a document (contract.md, section 1).
    ContentType {
        /// A web page, or a text that was supplied.
        Article = "article",
        /// A PDF file, fetched or uploaded.
        Pdf = "pdf",
        /// An audio recording, whose text is its transcript.
        Audio = "audio",
        /// A video, whose text is the transcript of its sound.
        Video = "video",
        /// A note of the user.
        Note = "note",
    }
    /// Processing state of a document (contract.md, section 5).
    DocumentStatus {
        /// Extraction or indexing is not finished.
        Processing = "processing",
        /// The text is readable and searchable.
        Ready = "ready",
        /// The last attempt failed; a later attempt may still succeed.
        Failed = "failed",
    }
    /// What a bookmark was created from.
    BookmarkKind {
        /// A URL that the user saved.
        Page = "page",
        /// A file uploaded by the user.
        Upload = "upload",
    }
    /// Format of the content that was sent with a save.
    SourceFormat {
        /// HTML, from which the article is extracted.
        Html = "html",
        /// Plain text, which is taken as it is.
        Text = "text",
    }
    /// Whether a project can be changed.
    ProjectStatus {
        /// It accepts items, notes and decisions.
        Active = "active",
        /// Archived: it can be read but not changed.
        Archived = "archived",
    }
    /// The kind of reference by which an item was added to a project.
    ItemKind {
        /// A saved page or an uploaded file.
        Bookmark = "bookmark",
        /// A highlight in a bookmark.
        Highlight = "highlight",
        /// A note on a bookmark or of another project.
        Note = "note",
        /// An entry of a followed feed.
        Entry = "entry",
        /// A URL that was saved for the project.
        Url = "url",
    }
    /// Role of an item in its project.
    ItemRole {
        /// A source that the project is about.
        Source = "source",
        /// Background information, which the project is not about.
        Background = "background",
    }
    /// Status of a decision of a project.
    DecisionStatus {
        /// Proposed and not decided yet.
        Proposed = "proposed",
        /// Decided and in force.
        Decided = "decided",
        /// Rejected, and kept as a record.
        Rejected = "rejected",
    }
    /// State of a durable job.
    JobState {
        /// Waits for its `run_at`, or for a free slot of its track.
        Queued = "queued",
        /// Claimed by a worker, until its lease ends.
        Running = "running",
        /// Finished; the row is removed after some time.
        Done = "done",
        /// Failed permanently; kept with its reason.
        GivenUp = "given_up",
    }
    /// The surfaces whose calls are counted in limits and recorded in the activity view.
    MeteredSurface {
        /// The REST API, v1 and v2.
        Rest = "rest",
        /// The MCP server, whose tool calls are counted.
        Mcp = "mcp",
    }
    /// Client authentication method at the token endpoint (RFC 7591, section 2).
    ClientAuth {
        /// None: a public client, which has no secret.
        None = "none",
        /// A secret in the request body.
        Post = "client_secret_post",
        /// A secret in the `Authorization` header.
        Basic = "client_secret_basic",
    }
    /// State of the grant of a user to a client.
    GrantState {
        /// Connected: its tokens are valid until they expire.
        Connected = "connected",
        /// Ended by the user, or because the account ended.
        Disconnected = "disconnected",
        /// Revoked by the client, or because a secret of it was used twice.
        Revoked = "revoked",
    }
    /// State of an authorization code. A code can be presented once, whether that succeeds or not.
    CodeState {
        /// Issued and not presented yet.
        Issued = "issued",
        /// Presented without success, so it is invalid.
        Spent = "spent",
        /// Exchanged for the tokens of a grant.
        Redeemed = "redeemed",
    }
    /// State of a token. An access token stays `Issued`: it ends when it expires or its grant ends.
    TokenState {
        /// Issued and not exchanged for others.
        Issued = "issued",
        /// A refresh token that was exchanged for the next pair.
        Spent = "spent",
    }
    /// State of the subscription at the hub of a feed.
    PushState {
        /// The feed declares the hub.
        Offered = "offered",
        /// The subscription was requested; the hub has not verified it yet.
        Requested = "requested",
        /// The hub has verified the subscription and sends notifications.
        Active = "active",
        /// The hub has denied the subscription.
        Refused = "refused",
    }
    /// The two kinds of OAuth token.
    TokenKind {
        /// An access token, for calls of the MCP server.
        Access = "access",
        /// A refresh token, for the next pair of tokens.
        Refresh = "refresh",
    }
    /// The two kinds of notice (spec.md: Events).
    NoticeKind {
        /// An app was connected by OAuth.
        AppConnected = "app_connected",
        /// A key was used for the first time.
        KeyFirstUse = "key_first_use",
    }
    /// Language of the web app.
    AppLanguage {
        /// English.
        English = "en",
        /// German.
        German = "de",
    }
    /// Colour theme of the web app.
    AppTheme {
        /// The theme of the system.
        System = "system",
        /// Dark text on a light ground.
        Light = "light",
        /// Light text on a dark ground.
        Dark = "dark",
    }
    /// How pictures of saved pages are shown.
    PictureMode {
        /// At once, fetched by the server.
        Shown = "shown",
        /// Each after a click, so that nothing is fetched before.
        OnClick = "on_click",
    }
    /// How far a new account has been set up by its user.
    OnboardingState {
        /// The first steps are shown on the home page.
        Open = "open",
        /// The user skipped the first steps.
        Skipped = "skipped",
        /// All first steps are done.
        Done = "done",
    }
    /// Type of the reader: a face with a size, a line height and a width.
    ReadingPreset {
        /// Serif, as in a book.
        Page = "page",
        /// Serif, smaller and denser.
        Paperback = "paperback",
        /// Serif, large.
        Large = "large",
        /// Sans serif.
        Plain = "plain",
        /// A face made for legibility.
        Legible = "legible",
    }
    /// Ground of the reader.
    ReadingPaper {
        /// That of the theme.
        Auto = "auto",
        /// Light.
        Light = "light",
        /// Warm and light.
        Linen = "linen",
        /// Dark.
        Dark = "dark",
    }
    /// Groups of the AI budget (contract.md, section 4).
    BudgetGroup {
        /// Answers to questions about the library.
        Chat = "chat",
        /// Embedding of passages and queries.
        Embedding = "embedding",
        /// Transcription of recordings to text.
        Transcription = "transcription",
    }
}
