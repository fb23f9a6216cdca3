//! A text with its passages: of a saved page, an upload, a feed entry or a note.

use crate::id::{BookmarkId, DocumentId, EntryId, FeedId, ProjectId, UserId};
use crate::kind::{ContentType, DocumentStatus};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A text with its passages: of a saved page, an upload, a feed entry or a note.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "document")]
pub struct Model {
    /// The document.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DocumentId,
    /// Who may read it.
    pub user_id: UserId,
    /// What it was before it became text.
    pub content_type: ContentType,
    /// The bookmark that it is the text of, or that the note is on.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry that it is the text of.
    pub entry_id: Option<EntryId>,
    /// The feed of that entry.
    pub feed_id: Option<FeedId>,
    /// The project whose note it is.
    pub project_id: Option<ProjectId>,
    /// Its address; none for uploads and notes, whose address is their page in the web app.
    #[sea_orm(column_type = "Text", nullable)]
    pub url: Option<String>,
    /// Its title.
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// The person gave the title, so extraction leaves it.
    pub title_given: bool,
    /// Who wrote it.
    #[sea_orm(column_type = "Text", nullable)]
    pub author: Option<String>,
    /// What the site calls itself.
    #[sea_orm(column_type = "Text", nullable)]
    pub site_name: Option<String>,
    /// What the page says of itself.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// Address of the page's picture.
    #[sea_orm(column_type = "Text", nullable)]
    pub image_url: Option<String>,
    /// When the page says that it was published: a date, or a time with its offset, as in RFC 3339.
    #[sea_orm(column_type = "Text", nullable)]
    pub published_at: Option<String>,
    /// The address by which the page wants to be known.
    #[sea_orm(column_type = "Text", nullable)]
    pub canonical_url: Option<String>,
    /// The address of its recording, where that is neither its own nor its entry's.
    #[sea_orm(column_type = "Text", nullable)]
    pub recording_url: Option<String>,
    /// What its text lacks, in words for the person: pages of a PDF that are pictures.
    #[sea_orm(column_type = "Text", nullable)]
    pub lacks: Option<String>,
    /// ISO 639-1, where it could be told.
    pub language: Option<String>,
    /// Unicode scalar values of the text.
    pub total_chars: i32,
    /// Words of the text.
    pub word_count: Option<i32>,
    /// Raised each time a new text comes in; chunks belong to one version.
    pub version: i32,
    /// The version whose passages the index holds; 0 is none.
    pub indexed_version: i32,
    /// The embedding model whose vectors the index holds for that version; if the index lost them (version 0), the model before.
    pub vectors_of: Option<String>,
    /// How many passages the index holds for that version.
    pub indexed_passages: i32,
    /// When the index was last told something about the document: its passages, or what they are filed under.
    pub indexed_at: Option<Timestamp>,
    /// When the index was found to have lost its passages or vectors; none once both are restored.
    pub index_lost_at: Option<Timestamp>,
    /// How far it is.
    pub status: DocumentStatus,
    /// Why the last try failed, in words for the person.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Out of sight since its bookmark was deleted.
    pub hidden_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its text last changed.
    pub updated_at: Timestamp,
}

crate::owned::owned_changes!();

impl Model {
    /// A document whose text is still to come, of nobody's bookmark, feed or project.
    pub fn awaited(user: UserId, content_type: ContentType, title: String, now: Timestamp) -> Self {
        Self {
            id: DocumentId::new(now),
            user_id: user,
            content_type,
            bookmark_id: None,
            entry_id: None,
            feed_id: None,
            project_id: None,
            url: None,
            title,
            title_given: false,
            author: None,
            site_name: None,
            description: None,
            image_url: None,
            published_at: None,
            canonical_url: None,
            recording_url: None,
            lacks: None,
            language: None,
            total_chars: 0,
            word_count: None,
            version: 0,
            indexed_version: 0,
            vectors_of: None,
            indexed_passages: 0,
            indexed_at: None,
            index_lost_at: None,
            status: DocumentStatus::Processing,
            error: None,
            hidden_at: None,
            created_at: now,
            updated_at: now,
        }
    }
}

impl Entity {
    /// The documents that a user may read: the text of an own bookmark, upload or note, or of an entry of a
    /// followed feed (spec.md: Document). Those of deleted bookmarks are hidden.
    pub fn readable_by(user: UserId) -> Select<Entity> {
        Self::of(user).filter(Column::HiddenAt.is_null())
    }

    /// One document, if the user may read it.
    pub fn one_of(user: UserId, id: DocumentId) -> Select<Entity> {
        Self::readable_by(user).filter(Column::Id.eq(id))
    }

    /// The documents of every user that are in sight: what a new model embeds anew, and what is indexed anew.
    pub fn of_every_user() -> Select<Entity> {
        Self::find().filter(Column::HiddenAt.is_null())
    }

    /// The documents of every user, hidden ones too: what passages of the index are compared with.
    pub fn of_every_user_with_hidden() -> Select<Entity> {
        Self::find()
    }

    /// The visible documents of every user whose passages or vectors the index has lost and not yet restored.
    pub fn lost_by_index() -> Select<Entity> {
        Self::of_every_user().filter(Column::IndexLostAt.is_not_null())
    }

    /// The documents of a user, hidden ones too: what the index and the clean-up speak of.
    pub fn of(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }
}
