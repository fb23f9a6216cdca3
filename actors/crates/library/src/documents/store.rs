//! Stores a text as the next version of its document, completely or not at all.

use database::insert_all;
use entity::{chunk, document, transcript, transcript_segment};
use parse::html::Heading;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use text::chunk::{Piece, Sizing};
use values::id::ChunkId;
use values::kind::DocumentStatus;
use values::time::Timestamp;

use super::rendition::replace_rendition;
use super::source_map::SourceMap;
use crate::highlights;
use errors::Error;
use jobs::{JobKind, Priority};

/// The text of a document and its metadata, as they were extracted from its source.
#[derive(Clone, Debug, Default)]
pub struct ExtractedDocument {
    /// The text in NFC, as it is stored, searched and cited; offsets refer to it.
    pub text: String,
    /// Title, if one was found.
    pub title: Option<String>,
    /// Names of the authors, joined to one text.
    pub author: Option<String>,
    /// Name of the site that published the page.
    pub site_name: Option<String>,
    /// Description that the page states.
    pub description: Option<String>,
    /// URL of the page's picture.
    pub image_url: Option<String>,
    /// Publication date that the page states: a date, or a time with its UTC offset.
    pub published_at: Option<String>,
    /// Canonical URL that the page states.
    pub canonical_url: Option<String>,
    /// What is missing from the text, as a sentence for the user.
    pub missing_reason: Option<String>,
    /// ISO 639-1 code of the language, if it is known.
    pub language: Option<String>,
    /// Where the parts of the text are in the source.
    pub source_map: SourceMap,
    /// The text as HTML that is safe to show.
    pub html: Option<String>,
    /// Headings of the text with their offsets, which also guide its division into passages.
    pub outline: Vec<Heading>,
}

/// The length of a text, as the row of its document has it.
#[derive(Clone, Copy, Debug)]
struct TextLength {
    /// In Unicode scalar values.
    chars: i32,
    /// In words; `None` if the column cannot hold the number.
    words: Option<i32>,
}

/// A text with its passages. Splitting takes time that grows with the text, so it is done before a transaction begins.
#[derive(Clone, Debug)]
pub struct ChunkedDocument {
    pub(super) document: ExtractedDocument,
    pieces: Vec<Piece>,
    length: TextLength,
}

impl ChunkedDocument {
    /// Takes passages that are known already; concatenated they are the text. Detects its language if that is not known. Blocks.
    pub fn from_pieces(mut document: ExtractedDocument, pieces: Vec<Piece>) -> Self {
        document.language = document.language.or_else(|| text::language(&document.text).map(str::to_owned));
        let length = TextLength {
            chars: pieces.last().map_or(0, |last| column_offset(last.end)),
            words: i32::try_from(text::word_count(&document.text)).ok(),
        };
        Self { document, pieces, length }
    }

    /// Splits a text into passages, and detects its language if that is not known. Blocks.
    pub fn split(document: ExtractedDocument) -> Self {
        let mut headings: Vec<usize> = document.outline.iter().map(|heading| heading.offset).collect();
        headings.sort_unstable();
        let pieces = document.source_map.split(&document.text, &headings, &Sizing::default());
        Self::from_pieces(document, pieces)
    }

    /// Splits a text that a user wrote into passages. Blocks.
    pub fn of_input(text: &str) -> Self {
        Self::split(ExtractedDocument { text: text::normalize_input(text), ..ExtractedDocument::default() })
    }

    /// Returns whether the text has no passages, because nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the row of a document with its first text, and the passages. Of the metadata of the text only the language is taken over:
    /// texts that were supplied have no other.
    pub(crate) fn into_rows(
        self,
        document: document::Model,
        now: Timestamp,
    ) -> (document::Model, Vec<chunk::Model>) {
        let version = document.version + 1;
        let passages = chunk_rows(&document, version, &self.document.text, self.pieces, now);
        let document = document::Model {
            version,
            total_chars: self.length.chars,
            word_count: self.length.words,
            language: self.document.language,
            unindexed_since: Some(document.next_unindexed_since(now)),
            updated_at: now,
            ..document
        };
        (document, passages)
    }
}

/// Stores a text as the document's next version and enqueues its indexing, in the caller's transaction. Readers see the new text
/// once the transaction is committed. `document` is the row as this transaction read it.
pub async fn replace_text(
    db: &impl ConnectionTrait,
    document: &document::Model,
    new: ChunkedDocument,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let version = document.version + 1;
    let ChunkedDocument { document: new, pieces, length } = new;
    let rows = chunk_rows(document, version, &new.text, pieces, now);
    // The passages that the index holds stay until it holds the new ones, so that search never misses the document.
    chunk::Entity::delete_owned(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.ne(document.indexed_version))
        .exec(db)
        .await?;
    update_transcripts(db, document, version, &new.source_map).await?;
    insert_all::<chunk::Entity>(db, rows, None).await?;
    // Both belong to the text, so they change in the same transaction: a reader never sees the offsets of another version.
    replace_rendition(db, document, new.html, &new.outline).await?;
    highlights::relocate(db, document, &new.text).await?;
    let mut row = document.clone().into_active_model();
    row.version = Set(version);
    row.total_chars = Set(length.chars);
    row.word_count = Set(length.words);
    row.language = Set(new.language);
    row.status = Set(DocumentStatus::Processing);
    row.error = Set(None);
    row.missing_reason = Set(new.missing_reason);
    row.unindexed_since = Set(Some(document.next_unindexed_since(now)));
    row.updated_at = Set(now);
    if let Some(title) = new.title.filter(|_| !document.has_user_title) {
        row.title = Set(title);
    }
    for (column, extracted) in [
        (&mut row.author, new.author),
        (&mut row.site_name, new.site_name),
        (&mut row.description, new.description),
        (&mut row.image_url, new.image_url),
        (&mut row.published_at, new.published_at),
        (&mut row.canonical_url, new.canonical_url),
    ] {
        // What this extraction did not find stays: a document that is restored from an export has its metadata already.
        if extracted.is_some() {
            *column = Set(extracted);
        }
    }
    document::Entity::update_owned_row(db, document.user_id, row).await?;
    jobs::enqueue(db, document.user_id, JobKind::Index, document.id.0, priority, now).await?;
    Ok(())
}

/// Returns the text of the document's current version.
pub async fn current_text(db: &impl ConnectionTrait, document: &document::Model) -> Result<String, Error> {
    let passages = chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
        .order_by_asc(chunk::Column::StartOffset)
        .select_only()
        .column(chunk::Column::Text);
    Ok(passages.into_tuple::<String>().all(db).await?.concat())
}

/// Deletes the transcripts of former versions. A transcript of this version that the text was not made from is still being made: it
/// moves to the next version.
async fn update_transcripts(
    db: &impl ConnectionTrait,
    document: &document::Model,
    version: i32,
    source_map: &SourceMap,
) -> Result<(), Error> {
    transcript::Entity::delete_owned(document.user_id)
        .filter(transcript::Column::DocumentId.eq(document.id))
        .filter(transcript::Column::Version.lt(version))
        .exec(db)
        .await?;
    let own = transcript::Entity::one_of_document(document.user_id, document.id, version).one(db).await?;
    // Hours of transcription must not be lost because the document gets another text meanwhile, such as that of its page.
    let is_spoken = matches!(source_map, SourceMap::Speech(_));
    let Some(unfinished) = own.filter(|row| !(is_spoken && row.is_finished)) else { return Ok(()) };
    // The segments reference the transcript's row, so a copy of it takes them over before it is deleted.
    let next = transcript::Model { version: version + 1, ..unfinished.clone() };
    transcript::Entity::insert(next.into_active_model()).exec_without_returning(db).await?;
    transcript_segment::Entity::update_owned(document.user_id)
        .col_expr(transcript_segment::Column::Version, Expr::value(version + 1))
        .filter(transcript_segment::Column::DocumentId.eq(document.id))
        .filter(transcript_segment::Column::Version.eq(version))
        .exec(db)
        .await?;
    transcript::Entity::delete_owned_row(db, document.user_id, unfinished).await?;
    Ok(())
}

fn chunk_rows(
    document: &document::Model,
    version: i32,
    text: &str,
    pieces: Vec<Piece>,
    now: Timestamp,
) -> Vec<chunk::Model> {
    let rows = pieces.into_iter().zip(0..).map(|(piece, ordinal)| chunk::Model {
        id: ChunkId::new(now),
        document_id: document.id,
        user_id: document.user_id,
        version,
        ordinal,
        start_offset: column_offset(piece.start),
        end_offset: column_offset(piece.end),
        page: piece.page.and_then(|page| i32::try_from(page).ok()),
        start_seconds: piece.start_seconds,
        end_seconds: piece.end_seconds,
        text: piece.text_in(text).to_owned(),
    });
    rows.collect()
}

/// Returns an offset in a text as columns hold it.
fn column_offset(offset: usize) -> i32 {
    i32::try_from(offset).unwrap_or(i32::MAX)
}
