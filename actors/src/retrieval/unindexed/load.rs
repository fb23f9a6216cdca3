//! Reads the documents of a user that the index lacks a change of, and keeps what was analysed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use concurrency::{Lane, Workers};
use database::{Db, DirectQuery, DirectRow, padded};
use entity::{chunk, document};
use errors::Error;
use moka::sync::Cache;
use sea_orm::{ColumnTrait, DbErr, JoinType, QueryFilter, QuerySelect, Select, Value};
use values::id::{ChunkId, DocumentId, UserId};
use values::time::Timestamp;

use super::analyzed::{AnalysisSource, AnalyzedDocument};
use super::documents::UnindexedDocuments;
use crate::retrieval::filter::find_searched;
use crate::retrieval::metadata::{Annotations, MetadataSource};
use crate::retrieval::passage_joins::document_of_current_text;
use crate::retrieval::search_query::SearchQuery;

/// Documents that are read, those with the newest changes that are in the searched part of the library.
const MAX_DOCUMENTS: usize = 200;
/// Documents that are tested for whether they are in it, those with the newest changes.
const MAX_TESTED_DOCUMENTS: usize = 4_000;
/// Documents that are tested at a time.
const TESTED_TOGETHER: usize = 500;
/// Passages of all documents together that are read from the database. Analysing one takes some 50 µs.
const MAX_PASSAGES: usize = 400;
/// Characters of the texts of all documents together that are read.
const MAX_CHARS: usize = 1 << 20;
/// Passages of one document that are read, so that a book leaves room for others.
const MAX_DOCUMENT_PASSAGES: usize = 100;
/// Characters that these passages count as at most.
const MAX_DOCUMENT_CHARS: usize = 200_000;
/// Characters of a passage, by which the number of passages of a text is estimated. Most have more.
const PASSAGE_CHARS: usize = 500;

/// Bytes of all analysed documents that are kept.
const MAX_KEPT_BYTES: u64 = 8 << 20;
/// Bytes that a document takes besides its passages.
const OVERHEAD_BYTES: usize = 256;
/// Time for which an analysed document is kept. By then it is usually indexed.
const MAX_KEPT_TIME: Duration = Duration::from_secs(300);

/// The newest changes of a user that the index lacks, up to a limit: the first of [`document::Entity::newest_unindexed_of`].
static NEWEST: LazyLock<DirectQuery> = LazyLock::new(|| {
    DirectQuery::of_sql(|_| {
        r#"SELECT "id", "unindexed_since" FROM "document"
            WHERE "user_id" = $1 AND "hidden_at" IS NULL AND "unindexed_since" IS NOT NULL
            ORDER BY "unindexed_since" DESC, "id" DESC LIMIT $2"#
            .to_owned()
    })
});

/// A state of a document. No change gives a document a time that it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DocumentState {
    document: DocumentId,
    unindexed_since: Timestamp,
    /// Whether its passages were read, if the index lacks any.
    has_text: bool,
}

/// Reads unindexed documents. Clones share what was analysed.
#[derive(Clone)]
pub struct UnindexedReader {
    db: Db,
    workers: Workers,
    analyzed: Cache<DocumentState, Arc<AnalyzedDocument>>,
}

impl UnindexedReader {
    /// Creates a reader that has analysed nothing yet.
    pub fn new(db: Db, workers: Workers) -> Self {
        let analyzed = Cache::builder()
            .max_capacity(MAX_KEPT_BYTES)
            .weigher(|_, document: &Arc<AnalyzedDocument>| {
                u32::try_from(document.size_bytes() + OVERHEAD_BYTES).unwrap_or(u32::MAX)
            })
            .time_to_live(MAX_KEPT_TIME)
            .build();
        Self { db, workers, analyzed }
    }

    /// Returns the 200 documents in the searched part of the library with the newest changes that the index lacks. With filters they are among
    /// the 4,000 newest of the whole library. Of their texts about 400 passages are read, those of the newest changes first.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn read(&self, user: UserId, search: &SearchQuery) -> Result<UnindexedDocuments, Error> {
        let newest = find_newest(&self.db, user, search).await?;
        if newest.is_empty() {
            return Ok(UnindexedDocuments::default());
        }
        let is_cut = newest.len() >= MAX_DOCUMENTS;
        let (mut found, mut missing) = (Vec::with_capacity(newest.len()), Vec::new());
        for (document, unindexed_since) in newest {
            match self.analyzed.get(&DocumentState { document, unindexed_since, has_text: true }) {
                Some(kept) => found.push(kept),
                None => missing.push(document),
            }
        }
        if !missing.is_empty() {
            let budget = TextBudget::remaining_after(&found);
            found.extend(self.analyze(user, &missing, budget).await?);
        }
        Ok(if is_cut { UnindexedDocuments::first_of_more(found) } else { UnindexedDocuments::new(found) })
    }

    /// Reads and analyses these documents.
    async fn analyze(
        &self,
        user: UserId,
        documents: &[DocumentId],
        mut budget: TextBudget,
    ) -> Result<Vec<Arc<AnalyzedDocument>>, Error> {
        let mut rows: HashMap<DocumentId, document::Model> = HashMap::with_capacity(documents.len());
        let all = select_documents(user, documents).all(self.db.read()).await?;
        rows.extend(all.into_iter().map(|row| (row.id, row)));
        let (mut found, mut new, mut with_text) = (Vec::new(), Vec::new(), Vec::new());
        for row in documents.iter().filter_map(|id| rows.remove(id)) {
            // It was indexed meanwhile, before the index is asked.
            let Some(unindexed_since) = row.unindexed_since else { continue };
            let is_read = lacks_passages(&row) && budget.reserve(&row);
            let has_text = is_read || !lacks_passages(&row);
            let state = DocumentState { document: row.id, unindexed_since, has_text };
            if let Some(kept) = self.analyzed.get(&state) {
                found.push(kept);
                continue;
            }
            if is_read {
                with_text.push(row.id);
            }
            new.push((state, row));
        }
        if new.is_empty() {
            return Ok(found);
        }
        let sources = self.sources(user, new, &with_text).await?;
        let analyze = move || {
            let analyzed = sources.into_iter().map(|(state, source)| (state, Arc::new(source.analyze())));
            analyzed.collect::<Vec<_>>()
        };
        for (state, document) in self.workers.run(Lane::Foreground, analyze).await? {
            self.analyzed.insert(state, document.clone());
            found.push(document);
        }
        Ok(found)
    }

    /// Reads what documents are analysed from. The passages of those `with_text` are read.
    async fn sources(
        &self,
        user: UserId,
        documents: Vec<(DocumentState, document::Model)>,
        with_text: &[DocumentId],
    ) -> Result<Vec<(DocumentState, AnalysisSource)>, Error> {
        let rows: Vec<&document::Model> = documents.iter().map(|(_, row)| row).collect();
        // Together: on a busy machine most of their time is waiting for a turn.
        let (mut passages, mut annotations) =
            tokio::try_join!(self.read_passages(user, with_text), Annotations::load(&self.db, user, &rows))?;
        let sources = documents.into_iter().map(|(state, document)| {
            let metadata = MetadataSource::of(&document, &mut annotations);
            let passages = passages.remove(&document.id).unwrap_or_default();
            let has_all_passages = with_text.contains(&document.id) && passages.len() < MAX_DOCUMENT_PASSAGES;
            // A job that was given up has left its error in the row: that text does not wait.
            let lacks_text = !has_all_passages && lacks_passages(&document) && document.error.is_none();
            (state, AnalysisSource { document, passages, has_all_passages, lacks_text, metadata })
        });
        Ok(sources.collect())
    }

    /// Reads the first passages of the current texts of these documents.
    async fn read_passages(
        &self,
        user: UserId,
        documents: &[DocumentId],
    ) -> Result<HashMap<DocumentId, Vec<(ChunkId, String)>>, Error> {
        let mut passages: HashMap<DocumentId, Vec<(ChunkId, String)>> = HashMap::new();
        if documents.is_empty() {
            return Ok(passages);
        }
        let found = select_passages(user, documents).into_tuple::<(DocumentId, ChunkId, String)>();
        for (document, id, text) in found.all(self.db.read()).await? {
            passages.entry(document).or_default().push((id, text));
        }
        Ok(passages)
    }
}

/// Returns the documents in the searched part of the library with the newest changes that the index lacks, each with the time of its state.
async fn find_newest(
    db: &Db,
    user: UserId,
    search: &SearchQuery,
) -> Result<Vec<(DocumentId, Timestamp)>, Error> {
    if search.bookmarks.is_empty() && search.within.matches_all() {
        return read_newest(db, user, MAX_DOCUMENTS).await;
    }
    // Tested before they are counted: a change of a save that the filters ask for is found although many others are newer.
    let newest = read_newest(db, user, MAX_TESTED_DOCUMENTS).await?;
    let mut searched = Vec::new();
    for part in newest.chunks(TESTED_TOGETHER) {
        let ids: Vec<DocumentId> = part.iter().map(|(id, _)| *id).collect();
        let found = find_searched(db, user, search, &ids).await?;
        searched.extend(part.iter().copied().filter(|(id, _)| found.contains(id)));
        if searched.len() >= MAX_DOCUMENTS {
            searched.truncate(MAX_DOCUMENTS);
            break;
        }
    }
    Ok(searched)
}

/// Returns at most `limit` documents with the newest changes that the index lacks, each with the time of its state.
async fn read_newest(db: &Db, user: UserId, limit: usize) -> Result<Vec<(DocumentId, Timestamp)>, Error> {
    let values: [Value; 2] = [user.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()];
    let found = if limit > MAX_DOCUMENTS {
        db.direct().query_pool(&NEWEST, values, change_of).await
    } else {
        db.direct().query_all(&NEWEST, values, change_of).await
    };
    Ok(found?)
}

/// Returns a document and the time of its state.
fn change_of(row: &DirectRow<'_>) -> Result<(DocumentId, Timestamp), DbErr> {
    Ok((row.get(0)?, row.get(1)?))
}

/// Returns whether the index lacks passages of the text of a document, or the title that is part of them.
fn lacks_passages(document: &document::Model) -> bool {
    let has_former_title = !document.has_metadata_passage();
    document.version > 0 && (document.version > document.indexed_version || has_former_title)
}

fn select_documents(user: UserId, documents: &[DocumentId]) -> Select<document::Entity> {
    document::Entity::visible_to(user).filter(document::Column::Id.is_in(padded(documents)))
}

/// Selects the first passages of the current texts of these documents: document, id and text.
fn select_passages(user: UserId, documents: &[DocumentId]) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(user)
        .join(JoinType::InnerJoin, document_of_current_text(user))
        .filter(document::Column::Id.is_in(padded(documents)))
        .filter(chunk::Column::Ordinal.lt(i32::try_from(MAX_DOCUMENT_PASSAGES).unwrap_or(i32::MAX)))
        .select_only()
        .columns([chunk::Column::DocumentId, chunk::Column::Id, chunk::Column::Text])
}

/// How much text may still be read.
struct TextBudget {
    passages: usize,
    chars: usize,
}

impl TextBudget {
    /// Returns what is left to read besides these documents, which are analysed already.
    fn remaining_after(kept: &[Arc<AnalyzedDocument>]) -> Self {
        let passages = kept.iter().map(|document| document.points.len().saturating_sub(1)).sum::<usize>();
        let chars = passages.saturating_mul(PASSAGE_CHARS);
        Self { passages: MAX_PASSAGES.saturating_sub(passages), chars: MAX_CHARS.saturating_sub(chars) }
    }

    /// Reserves the first passages of a document. Returns whether enough was left; nothing is reserved otherwise.
    fn reserve(&mut self, document: &document::Model) -> bool {
        let chars = usize::try_from(document.total_chars).unwrap_or(0).min(MAX_DOCUMENT_CHARS);
        let passages = chars.div_ceil(PASSAGE_CHARS).clamp(1, MAX_DOCUMENT_PASSAGES);
        let (Some(passages), Some(chars)) =
            (self.passages.checked_sub(passages), self.chars.checked_sub(chars))
        else {
            return false;
        };
        (self.passages, self.chars) = (passages, chars);
        true
    }
}

#[cfg(test)]
mod tests;
