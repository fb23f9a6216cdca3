//! Shows what the page of a document has around its text.

use entity::{bookmark, bookmark_tag, document, entry, note, reading_position, rendition};
use library::documents::parse_outline;
use parse::html::Heading;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, EntryId, FeedId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::scope::Scope;
use values::time::Timestamp;

use super::position::ReadingPosition;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::highlights::{AnchoredHighlight, highlights_of};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::NoFields;

/// Shows a document for its page in the web app: everything but the text.
#[derive(Debug)]
pub struct ReadPage(pub DocumentId);

impl FromRequest for ReadPage {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// A document without its text, with everything that its page shows beside it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPageResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Title: the user's, or the one that the source states.
    pub title: String,
    /// URL of the page or the entry; null for uploads and notes.
    pub url: Option<String>,
    /// Type of the source from which the text was extracted.
    pub content_type: ContentType,
    /// Names of the authors; null if the source states none.
    pub author: Option<String>,
    /// Name of the site; null if the page states none.
    pub site_name: Option<String>,
    /// Date or time of publication as the source states it, as in RFC 3339; null if it states none.
    pub published_at: Option<String>,
    /// ISO 639-1 code of the language; null if it was not detected.
    pub language: Option<String>,
    /// `processing`, `ready` or `failed`.
    pub status: DocumentStatus,
    /// Why the last attempt to read the source failed; null if it did not fail.
    pub error: Option<String>,
    /// What the text lacks, as a sentence; null if it lacks nothing.
    pub lacks: Option<String>,
    /// Version of the text; 0 if there is none yet.
    pub version: i32,
    /// Length of the text in Unicode scalar values.
    pub total_chars: i32,
    /// Number of words of the text; null if it was not counted.
    pub word_count: Option<i32>,
    /// When the document was created.
    pub created_at: Timestamp,
    /// The bookmark whose text this is; null for notes and for entries that are not saved.
    pub bookmark: Option<ReaderBookmark>,
    /// The feed entry whose text this is; null for other documents.
    pub entry: Option<ReaderEntry>,
    /// The headings, in the order of the text.
    pub outline: Vec<ReaderHeading>,
    /// The highlights, in the order of the text; at most 2,000.
    pub highlights: Vec<AnchoredHighlight>,
    /// Where the user stopped reading; null if it was not read.
    pub position: Option<ReadingPosition>,
}

/// The bookmark of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReaderBookmark {
    /// Id of the bookmark.
    pub bookmark_id: BookmarkId,
    /// Whether it is a favourite.
    pub favorite: bool,
    /// Whether it is archived.
    pub archived: bool,
    /// The user's tags, sorted by name.
    pub tags: Vec<String>,
    /// The user's notes, as Markdown; empty without notes.
    pub notes: String,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// The feed entry of a document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReaderEntry {
    /// Id of the entry.
    pub entry_id: EntryId,
    /// The feed of the entry.
    pub feed_id: FeedId,
    /// Whether it was read.
    pub read: bool,
    /// Whether it is starred.
    pub starred: bool,
}

/// A heading of a text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReaderHeading {
    /// Its words.
    pub title: String,
    /// Its level, from 1.
    pub level: u8,
    /// Its offset in the text, in Unicode scalar values.
    pub offset: usize,
    /// Page of a PDF, from 1; null for other documents.
    pub page: Option<u32>,
}

impl From<Heading> for ReaderHeading {
    fn from(Heading { title, level, offset, page }: Heading) -> Self {
        Self { title, level, offset, page }
    }
}

impl Operation for ReadPage {
    type Reply = ReadPageResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadPageResponse, Error> {
        let (core, user) = (&ctx.core, caller.user);
        let found = document::Entity::one_visible_to(user, self.0).one(core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        let highlights = highlights_of(core, user, &document).await?;
        let bookmark = reader_bookmark(core, user, &document).await?;
        let entry = reader_entry(core, user, &document).await?;
        let outline = outline_of(core, user, document.id).await?;
        let position =
            reading_position::Entity::one_of_document(user, document.id).one(core.db.read()).await?;
        Ok(ReadPageResponse {
            document_id: document.id,
            title: document.title,
            url: document.url,
            content_type: document.content_type,
            author: document.author,
            site_name: document.site_name,
            published_at: document.published_at,
            language: document.language,
            status: document.status,
            error: document.error,
            lacks: document.missing_reason,
            version: document.version,
            total_chars: document.total_chars,
            word_count: document.word_count,
            created_at: document.created_at,
            bookmark,
            entry,
            outline,
            highlights,
            position: position.map(ReadingPosition::from),
        })
    }
}

async fn reader_bookmark(
    core: &CoreContext,
    user: UserId,
    document: &document::Model,
) -> Result<Option<ReaderBookmark>, Error> {
    let db = core.db.read();
    let Some(id) = document.bookmark_id else { return Ok(None) };
    let found = bookmark::Entity::one_visible_to(user, id).one(db).await?;
    // A note refers to the bookmark on which it was written.
    let Some(bookmark) = found.filter(|bookmark| bookmark.document_id == document.id) else {
        return Ok(None);
    };
    let tags = bookmark_tag::Entity::owned_by(user)
        .filter(bookmark_tag::Column::BookmarkId.eq(id))
        .select_only()
        .column(bookmark_tag::Column::Name);
    let mut tags: Vec<String> = tags.into_tuple().all(db).await?;
    tags.sort_unstable();
    let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(id)).one(db).await?;
    Ok(Some(ReaderBookmark {
        bookmark_id: id,
        favorite: bookmark.favorite,
        archived: bookmark.archived,
        tags,
        notes: note.map(|note| note.body).unwrap_or_default(),
        saved_at: bookmark.saved_at,
        updated_at: bookmark.updated_at,
    }))
}

async fn reader_entry(
    core: &CoreContext,
    user: UserId,
    document: &document::Model,
) -> Result<Option<ReaderEntry>, Error> {
    let Some(id) = document.entry_id else { return Ok(None) };
    let found = entry::Entity::one_of(user, id).one(core.db.read()).await?;
    Ok(found.map(|entry| ReaderEntry {
        entry_id: entry.id,
        feed_id: entry.feed_id,
        read: entry.read,
        starred: entry.starred,
    }))
}

async fn outline_of(
    core: &CoreContext,
    user: UserId,
    document: DocumentId,
) -> Result<Vec<ReaderHeading>, Error> {
    // Without the HTML, which may have 4 MiB.
    let outline = rendition::Entity::one_of_document(user, document)
        .select_only()
        .column(rendition::Column::Outline)
        .into_tuple::<String>();
    let outline = outline.one(core.db.read()).await?;
    let outline = outline.as_deref().map(parse_outline).transpose()?.unwrap_or_default();
    Ok(outline.into_iter().map(ReaderHeading::from).collect())
}
