//! Typed ids: one macro, and the one place that makes new ones. All are UUIDv7 (contract.md, section 1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sea_orm::{DbErr, DeriveValueType, TryFromU64};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id: expected a UUID")]
pub struct NotAnId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, DeriveValueType, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id; ids made later sort after earlier ones.
            pub fn new(now: Timestamp) -> Self {
                Self(fresh(now))
            }

            /// When it was made, to the millisecond.
            pub fn made_at(self) -> Option<Timestamp> {
                moment(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
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

        /// Ids are never made from numbers; the database library asks for this of every primary key.
        impl TryFromU64 for $name {
            fn try_from_u64(_: u64) -> Result<Self, DbErr> {
                Err(DbErr::ConvertFromU64(stringify!($name)))
            }
        }
    )+};
}

ids! {
    /// A person with an account.
    UserId,
    /// A signed-in browser.
    SessionId,
    /// An API key; stays the same when its secret is made anew.
    KeyId,
    /// An application connected by OAuth.
    GrantId,
    /// An application that registered for OAuth; its `client_id`.
    ClientId,
    /// A saved page or upload.
    BookmarkId,
    /// A text with its passages.
    DocumentId,
    /// A passage of a document.
    ChunkId,
    /// A marked part of a document.
    HighlightId,
    /// A person's collection of bookmarks.
    CollectionId,
    /// A note: on a bookmark, or of a project.
    NoteId,
    /// A followed feed.
    FeedId,
    /// The address of a feed, shared by all who follow it.
    FeedSourceId,
    /// An entry of a followed feed.
    EntryId,
    /// A project.
    ProjectId,
    /// A thing's place in a project.
    ProjectItemId,
    /// A decision of a project.
    DecisionId,
    /// A piece of durable background work.
    JobId,
    /// A line of the activity view.
    ActivityId,
    /// An in-app notice.
    NoticeId,
    /// An import of a file.
    ImportId,
    /// What became of a row of an import.
    ImportRowId,
    /// An export of everything.
    ExportId,
    /// An answer that is being made.
    AnswerId,
    /// An announced file of the user's own.
    UploadId,
    /// The bytes of a file in the store.
    FileId,
    /// A data folder, as the database knows it.
    DataFolderId,
    /// One making of a passage index.
    IndexId,
    /// One counter of a user's calls in memory. It has a row of its own, which nothing else changes.
    UsageCounterId,
}

/// The only spelling that is taken: lower case, with hyphens.
fn parse(text: &str) -> Result<Uuid, NotAnId> {
    let id = Uuid::try_parse(text).map_err(|_| NotAnId)?;
    let mut buffer = Uuid::encode_buffer();
    if id.as_hyphenated().encode_lower(&mut buffer) == text { Ok(id) } else { Err(NotAnId) }
}

/// Ids of one millisecond are told apart, and kept in the order of their making, by this.
static SEQUENCE: AtomicU16 = AtomicU16::new(0);

fn fresh(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or_default();
    // Bytes 6 and 8 of a version 4 id hold version and variant; the others are random.
    let [a, b, c, d, e, f, _, g, _, h, ..] = *Uuid::new_v4().as_bytes();
    let [s0, s1] = SEQUENCE.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let random = [s0, s1, a, b, c, d, e, f, g, h];
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// The time that an id holds; only one of version 7 holds one.
fn moment(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    Some(Timestamp::from_millis(millis.checked_add(i64::from(nanos / 1_000_000))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_in_one_spelling_only() {
        let id = UserId::new(Timestamp::from_millis(1_700_000_000_000));
        let text = id.to_string();

        assert_eq!(text.parse(), Ok(id));
        assert_eq!(text.to_uppercase().parse::<UserId>(), Err(NotAnId));
        assert_eq!(text.replace('-', "").parse::<UserId>(), Err(NotAnId));
        assert_eq!(format!("{{{text}}}").parse::<UserId>(), Err(NotAnId));
    }

    #[test]
    fn a_new_id_is_of_version_7_and_holds_its_time() {
        let now = Timestamp::from_millis(1_700_000_000_123);
        let id = UserId::new(now);

        assert_eq!((id.0.get_version_num(), id.made_at()), (7, Some(now)));
        assert_eq!(UserId(Uuid::new_v4()).made_at(), None);
    }
}
