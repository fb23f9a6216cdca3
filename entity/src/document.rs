//! A text with its passages: the text of a saved page, an upload, a feed entry or a note.

use sea_orm::QueryOrder;
use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, DocumentId, EntryId, FeedId, ProjectId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::time::Timestamp;

/// A text with its passages: the text of a saved page, an upload, a feed entry or a note.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "document")]
pub struct Model {
    /// Id of the document; it is the same for every version of the text.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DocumentId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The kind of source from which the text was extracted.
    pub content_type: ContentType,
    /// The bookmark whose text this is, or on which the note was written.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry whose text this is.
    pub entry_id: Option<EntryId>,
    /// The feed of that entry.
    pub feed_id: Option<FeedId>,
    /// The project to which the note belongs.
    pub project_id: Option<ProjectId>,
    /// Its URL; `None` for uploads and notes, whose URL is their page in the web app.
    #[sea_orm(column_type = "Text", nullable)]
    pub url: Option<String>,
    /// Title that is shown: set by the user, or extracted from the source.
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// Whether the user set the title. Extraction does not overwrite such a title.
    pub has_user_title: bool,
    /// Names of the authors, if the source states them.
    #[sea_orm(column_type = "Text", nullable)]
    pub author: Option<String>,
    /// Name of the site, if the page states it.
    #[sea_orm(column_type = "Text", nullable)]
    pub site_name: Option<String>,
    /// Description from the metadata of the page.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// URL of the picture of the page.
    #[sea_orm(column_type = "Text", nullable)]
    pub image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its offset, as in RFC 3339.
    #[sea_orm(column_type = "Text", nullable)]
    pub published_at: Option<String>,
    /// Canonical URL that the page declares.
    #[sea_orm(column_type = "Text", nullable)]
    pub canonical_url: Option<String>,
    /// URL of its recording, if that differs from the URL of the document and of the entry.
    #[sea_orm(column_type = "Text", nullable)]
    pub recording_url: Option<String>,
    /// What is missing from the text, as a message for the user, such as pages of a PDF file that are pictures. `None` if the text is
    /// complete. The API calls it `lacks`.
    #[sea_orm(column_type = "Text", nullable)]
    pub missing_reason: Option<String>,
    /// ISO 639-1 code of its language, if it was detected.
    pub language: Option<String>,
    /// Length of the text in Unicode scalar values.
    pub total_chars: i32,
    /// Number of words of the text.
    pub word_count: Option<i32>,
    /// Version of the text: incremented each time the text is replaced. Each chunk belongs to one version.
    pub version: i32,
    /// The version whose passages are in the index; 0 if none are.
    pub indexed_version: i32,
    /// The embedding model whose vectors are in the index for that version; during a change of models the next one, once it has embedded the
    /// document, besides those of the former. If the index has lost them (version 0), it is the model that computed them. `None` if the
    /// passages are indexed by their words only, or are to be indexed again as a whole.
    pub embedding_model: Option<String>,
    /// The embedding model of the passages that an index job which takes several turns has put into the index so far; `None` if some of them
    /// have no vectors. Only such a job reads it, from its second turn on.
    pub turn_model: Option<String>,
    /// Whether the index gets the words of the text first, and its vectors by another job, because the service that embeds could not be used
    /// when the text was to be indexed. It is set from then until the words are in the index. Nothing is lost then, unlike with
    /// `index_lost_at`.
    pub has_postponed_vectors: bool,
    /// Number of passages in the index: those of the text of that version, and the metadata passage.
    pub indexed_points: i32,
    /// Whether the index holds the metadata passage of the document, whose id is that of the document.
    pub has_metadata_point: bool,
    /// Time since which the index lacks a change of the document, of its text or of its metadata; `None` if it lacks nothing. It is
    /// different after every change, so that a writer of the former state does not clear it.
    pub unindexed_since: Option<Timestamp>,
    /// Whether a job waits or runs that will write the metadata passage too and that a user waits for, as far as the task that indexes metadata
    /// has seen: it leaves the document to that job. It is cleared when such a job ends, is removed or joins the backlog. Documents with a job
    /// may lack it.
    pub awaits_index_job: bool,
    /// Time at which the passages of the document, or their labels, were last written to the index.
    pub indexed_at: Option<Timestamp>,
    /// Time at which passages or vectors were found to be missing from the index; `None` once both are restored.
    pub index_lost_at: Option<Timestamp>,
    /// Whether the text is being processed, is readable, or could not be extracted.
    pub status: DocumentStatus,
    /// Why the last attempt failed, as a message for the user.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Of a document that failed: whether a job that makes the document waits or runs. Triggers set it (`migration::counters`).
    pub has_pending_job: bool,
    /// Time since which it is hidden because its bookmark was deleted.
    pub hidden_at: Option<Timestamp>,
    /// Time at which the document was created, before any text was extracted.
    pub created_at: Timestamp,
    /// Time of the last change of the text.
    pub updated_at: Timestamp,
}

crate::owned::owned_changes!();

impl Model {
    /// Returns a document whose text has not been extracted yet and which belongs to no bookmark, feed or project.
    pub fn pending(user: UserId, content_type: ContentType, title: String, now: Timestamp) -> Self {
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
            has_user_title: false,
            author: None,
            site_name: None,
            description: None,
            image_url: None,
            published_at: None,
            canonical_url: None,
            recording_url: None,
            missing_reason: None,
            language: None,
            total_chars: 0,
            word_count: None,
            version: 0,
            indexed_version: 0,
            embedding_model: None,
            turn_model: None,
            has_postponed_vectors: false,
            indexed_points: 0,
            has_metadata_point: false,
            unindexed_since: Some(now),
            awaits_index_job: false,
            indexed_at: None,
            index_lost_at: None,
            status: DocumentStatus::Processing,
            error: None,
            has_pending_job: false,
            hidden_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Returns the value of `unindexed_since` after a change of the document at this time: another one than before, also when the clock
    /// was set back or both changes are of the same millisecond.
    pub fn next_unindexed_since(&self, now: Timestamp) -> Timestamp {
        let after_last =
            self.unindexed_since.map(|last| Timestamp::from_millis(last.millis().saturating_add(1)));
        after_last.map_or(now, |after_last| after_last.max(now))
    }

    /// Returns whether search finds the document by a metadata passage: by its title, URL and excerpt, and by the tags and highlights of
    /// its bookmark. Notes have none, because they are texts alone. Neither have feed entries with a text: their title counts in each of
    /// their passages.
    pub fn has_metadata_passage(&self) -> bool {
        self.content_type != ContentType::Note && (self.bookmark_id.is_some() || self.version == 0)
    }
}

impl Entity {
    /// Returns all documents of a user, including hidden ones.
    pub fn with_hidden(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }

    /// Returns the documents that a user may read: the texts of the user's bookmarks, uploads and notes, and of entries of
    /// followed feeds (spec.md: Document). Documents of deleted bookmarks are hidden.
    pub fn visible_to(user: UserId) -> Select<Entity> {
        Self::with_hidden(user).filter(Column::HiddenAt.is_null())
    }

    /// Returns the document with this id, if the user may read it.
    pub fn one_visible_to(user: UserId, id: DocumentId) -> Select<Entity> {
        Self::visible_to(user).filter(Column::Id.eq(id))
    }

    /// Returns the visible documents of a user of which the index lacks a change, the latest changes first. The order is that of the index
    /// `document_unindexed`.
    pub fn newest_unindexed_of(user: UserId) -> Select<Entity> {
        Self::visible_to(user)
            .filter(Column::UnindexedSince.is_not_null())
            .order_by_desc(Column::UnindexedSince)
            .order_by_desc(Column::Id)
    }

    /// Returns the visible documents of all users of which the index lacks a change.
    pub fn unindexed_of_every_user() -> Select<Entity> {
        Self::visible_of_every_user().filter(Column::UnindexedSince.is_not_null())
    }

    /// Returns the visible documents of all users, for a new embedding model and for rebuilding the index.
    pub fn visible_of_every_user() -> Select<Entity> {
        Self::find().filter(Column::HiddenAt.is_null())
    }

    /// Returns the documents of all users, including hidden ones, for comparison with the index.
    pub fn with_hidden_of_every_user() -> Select<Entity> {
        Self::find()
    }

    /// Returns the visible documents of all users whose passages or vectors are missing from the index.
    pub fn lost_by_index() -> Select<Entity> {
        Self::visible_of_every_user().filter(Column::IndexLostAt.is_not_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn document(content_type: ContentType) -> Model {
        Model::pending(UserId(Uuid::nil()), content_type, "Herons".to_owned(), NOON)
    }

    #[test]
    fn each_change_gives_another_time() {
        let later = Timestamp::from_millis(NOON.millis() + 1);
        let new = document(ContentType::Article);
        let indexed = Model { unindexed_since: None, ..new.clone() };
        let ahead = Model { unindexed_since: Some(later), ..new.clone() };

        assert_eq!(new.next_unindexed_since(later), later);
        assert_eq!(new.next_unindexed_since(NOON), later);
        assert_eq!(indexed.next_unindexed_since(NOON), NOON);
        assert_eq!(ahead.next_unindexed_since(NOON).millis(), NOON.millis() + 2);
    }

    #[test]
    fn saves_and_documents_without_text_have_metadata() {
        let entry = document(ContentType::Article);
        let read_entry = Model { version: 1, ..entry.clone() };
        let saved = Model { bookmark_id: Some(BookmarkId(Uuid::nil())), ..read_entry.clone() };

        assert!(entry.has_metadata_passage());
        assert!(!read_entry.has_metadata_passage());
        assert!(saved.has_metadata_passage());
        assert!(!Model { content_type: ContentType::Note, ..saved }.has_metadata_passage());
    }
}
