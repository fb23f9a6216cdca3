//! Decides which passages contain phrases. The index does not know the order of words, so the texts are read from the database.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use concurrency::{Lane, Workers};
use database::{Db, padded};
use entity::{chunk, document};
use errors::Error;
use sea_orm::{ColumnTrait, FromQueryResult, JoinType, QueryFilter, QuerySelect};
use search::lexical::{self, WordSequence};
use uuid::Uuid;
use values::id::{BookmarkId, ChunkId, DocumentId, UserId};

use crate::retrieval::metadata::Annotations;
use crate::retrieval::passage_joins::visible_document;

/// Number of passages that a search has read at a time, until it has enough.
pub const PASSAGES_PER_READ: usize = 100;
/// Maximum number of points whose texts are in memory at the same time.
const MAX_POINTS_PER_READ: usize = 500;

/// What the database has of a passage, and of its document if the user may read it.
#[derive(FromQueryResult)]
struct PassageText {
    id: ChunkId,
    document_id: DocumentId,
    text: String,
    title: Option<String>,
}

/// What a document is found by besides its text.
#[derive(FromQueryResult)]
struct DocumentMetadata {
    id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    title: String,
    url: Option<String>,
    description: Option<String>,
}

/// A point of the index with the texts that it was made from. Phrases are searched for in each of them.
struct IndexedTexts {
    point: Uuid,
    document: DocumentId,
    texts: Vec<String>,
}

/// Phrases that texts are searched for. Clones share them.
#[derive(Clone)]
pub struct PhraseMatcher {
    phrases: Arc<[WordSequence]>,
    /// Whether a match contains all of them, and not only one.
    needs_all: bool,
}

impl PhraseMatcher {
    /// Returns phrases of which a match contains all.
    pub fn all_of(phrases: &[String]) -> Self {
        Self { phrases: phrases.iter().map(|phrase| WordSequence::of(phrase)).collect(), needs_all: true }
    }

    /// Returns phrases of which a match contains at least one.
    pub fn any_of(phrases: &[String]) -> Self {
        Self { needs_all: false, ..Self::all_of(phrases) }
    }

    fn match_texts(&self, texts: &[String]) -> bool {
        let texts: Vec<WordSequence> = texts.iter().map(|text| WordSequence::of(text)).collect();
        let is_contained = |phrase: &WordSequence| texts.iter().any(|text| text.contains(phrase));
        if self.needs_all {
            self.phrases.iter().all(is_contained)
        } else {
            self.phrases.iter().any(is_contained)
        }
    }
}

/// Returns those of these points of the index, each with its document, that match the phrases: a passage in its text or in the
/// title of its document, a metadata passage, which has the id of its document, in title, excerpt, the words of the URL, a tag, a
/// highlight or a note on one. What the user may not read is left out.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub async fn find_matching(
    db: &Db,
    workers: &Workers,
    user: UserId,
    phrases: &PhraseMatcher,
    points: &[Uuid],
) -> Result<HashMap<Uuid, DocumentId>, Error> {
    let mut found = HashMap::new();
    for points in points.chunks(MAX_POINTS_PER_READ) {
        let texts = read_texts(db, user, points).await?;
        let phrases = phrases.clone();
        let check = move || {
            let matching = texts.into_iter().filter(|texts| phrases.match_texts(&texts.texts));
            matching.map(|texts| (texts.point, texts.document)).collect::<Vec<_>>()
        };
        found.extend(workers.run(Lane::Foreground, check).await?);
    }
    Ok(found)
}

async fn read_texts(db: &Db, user: UserId, points: &[Uuid]) -> Result<Vec<IndexedTexts>, Error> {
    let passages = read_passages(db, user, points).await?;
    let known: HashSet<Uuid> = passages.iter().map(|passage| passage.id.0).collect();
    let others = points.iter().filter(|id| !known.contains(*id)).map(|id| DocumentId(*id)).collect();
    let mut texts = read_metadata(db, user, others).await?;
    texts.extend(passages.into_iter().filter_map(|passage| {
        let title = passage.title?;
        Some(IndexedTexts {
            point: passage.id.0,
            document: passage.document_id,
            texts: vec![title, passage.text],
        })
    }));
    Ok(texts)
}

async fn read_passages(db: &Db, user: UserId, points: &[Uuid]) -> Result<Vec<PassageText>, Error> {
    let ids: Vec<ChunkId> = points.iter().map(|id| ChunkId(*id)).collect();
    let passages = chunk::Entity::owned_by(user)
        .filter(chunk::Column::Id.is_in(padded(&ids)))
        // A left join: an inner one would let SQLite begin with the documents, and read all of the user's.
        .join(JoinType::LeftJoin, visible_document(user))
        .select_only()
        .columns([chunk::Column::Id, chunk::Column::DocumentId, chunk::Column::Text])
        .column(document::Column::Title)
        .into_model::<PassageText>();
    Ok(passages.all(db.read()).await?)
}

/// Reads title, excerpt, words of the URL, tags, highlights and notes on them of documents.
async fn read_metadata(
    db: &Db,
    user: UserId,
    documents: Vec<DocumentId>,
) -> Result<Vec<IndexedTexts>, Error> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let found = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(&documents)))
        .select_only()
        .columns([
            document::Column::Id,
            document::Column::BookmarkId,
            document::Column::Title,
            document::Column::Url,
            document::Column::Description,
        ])
        .into_model::<DocumentMetadata>()
        .all(db.read())
        .await?;
    let bookmarks = found.iter().filter_map(|document| document.bookmark_id).collect();
    let annotations = Annotations::of_bookmarks(db, user, bookmarks).await?;
    let texts = found.into_iter().map(|document| {
        // A page and the note on it have one bookmark.
        let own = document.bookmark_id.and_then(|bookmark| annotations.get(&bookmark)).cloned();
        let own = own.unwrap_or_default();
        // A phrase may be a part of a path (`how-to-bake-bread`).
        let url_words = document.url.map(|url| lexical::url_words(&url).join(" "));
        let texts = [document.title].into_iter().chain(document.description).chain(url_words);
        let texts = texts.chain(own.into_texts()).collect();
        IndexedTexts { point: document.id.0, document: document.id, texts }
    });
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_phrases_are_needed_or_one_of_them() {
        let phrases = ["night heron".to_owned(), "in the reeds".to_owned()];
        let (all, any) = (PhraseMatcher::all_of(&phrases), PhraseMatcher::any_of(&phrases));
        for (texts, has_all, has_any) in [
            (["Night-Heron", "It stands in the reeds."], true, true),
            (["The night heron", "It stands."], false, true),
            (["A heron at night", "It stands."], false, false),
        ] {
            let texts = texts.map(str::to_owned);
            assert_eq!((all.match_texts(&texts), any.match_texts(&texts)), (has_all, has_any), "{texts:?}");
        }
    }
}
