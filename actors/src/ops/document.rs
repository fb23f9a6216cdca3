//! Reading a document in pages (spec.md: GET /documents/:id, get_document).

use entity::id::{BookmarkId, DocumentId, EntryId, UserId};
use entity::kind::{ContentType, DocumentStatus};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, chunk, document, highlight, note};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::target::Target;
use crate::address::PageUrl;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Kind, Values};
use crate::perform::Operation;
use crate::text::Window;

/// Where a page begins.
pub const OFFSET: Field = Field::optional(
    "offset",
    Kind::Integer { min: 0, max: i64::MAX },
    "Where the page begins, in characters; the nextOffset of the page before.",
);
/// How long it may be.
pub const MAX_CHARS: Field = Field::optional(
    "maxChars",
    Kind::Integer { min: 1, max: 20_000 },
    "Characters of the page at most; 12000 when left out.",
);
const DEFAULT_CHARS: u32 = 12_000;
/// Characters for which an assistant's reading counts once (spec.md: Limits, rule 3).
const CHARS_A_CALL: u32 = 12_000;
/// A grapheme cluster may reach so far past the page's end; passages never part one.
const SLACK: i64 = 64;

/// By what a document is named.
#[derive(Debug)]
pub enum Named {
    /// By its own id.
    Document(DocumentId),
    /// By the bookmark that it is the text of.
    Bookmark(BookmarkId),
    /// By the address that was saved.
    Url(String),
}

/// A page of a document.
#[derive(Debug)]
pub struct ReadDocument {
    /// Which.
    pub named: Named,
    /// Where the page begins.
    pub offset: i64,
    /// Its characters at most.
    pub max_chars: Option<u32>,
}

impl ReadDocument {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[OFFSET, MAX_CHARS];

    /// Reads the route's parameters.
    pub fn read(target: &Target, values: Values) -> Result<Self, Error> {
        Ok(Self::page(Named::Document(target.id(0)?), values))
    }

    /// A page of the named document.
    pub fn page(named: Named, mut values: Values) -> Self {
        Self { named, offset: values.whole("offset").unwrap_or(0), max_chars: values.integer("maxChars") }
    }

    async fn find(&self, app: &App, user: UserId) -> Result<document::Model, Error> {
        let id = match &self.named {
            Named::Document(id) => *id,
            Named::Bookmark(id) => of_bookmark(app, bookmark::Entity::one_of(user, *id)).await?,
            Named::Url(url) => {
                let address = PageUrl::parse(url).map_err(|_| Error::NotFound)?.normalized();
                let saved =
                    bookmark::Entity::owned_by(user).filter(bookmark::Column::NormalizedUrl.eq(address));
                of_bookmark(app, saved).await?
            }
        };
        document::Entity::one_of(user, id).one(app.db.read()).await?.ok_or(Error::NotFound)
    }
}

async fn of_bookmark(app: &App, saved: sea_orm::Select<bookmark::Entity>) -> Result<DocumentId, Error> {
    Ok(saved.one(app.db.read()).await?.ok_or(Error::NotFound)?.document_id)
}

/// A page of a document, with the user's marks (spec.md: Document).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentPage {
    /// The document.
    pub document_id: DocumentId,
    /// Its title.
    pub title: String,
    /// The way back to the source.
    pub url: String,
    /// What it was before it became text.
    pub content_type: ContentType,
    /// Who wrote it.
    pub author: Option<String>,
    /// The bookmark; none for an entry that is not bookmarked and for a project's note.
    pub bookmark_id: Option<BookmarkId>,
    /// The feed entry.
    pub entry_id: Option<EntryId>,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The user's tags.
    pub tags: Vec<String>,
    /// The user's notes.
    pub notes: String,
    /// The user's highlights, in the order of the text.
    pub highlights: Vec<Mark>,
    /// How far it is.
    pub status: DocumentStatus,
    /// Why the last try failed.
    pub error: Option<String>,
    /// The page's text.
    pub text: String,
    /// Where it begins, in Unicode scalar values.
    pub offset: i64,
    /// Where the next page begins; none when there is no more.
    pub next_offset: Option<usize>,
    /// There is more.
    pub truncated: bool,
    /// Characters of the whole text.
    pub total_chars: i32,
}

/// A highlight as a document shows it.
#[derive(Debug, Serialize)]
pub struct Mark {
    /// The marked words.
    pub text: String,
    /// What the user wrote beside them.
    pub note: Option<String>,
}

impl Operation for ReadDocument {
    type Reply = DocumentPage;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn weight(&self) -> u32 {
        self.max_chars.unwrap_or(DEFAULT_CHARS).div_ceil(CHARS_A_CALL).max(1)
    }

    async fn run(self, caller: &Caller, app: &App) -> Result<DocumentPage, Error> {
        let mut document = self.find(app, caller.user).await?;
        let max_chars = self.max_chars.unwrap_or(DEFAULT_CHARS);
        let (mut text, mut next_offset) = page(app, &document, self.offset, max_chars).await?;
        if text.is_empty() && self.offset < i64::from(document.total_chars) {
            // A new text came in between the two reads, and took the passages of the old one along.
            document = self.find(app, caller.user).await?;
            (text, next_offset) = page(app, &document, self.offset, max_chars).await?;
        }
        let marks = Marks::of(app, caller.user, &document).await?;
        Ok(DocumentPage {
            document_id: document.id,
            url: app.url_of(&document),
            title: document.title,
            content_type: document.content_type,
            author: document.author,
            bookmark_id: document.bookmark_id,
            entry_id: document.entry_id,
            saved_at: marks.saved_at.unwrap_or(document.created_at),
            tags: marks.tags,
            notes: marks.notes,
            highlights: marks.highlights,
            status: document.status,
            error: document.error,
            text,
            offset: self.offset,
            next_offset,
            truncated: next_offset.is_some(),
            total_chars: document.total_chars,
        })
    }
}

/// The text of a page: the passages that it touches, and no others.
async fn page(
    app: &App,
    document: &document::Model,
    offset: i64,
    max_chars: u32,
) -> Result<(String, Option<usize>), Error> {
    let end = offset.saturating_add(i64::from(max_chars)).saturating_add(SLACK);
    let touched = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .filter(chunk::Column::EndOffset.gt(offset))
        .filter(chunk::Column::StartOffset.lt(end))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .columns([chunk::Column::StartOffset, chunk::Column::Text]);
    let rows: Vec<(i32, String)> = touched.into_tuple().all(app.db.read()).await?;
    let begins = rows.first().map_or(0, |(start, _)| usize::try_from(*start).unwrap_or(0));
    let text: String = rows.into_iter().map(|(_, text)| text).collect();
    let total_chars = usize::try_from(document.total_chars).unwrap_or(0);
    let window = Window { text: &text, offset: begins, total_chars };
    let page = window.page(usize::try_from(offset).unwrap_or(usize::MAX), max_chars as usize);
    Ok((page.text.to_owned(), page.next_offset))
}

/// What the user did with a document.
#[derive(Default)]
struct Marks {
    saved_at: Option<Timestamp>,
    tags: Vec<String>,
    notes: String,
    highlights: Vec<Mark>,
}

impl Marks {
    async fn of(app: &App, user: UserId, document: &document::Model) -> Result<Self, Error> {
        let Some(id) = document.bookmark_id else { return Ok(Self::default()) };
        let db = app.db.read();
        let Some(saved) = bookmark::Entity::one_of(user, id).one(db).await? else {
            return Ok(Self::default());
        };
        if saved.document_id != document.id {
            return Ok(Self { saved_at: Some(saved.saved_at), ..Self::default() });
        }
        let tags = bookmark_tag::Entity::owned_by(user).filter(bookmark_tag::Column::BookmarkId.eq(id));
        let tags = tags.order_by_asc(bookmark_tag::Column::Name).all(db).await?;
        let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(id)).one(db).await?;
        let highlights = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
        let highlights = highlights.order_by_asc(highlight::Column::StartOffset).all(db).await?;
        Ok(Self {
            saved_at: Some(saved.saved_at),
            tags: tags.into_iter().map(|tag| tag.name).collect(),
            notes: note.map(|note| note.body).unwrap_or_default(),
            highlights: highlights.into_iter().map(|row| Mark { text: row.text, note: row.note }).collect(),
        })
    }
}
