//! Brings a text in: a new version of its document, whole or not at all.

use database::insert_all;
use entity::id::ChunkId;
use entity::kind::DocumentStatus;
use entity::time::Timestamp;
use entity::{chunk, document, rendition, transcript, transcript_segment};
use parse::html::Heading;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, ModelTrait, QueryFilter,
};
use text::chunk::{Piece, Sizing};

use super::marks;
use super::places::Places;
use super::queue::{self, Priority, JobKind};
use errors::Error;

/// What a document is to say from now on.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The text, cleaned.
    pub text: String,
    /// Its title, where one was found.
    pub title: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What the site calls itself.
    pub site_name: Option<String>,
    /// What the page says of itself.
    pub description: Option<String>,
    /// Address of its picture.
    pub image_url: Option<String>,
    /// When it says that it was published: a date, or a time with its offset.
    pub published_at: Option<String>,
    /// The address by which it wants to be known.
    pub canonical_url: Option<String>,
    /// What the text lacks, in words for the person.
    pub lacks: Option<String>,
    /// ISO 639-1, where it is known.
    pub language: Option<String>,
    /// Where it stands in what it was made from.
    pub places: Places,
    /// Its words as HTML that is safe to show.
    pub html: Option<String>,
    /// Its headings.
    pub outline: Vec<Heading>,
}

/// A text split into its passages. Splitting blocks, the longer the text the longer, so it is done before a transaction.
#[derive(Debug)]
pub struct Split {
    text: Text,
    pieces: Vec<Piece>,
    words: usize,
}

impl Split {
    /// A text whose passages are known already: joined they are the text.
    pub fn given(text: Text, pieces: Vec<Piece>) -> Self {
        Self { words: text::word_count(&text.text), text, pieces }
    }

    /// Splits a text.
    pub fn of(text: Text) -> Self {
        let mut headings: Vec<usize> = text.outline.iter().map(|heading| heading.offset).collect();
        headings.sort_unstable();
        Self {
            pieces: text.places.split(&text.text, &headings, &Sizing::default()),
            words: text::word_count(&text.text),
            text,
        }
    }
}

/// Puts the text in as the document's next version and asks for the index, in the caller's transaction. From then on it is
/// what readers see. The passages that the index knows stay until it knows the new ones, so that search never misses the
/// document.
pub async fn put_text(
    db: &impl ConnectionTrait,
    document: &document::Model,
    new: Split,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let version = document.version + 1;
    let Split { text: new, pieces, words } = new;
    let rows = passages(document, version, &new.text, pieces, now);
    chunk::Entity::delete_many()
        .filter(chunk::Column::UserId.eq(document.user_id))
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.ne(document.indexed_version))
        .exec(db)
        .await?;
    put_transcripts(db, document, version, &new.places).await?;
    let total_chars = rows.last().map_or(0, |last| last.end_offset);
    insert_all::<chunk::Entity>(db, rows, None).await?;
    put_rendition(db, document, new.html, &new.outline).await?;
    marks::follow(db, document, &new.text).await?;
    let mut row = document.clone().into_active_model();
    row.version = Set(version);
    row.total_chars = Set(total_chars);
    row.word_count = Set(i32::try_from(words).ok());
    row.language = Set(new.language.or_else(|| text::language(&new.text).map(str::to_owned)));
    row.status = Set(DocumentStatus::Processing);
    row.error = Set(None);
    row.lacks = Set(new.lacks);
    row.updated_at = Set(now);
    if let Some(title) = new.title.filter(|_| !document.title_given) {
        row.title = Set(title);
    }
    for (column, found) in [
        (&mut row.author, new.author),
        (&mut row.site_name, new.site_name),
        (&mut row.description, new.description),
        (&mut row.image_url, new.image_url),
        (&mut row.published_at, new.published_at),
        (&mut row.canonical_url, new.canonical_url),
    ] {
        if found.is_some() {
            *column = Set(found);
        }
    }
    row.update(db).await?;
    jobs::enqueue(db, document.user_id, JobKind::Index, document.id.0, priority, now).await?;
    Ok(())
}

/// Takes transcripts of former texts away. One that this text was not made of is that of the text after this one.
async fn put_transcripts(
    db: &impl ConnectionTrait,
    document: &document::Model,
    version: i32,
    places: &Places,
) -> Result<(), Error> {
    transcript::Entity::delete_many()
        .filter(transcript::Column::UserId.eq(document.user_id))
        .filter(transcript::Column::DocumentId.eq(document.id))
        .filter(transcript::Column::Version.lt(version))
        .exec(db)
        .await?;
    let own = transcript::Entity::one_of(document.user_id, document.id, version).one(db).await?;
    let is_spoken = matches!(places, Places::Speech(_));
    let Some(making) = own.filter(|row| !(is_spoken && row.finished)) else { return Ok(()) };
    // Its segments hang on the row: a copy of it takes them over.
    let next = transcript::Model { version: version + 1, ..making.clone() };
    transcript::Entity::insert(next.into_active_model()).exec_without_returning(db).await?;
    transcript_segment::Entity::update_many()
        .col_expr(transcript_segment::Column::Version, Expr::value(version + 1))
        .filter(transcript_segment::Column::UserId.eq(document.user_id))
        .filter(transcript_segment::Column::DocumentId.eq(document.id))
        .filter(transcript_segment::Column::Version.eq(version))
        .exec(db)
        .await?;
    making.delete(db).await?;
    Ok(())
}

/// How the text is shown, in place of how the one before it was.
async fn put_rendition(
    db: &impl ConnectionTrait,
    document: &document::Model,
    html: Option<String>,
    outline: &[Heading],
) -> Result<(), Error> {
    rendition::Entity::delete_by_id(document.id).exec(db).await?;
    if html.is_some() || !outline.is_empty() {
        let outline = serde_json::to_string(outline).map_err(Error::internal)?;
        let row = rendition::Model { document_id: document.id, user_id: document.user_id, html, outline };
        rendition::Entity::insert(row.into_active_model()).exec_without_returning(db).await?;
    }
    Ok(())
}

fn passages(
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
        start_offset: i32::try_from(piece.start).unwrap_or(i32::MAX),
        end_offset: i32::try_from(piece.end).unwrap_or(i32::MAX),
        page: piece.page.and_then(|page| i32::try_from(page).ok()),
        start_seconds: piece.start_seconds,
        end_seconds: piece.end_seconds,
        text: piece.text_in(text).to_owned(),
    });
    rows.collect()
}
