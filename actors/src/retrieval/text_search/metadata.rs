//! Finds documents by their metadata in PostgreSQL: by title, words of the URL, excerpt, tags and highlights. What has a word of the query is
//! read, and compared with the query as the metadata of unindexed documents is.

use std::collections::HashMap;
use std::sync::LazyLock;

use concurrency::{Lane, Workers};
use database::{Db, padded};
use entity::document;
use errors::Error;
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, QueryFilter, Select, Statement, Value};
use search::lexical::QueryTerm;
use uuid::Uuid;
use values::id::{DocumentId, UserId};

use super::conditions::SEARCH_SETTINGS;
use crate::retrieval::filter::is_searched;
use crate::retrieval::metadata::{Annotations, MetadataSource};
use crate::retrieval::operators::{PhraseMatcher, find_matching};
use crate::retrieval::search_query::SearchQuery;
use crate::retrieval::unindexed::metadata_shares;

/// Documents that are read of each kind of match. More match only words that are everywhere.
const MAX_CANDIDATES: usize = 200;

/// The documents of the user `$1` that have words of the text `$2`: all of them in title, excerpt and URL, or any of them there, in a tag or
/// in a highlight. The expressions are those of the indexes of migration `m0015_text_search`.
static CANDIDATES: LazyLock<String> = LazyLock::new(|| {
    let own = r#"to_tsvector('simple', "document"."title" || '|' || coalesce(left("document"."description", 8000), '') || '|'
        || regexp_replace(coalesce("document"."url", ''), '^[a-z]+://|[\u003f#].*|\W+|_', '|', 'gi'))"#;
    let tag = r#"to_tsvector('simple', "bookmark_tag"."name")"#;
    let highlight = r#"to_tsvector('simple', "highlight"."text" || '|' || coalesce("highlight"."note", ''))"#;
    let all_words = "plainto_tsquery('simple', $2)";
    let any_word = "replace(plainto_tsquery('simple', $2)::text, '&', '|')::tsquery";
    let of_documents = |words: &str| {
        format!(
            r#"(SELECT "document"."id" FROM "document"
            WHERE "document"."user_id" = $1 AND {own} @@ {words} LIMIT {MAX_CANDIDATES})"#
        )
    };
    let of_bookmarks = |table: &str, expression: &str| {
        format!(
            r#"(SELECT "document"."id" FROM "{table}"
            JOIN "document" ON "document"."bookmark_id" = "{table}"."bookmark_id" AND "document"."user_id" = $1
            WHERE "{table}"."user_id" = $1 AND {expression} @@ {any_word} LIMIT {MAX_CANDIDATES})"#
        )
    };
    let parts = [
        of_documents(all_words),
        of_documents(any_word),
        of_bookmarks("bookmark_tag", tag),
        of_bookmarks("highlight", highlight),
    ];
    parts.join(" UNION ")
});

/// Returns the share of the words of a query that the metadata of documents has, above 0 and at most 1, by the ids of the documents: of those
/// that the user may read, and that have the phrases of the query in their metadata. The title of a note on a bookmark is not searched.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker thread fails.
pub(super) async fn find(
    db: &Db,
    workers: &Workers,
    user: UserId,
    search: &SearchQuery,
    words: &[QueryTerm],
) -> Result<HashMap<Uuid, f32>, Error> {
    let candidates = read_candidates(db, user, words).await?;
    if candidates.is_empty() {
        return Ok(HashMap::new());
    }
    let mut rows = select_documents(user, search, &candidates).all(db.read()).await?;
    rows.retain(|row| row.has_metadata_passage() || row.bookmark_id.is_none());
    let mut annotations = Annotations::load(db, user, &rows.iter().collect::<Vec<_>>()).await?;
    let source = |row: &document::Model| {
        let with_annotations = MetadataSource::of(row, &mut annotations);
        with_annotations.unwrap_or_else(|| MetadataSource::without_annotations(row))
    };
    let sources: Vec<MetadataSource> = rows.iter().map(source).collect();
    let (query, within) = (search.query.plain.clone(), search.within.clone());
    let compare = move || metadata_shares(sources, &query, &within);
    let mut shares = workers.run(Lane::Foreground, compare).await?;
    if !search.query.phrases.is_empty() && !shares.is_empty() {
        let phrases = PhraseMatcher::all_of(&search.query.phrases);
        let documents: Vec<Uuid> = shares.keys().copied().collect();
        let matching = find_matching(db, workers, user, &phrases, &documents).await?;
        shares.retain(|document, _| matching.contains_key(document));
    }
    Ok(shares)
}

/// Returns the documents that have any of these words in their metadata, in any order.
async fn read_candidates(db: &Db, user: UserId, words: &[QueryTerm]) -> Result<Vec<DocumentId>, Error> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let words = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    // Its drop rolls it back: it only reads.
    let txn = db.begin().await?;
    txn.execute_unprepared(SEARCH_SETTINGS).await?;
    let values = [Value::from(user), Value::from(words)];
    let select = Statement::from_sql_and_values(DbBackend::Postgres, CANDIDATES.as_str(), values);
    let rows = txn.query_all_raw(select).await?;
    Ok(rows.iter().map(|row| row.try_get_by_index(0)).collect::<Result<_, _>>()?)
}

fn select_documents(
    user: UserId,
    search: &SearchQuery,
    candidates: &[DocumentId],
) -> Select<document::Entity> {
    document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(candidates)))
        .filter(is_searched(user, search, DbBackend::Postgres))
}
