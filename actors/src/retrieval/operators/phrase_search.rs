//! Finds passages that contain all phrases of a query. Any passage that does has each of their words, so the texts of the passages with these
//! words are compared with the phrases: first of the best 1,600 for all words of the query, then of all that have the rarest word of the
//! phrases, until there are enough results or none is left, for a few seconds. A search whose time is up before that says so, because a phrase
//! that it did not find may stand in a passage that it did not read.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use errors::Error;
use search::fusion::{self, FusedPassage, RankedPassage};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::exclusion::Exclusions;
use super::lexical_search::{self, MAX_LEXICAL_HITS, PhraseCandidates};
use super::phrase_check::{PASSAGES_PER_READ, PhraseMatcher};
use super::user_search::UserSearch;
use crate::retrieval::engine::LibraryIndex;
use crate::retrieval::ranked_hits::{RankedHits, SearchHit};
use crate::retrieval::search_query::SearchQuery;

/// Time from the start of a search from which on no more passages with the rarest word of the phrases are read.
const MAX_PHRASE_TIME: Duration = Duration::from_secs(3);
/// Numbers of passages with the rarest word that are asked for, one after the other: a search of the index begins with its best hit.
const WORD_DEPTHS: [usize; 4] = [6_400, 25_600, 102_400, 409_600];
/// Number of passages whose texts are read at a time when they are many.
const PASSAGES_PER_LONG_READ: usize = 500;
/// Part of the time of a search that is left to return what it has found.
const RETURN_TIME: Duration = Duration::from_millis(50);
/// Delay after which a search may be tried again whose time was up before it found anything.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Searches by words alone: what only resembles the query in meaning does not contain its phrases.
///
/// # Errors
/// [`Error::IndexUnreachable`] when a search whose time is limited ends before it finds anything or has read all; the errors of
/// [`UserSearch::run`]; [`Error::Internal`] when the database fails.
pub(super) async fn search(search: UserSearch<'_>, query: SearchQuery) -> Result<RankedHits, Error> {
    let deadline = Instant::now() + MAX_PHRASE_TIME;
    let searched_text = query.query.plain.clone();
    let (user, first) = (search.user, query.clone());
    let find = move |index: &LibraryIndex<'_>| lexical_search::find_candidates(index, user, &first);
    let PhraseCandidates { passages, terms } = search.run(&searched_text, find).await?;
    let mut matches = PhraseMatches::new(search, &query);
    let collected = matches.collect(&query, &passages, deadline);
    let is_whole = match search.ends_at.and_then(|ends_at| ends_at.checked_sub(RETURN_TIME)) {
        Some(ends_at) => timeout_at(ends_at, collected).await.unwrap_or(Ok(false))?,
        None => collected.await?,
    };
    let ranked = matches.ranked();
    if !is_whole && ranked.is_empty() && search.ends_at.is_some() {
        // The index is on a server. The database may find the phrases by itself.
        return Err(Error::IndexUnreachable(RETRY_AFTER));
    }
    let shares_words = !ranked.is_empty();
    let hits = ranked.into_iter().map(|passage| SearchHit::new(passage, None)).collect();
    let may_lack_passages = !is_whole;
    Ok(RankedHits { hits, searched_text, terms, shares_words, may_lack_passages, ..RankedHits::default() })
}

/// The passages that contain the phrases of a query, as far as they were read.
struct PhraseMatches<'a> {
    search: UserSearch<'a>,
    phrases: PhraseMatcher,
    exclusions: Exclusions<'a>,
    /// Best first.
    matching: Vec<FusedPassage>,
    documents: HashMap<Uuid, Uuid>,
    limit: usize,
}

impl<'a> PhraseMatches<'a> {
    fn new(search: UserSearch<'a>, query: &SearchQuery) -> Self {
        Self {
            search,
            phrases: PhraseMatcher::all_of(&query.query.phrases),
            exclusions: Exclusions::new(search, &query.query.excluded),
            matching: Vec::new(),
            documents: HashMap::new(),
            limit: query.limit,
        }
    }

    /// Adds the passages that contain the phrases: of the `best` ones for all words of the query first, then of those with the rarest word.
    /// Returns whether there are enough, or all.
    async fn collect(
        &mut self,
        query: &SearchQuery,
        best: &[FusedPassage],
        deadline: Instant,
    ) -> Result<bool, Error> {
        for part in best.chunks(PASSAGES_PER_READ) {
            if self.add(part).await? {
                return Ok(true);
            }
        }
        match best.get(MAX_LEXICAL_HITS - 1) {
            Some(last) => self.add_with_rarest_word(query, best, *last, deadline).await,
            None => Ok(true),
        }
    }

    /// Adds those of these passages, which are worse than those before, that contain the phrases and are not excluded. Returns whether there
    /// are enough.
    async fn add(&mut self, passages: &[FusedPassage]) -> Result<bool, Error> {
        let points: Vec<Uuid> = passages.iter().map(|passage| passage.id).collect();
        let mut found = self.search.find_matching(&self.phrases, &points).await?;
        if found.is_empty() {
            return Ok(false);
        }
        // The text in the database may be a newer one than the passage was cut from.
        found.retain(|point, document| !self.search.unindexed.is_former(*point, document.0));
        self.exclusions.check(found.values().map(|document| document.0).collect()).await?;
        found.retain(|_, document| !self.exclusions.exclude(document.0));
        self.matching.extend(passages.iter().filter(|passage| found.contains_key(&passage.id)).copied());
        self.documents.extend(found.into_iter().map(|(point, document)| (point, document.0)));
        Ok(self.is_enough())
    }

    /// Adds passages that have the rarest word of the phrases, without `known` ones, until there are enough, none is left, or it is the
    /// deadline. They have at most the relevance of `last`, the last of the known ones. Returns whether there are enough, or none is left.
    async fn add_with_rarest_word(
        &mut self,
        query: &SearchQuery,
        known: &[FusedPassage],
        last: FusedPassage,
        deadline: Instant,
    ) -> Result<bool, Error> {
        let (user, words, asked) = (self.search.user, query.query.phrases.join(" "), query.clone());
        let find = move |index: &LibraryIndex<'_>| lexical_search::find_rarest_word(index, user, &asked);
        let word = match self.search.run(&words, find).await {
            // What was found before is better than nothing.
            Err(Error::IndexUnreachable(_) | Error::Busy(_)) => return Ok(false),
            word => word?,
        };
        let Some(word) = word else { return Ok(true) };
        let mut known: HashSet<Uuid> = known.iter().map(|passage| passage.id).collect();
        for depth in WORD_DEPTHS {
            let (asked, asked_word) = (query.clone(), word.clone());
            let find = move |index: &LibraryIndex<'_>| {
                lexical_search::find_with_word(index, user, &asked, &asked_word, depth)
            };
            let found = match self.search.run(&words, find).await {
                Err(Error::IndexUnreachable(_) | Error::Busy(_)) => return Ok(false),
                found => found?,
            };
            let is_all = found.len() < depth;
            let new = found.into_iter().filter(|id| known.insert(*id));
            let new: Vec<FusedPassage> = new.map(|id| FusedPassage { id, ..last }).collect();
            for part in new.chunks(PASSAGES_PER_LONG_READ) {
                if self.add(part).await? {
                    return Ok(true);
                }
                if Instant::now() >= deadline {
                    return Ok(false);
                }
            }
            if is_all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_enough(&self) -> bool {
        self.matching.len() >= self.limit && self.ranked().len() >= self.limit
    }

    fn ranked(&self) -> Vec<RankedPassage> {
        limit_per_document(&self.matching, &self.documents, self.limit)
    }
}

/// Returns the first of these passages, at most `limit`, without those beyond the maximum of each document.
fn limit_per_document(
    passages: &[FusedPassage],
    documents: &HashMap<Uuid, Uuid>,
    limit: usize,
) -> Vec<RankedPassage> {
    let find = |ids: &[Uuid]| -> Result<HashMap<Uuid, Uuid>, Infallible> {
        Ok(ids.iter().filter_map(|id| Some((*id, *documents.get(id)?))).collect())
    };
    let Ok(ranked) = fusion::limit_per_document(passages, limit, find);
    ranked
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use concurrency::Workers;
    use database::{Db, insert_all};
    use entity::{chunk, document};
    use library::bookmarks::BookmarkConditions;
    use library::clock::TestClock;
    use search::index::{EdgeIndex, Filter, PassageIndex, Tenant, VectorModels};
    use search::query_syntax::ParsedQuery;
    use values::id::{ChunkId, UserId};
    use values::kind::ContentType;

    use super::*;
    use crate::ai::Pause;
    use crate::retrieval::engine::Engine;
    use crate::retrieval::test_library::{NOON, add_user, open_database, point};
    use crate::retrieval::unindexed::UnindexedDocuments;

    /// Adds a document with these passages, numbered from 1, to the database and to the index.
    async fn add_passages(db: &Db, index: &EdgeIndex, owner: UserId, texts: &[String]) {
        let document = document::Model::pending(owner, ContentType::Article, "Sayings".to_owned(), NOON);
        let id = document.id;
        let chunk = |(number, text): (i32, &String)| chunk::Model {
            id: ChunkId(Uuid::from_u128(number.unsigned_abs().into())),
            document_id: id,
            user_id: owner,
            version: 1,
            ordinal: number,
            start_offset: number,
            end_offset: number + 1,
            page: None,
            start_seconds: None,
            end_seconds: None,
            text: text.clone(),
        };
        insert_all::<document::Entity>(db.write(), [document], None).await.unwrap();
        insert_all::<chunk::Entity>(db.write(), (1..).zip(texts).map(chunk), None).await.unwrap();
        let points = (1..).zip(texts).map(|(number, text)| point(number, id.0.as_u128(), text));
        index.upsert(&Tenant::of(owner.0), points.collect()).unwrap();
    }

    #[tokio::test]
    async fn phrase_of_words_that_are_everywhere_is_found() {
        let (folder, index_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (db, workers) = (open_database(&folder).await, Workers::new(2));
        let index = Arc::new(EdgeIndex::open(index_folder.path(), VectorModels::default()).unwrap());
        let owner = add_user(&db).await;
        // More passages than are looked at first, in which the words of the phrase are more frequent, in another order.
        let mut texts = vec!["Not to be. Or be not to.".to_owned(); MAX_LEXICAL_HITS + 100];
        texts.extend(vec!["A heron.".to_owned(); 200]);
        texts.push(format!("To be, or not to be. {}", "The reeds are still. ".repeat(80)));
        let last = Uuid::from_u128(u128::try_from(texts.len()).unwrap());
        add_passages(&db, &index, owner, &texts).await;
        let engine = Engine::new(Some(index), Arc::new(TestClock::at(NOON)), Pause::default(), workers);
        let unindexed = UnindexedDocuments::default();
        let user_search = UserSearch {
            db: &db,
            engine: &engine,
            user: owner,
            unindexed: &unindexed,
            is_incomplete: false,
            vector: None,
            ends_at: None,
        };
        let query = |text: &str| SearchQuery {
            query: ParsedQuery::of(text),
            within: Filter::default(),
            bookmarks: BookmarkConditions::default(),
            limit: 8,
        };
        let found = async |text: &str| {
            let found = search(user_search, query(text)).await.unwrap();
            assert!(!found.may_lack_passages);
            found.hits.iter().map(|hit| hit.chunk.0).collect::<Vec<_>>()
        };

        assert_eq!(found("\"to be or not to be\"").await, [last]);
        assert_eq!(found("\"be or to not\"").await, [] as [Uuid; 0]);
        assert_eq!(found("\"not to be\"").await.len(), 3, "of one document");
        let ended = UserSearch { ends_at: Some(Instant::now()), ..user_search };
        let late = search(ended, query("\"to be or not to be\"")).await;
        assert!(matches!(late, Err(Error::IndexUnreachable(_))), "nothing is denied: {late:?}");
    }
}
