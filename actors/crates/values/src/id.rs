//! Typed ids, and the only place that creates new ones. All are UUIDv7 (contract.md, section 1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

/// A string that is not a valid id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id: expected a UUID")]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType))]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Creates an id; ids created later sort after earlier ones.
            pub fn new(now: Timestamp) -> Self {
                Self(new_uuid(now))
            }

            /// Returns the creation time, to the millisecond; `None` if the id is not of version 7.
            pub fn created_at(self) -> Option<Timestamp> {
                creation_time(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse(text).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": "uuid" })
            }
        }

        /// Ids are never created from numbers; `sea-orm` requires this conversion of every primary key.
        #[cfg(feature = "sea-orm")]
        impl sea_orm::TryFromU64 for $name {
            fn try_from_u64(_: u64) -> Result<Self, sea_orm::DbErr> {
                Err(sea_orm::DbErr::ConvertFromU64(stringify!($name)))
            }
        }
    )+};
}

ids! {
    /// A user account, the owner of a library.
    UserId,
    /// A session of a signed-in browser.
    SessionId,
    /// A request for a link to set a new password.
    PasswordResetId,
    /// An API key; it does not change when the secret is rotated.
    KeyId,
    /// An app connected by OAuth.
    GrantId,
    /// An OAuth client; its `client_id`.
    ClientId,
    /// A saved page or an uploaded file.
    BookmarkId,
    /// A text with its passages.
    DocumentId,
    /// A passage of a document.
    ChunkId,
    /// A highlight in a document.
    HighlightId,
    /// A collection of bookmarks, possibly within another one.
    CollectionId,
    /// A query that the user has saved.
    SavedSearchId,
    /// A change of bookmarks or tags that can be undone; the token by which it is.
    UndoId,
    /// A note: on a bookmark, or of a project.
    NoteId,
    /// A feed as one user follows it.
    FeedId,
    /// A feed source, shared by all followers.
    FeedSourceId,
    /// An entry of a followed feed.
    EntryId,
    /// Words by which entries of feeds are muted.
    FeedMuteId,
    /// Entries that were marked as read together.
    EntryMarkId,
    /// A project with its items, notes and decisions.
    ProjectId,
    /// An item of a project.
    ProjectItemId,
    /// A decision of a project.
    DecisionId,
    /// A durable background job; see crate `jobs`.
    JobId,
    /// A row of the activity view.
    ActivityId,
    /// An in-app notice about a connection or a key.
    NoticeId,
    /// An import of a file.
    ImportId,
    /// The result of one row of an import.
    ImportRowId,
    /// An export of a library.
    ExportId,
    /// An answer of a model that is in progress.
    AnswerId,
    /// A question of the web app with its follow-up questions.
    AskThreadId,
    /// One of the questions of such a thread, with its answer.
    AskQuestionId,
    /// An upload, from its announcement on.
    UploadId,
    /// A file in the blob store.
    FileId,
    /// A data folder, as the database identifies it.
    DataFolderId,
    /// A passage index. A rebuilt index gets a new id.
    IndexId,
    /// Id of an in-memory counter; identifies its row in `usage_day`.
    UsageCounterId,
}

/// Parses an id in its only accepted form: lower case, with hyphens.
fn parse(text: &str) -> Result<Uuid, InvalidId> {
    let id = Uuid::try_parse(text).map_err(|_| InvalidId)?;
    let mut buffer = Uuid::encode_buffer();
    if id.as_hyphenated().encode_lower(&mut buffer) == text { Ok(id) } else { Err(InvalidId) }
}

/// Keeps ids of the same millisecond distinct and in the order of their creation.
static SEQUENCE: AtomicU16 = AtomicU16::new(0);

fn new_uuid(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or_default();
    // Bytes 6 and 8 of a version 4 id hold version and variant; the others are random.
    let [a, b, c, d, e, f, _, g, _, h, ..] = *Uuid::new_v4().as_bytes();
    let [s0, s1] = SEQUENCE.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let random = [s0, s1, a, b, c, d, e, f, g, h];
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// Returns the time in an id; only ids of version 7 contain one.
fn creation_time(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    Some(Timestamp::from_millis(millis.checked_add(i64::from(nanos / 1_000_000))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_parsed_in_one_spelling_only() {
        let id = UserId::new(Timestamp::from_millis(1_700_000_000_000));
        let text = id.to_string();

        assert_eq!(text.parse(), Ok(id));
        assert_eq!(text.to_uppercase().parse::<UserId>(), Err(InvalidId));
        assert_eq!(text.replace('-', "").parse::<UserId>(), Err(InvalidId));
        assert_eq!(format!("{{{text}}}").parse::<UserId>(), Err(InvalidId));
    }

    #[test]
    fn new_id_has_version_7_and_its_creation_time() {
        let now = Timestamp::from_millis(1_700_000_000_123);
        let id = UserId::new(now);

        assert_eq!((id.0.get_version_num(), id.created_at()), (7, Some(now)));
        assert_eq!(UserId(Uuid::new_v4()).created_at(), None);
    }
}
