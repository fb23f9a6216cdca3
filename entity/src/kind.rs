//! The small enums that are columns, each with its name on the wire and in the database.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};

/// A text that names none of the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown name")]
pub struct NotAKind;

/// A kind whose values have names.
pub trait NamedKind: FromStr + Copy + 'static {
    /// The names of all values.
    const NAMES: &'static [&'static str];
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, DeriveValueType, Serialize, Deserialize)]
        #[sea_orm(value_type = "String")]
        pub enum $kind { $($(#[$vdoc])* #[serde(rename = $name)] $variant),+ }

        impl $kind {
            /// Every kind's name.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name on the wire and in the database.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name),+ }
            }
        }

        /// It is never a key by itself; the database library asks for this of every part of a key.
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
            type Err = NotAKind;

            fn from_str(name: &str) -> Result<Self, NotAKind> {
                match name { $($name => Ok($kind::$variant),)+ _ => Err(NotAKind) }
            }
        }
    )+};
}

kinds! {
    /// How far an import is.
    ImportState {
        /// Its rows are taken in.
        Running = "running",
        /// It was looked at what would come of it, and it waits for the word.
        Checked = "checked",
        /// It goes on when it is told to, and so do the pages that it brought.
        Paused = "paused",
        /// Every row was taken in.
        Done = "done",
        /// It did not come to its end.
        Failed = "failed",
        /// It is being undone.
        Undoing = "undoing",
        /// Its undo stopped before the end and can be started again.
        HalfUndone = "half_undone",
        /// It was undone: what it created and nobody had changed since was deleted.
        Undone = "undone",
    }
    /// What became of a row of an import.
    RowOutcome {
        /// Something was made.
        Created = "created",
        /// It was there already and got something.
        Updated = "updated",
        /// It was passed over.
        Skipped = "skipped",
        /// It was made on the way: a collection for a folder.
        Beside = "beside",
    }
    /// What a row of an import is.
    ImportedKind {
        /// A bookmark.
        Bookmark = "bookmark",
        /// A collection.
        Collection = "collection",
        /// A followed feed.
        Feed = "feed",
        /// An entry of one.
        Entry = "entry",
        /// A highlight.
        Highlight = "highlight",
        /// A project.
        Project = "project",
        /// A decision of one.
        Decision = "decision",
        /// A note of a project.
        Note = "note",
        /// A thing's place in a project.
        Item = "item",
    }
    /// How far an export is.
    ExportState {
        /// It is being packed.
        Running = "running",
        /// The file is there.
        Done = "done",
        /// It did not come to its end.
        Failed = "failed",
    }
    /// The two kinds of API key.
    KeyKind {
        /// For the REST API.
        Rest = "rest",
        /// For the MCP server; carries the scope `mcp`.
        Mcp = "mcp",
    }
    /// What a document was before it became text (contract.md, section 1).
    ContentType {
        /// A page.
        Article = "article",
        /// A PDF file.
        Pdf = "pdf",
        /// A sound recording.
        Audio = "audio",
        /// A film.
        Video = "video",
        /// A note of the user's own.
        Note = "note",
    }
    /// How far a document is (contract.md, section 5).
    DocumentStatus {
        /// Something is still to be done.
        Processing = "processing",
        /// Readable and searchable.
        Ready = "ready",
        /// The last try failed; later tries may still make it ready.
        Failed = "failed",
    }
    /// How a bookmark came to be.
    BookmarkKind {
        /// A saved address.
        Page = "page",
        /// A file of the user's own.
        Upload = "upload",
    }
    /// The form of content that came with a save.
    SourceForm {
        /// A page's HTML.
        Html = "html",
        /// Plain text.
        Text = "text",
    }
    /// Whether a project is worked on.
    ProjectStatus {
        /// It takes items, notes and decisions.
        Active = "active",
        /// Put away: it can be read and is not written to.
        Archived = "archived",
    }
    /// By what an item of a project was named.
    ItemKind {
        /// A saved page or upload.
        Bookmark = "bookmark",
        /// A marked part of one.
        Highlight = "highlight",
        /// A note, of a bookmark or of another project.
        Note = "note",
        /// An entry of a followed feed.
        Entry = "entry",
        /// An address that was saved for the project.
        Url = "url",
    }
    /// What a source is to its project.
    ItemRole {
        /// What the work is about.
        Source = "source",
        /// What it is good to know for it.
        Background = "background",
    }
    /// Where a decision stands.
    DecisionStatus {
        /// Somebody proposed it.
        Proposed = "proposed",
        /// It holds.
        Decided = "decided",
        /// It was not taken.
        Rejected = "rejected",
    }
    /// Where durable work stands.
    JobState {
        /// Due at its `run_at`.
        Queued = "queued",
        /// Taken by a worker, until its lease ends.
        Running = "running",
        /// Finished.
        Done = "done",
        /// Given up after its last try; kept with its reason.
        Dead = "dead",
    }
    /// The two surfaces whose calls are counted and logged.
    Surface {
        /// REST v1 and v2.
        Rest = "rest",
        /// The MCP server.
        Mcp = "mcp",
    }
    /// How an OAuth client proves to be itself at the token endpoint (RFC 7591, section 2).
    ClientAuth {
        /// Not at all: a public client.
        None = "none",
        /// By a secret in the body.
        Post = "client_secret_post",
        /// By a secret in the header.
        Basic = "client_secret_basic",
    }
    /// Whether an application is connected.
    GrantState {
        /// Its tokens work.
        Connected = "connected",
        /// The person, or the account's end, has ended it.
        Disconnected = "disconnected",
        /// The application has ended it, or a secret of it was used twice.
        Revoked = "revoked",
    }
    /// How far an authorization code has come. It is good for one presentation, whatever comes of that.
    CodeState {
        /// Nobody has presented it.
        Issued = "issued",
        /// It was presented, and no connection was made of it.
        Spent = "spent",
        /// A connection was made of it.
        Redeemed = "redeemed",
    }
    /// How far a token has come. An access token stays as it was issued: it ends with its time or its connection.
    TokenState {
        /// Not exchanged yet.
        Issued = "issued",
        /// A refresh token that was exchanged for the next pair.
        Spent = "spent",
    }
    /// How far the subscription at a feed's hub is.
    PushState {
        /// The feed names the hub.
        Offered = "offered",
        /// The hub was asked, and has not asked back yet.
        Asked = "asked",
        /// The hub has asked back: it says when there is something new.
        Active = "active",
        /// The hub does not want to.
        Refused = "refused",
    }
    /// The two kinds of OAuth token.
    TokenKind {
        /// For calls of the MCP server.
        Access = "access",
        /// For the next pair of tokens.
        Refresh = "refresh",
    }
    /// The two kinds of notice (spec.md: Events).
    NoticeKind {
        /// An application was connected by OAuth.
        AppConnected = "app_connected",
        /// A key was used for the first time.
        KeyFirstUse = "key_first_use",
    }
    /// Groups of the AI budget (contract.md, section 4).
    BudgetGroup {
        /// Questions.
        Chat = "chat",
        /// Vectors of passages and questions.
        Embedding = "embedding",
        /// Speech to text.
        Transcription = "transcription",
    }
}
