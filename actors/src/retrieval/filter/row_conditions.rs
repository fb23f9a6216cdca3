//! The conditions of a search on the rows of documents: what the index finds is tested for them, because its labels are updated later than
//! the rows, and because it has none of what users change at any time.

use std::collections::HashSet;

use database::{Db, padded};
use entity::{bookmark, document};
use errors::Error;
use library::BATCH_ROWS;
use library::bookmarks::BookmarkConditions;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, QueryFilter, QuerySelect};
use search::index::{DocumentSet, Source};
use uuid::Uuid;
use values::id::{DocumentId, UserId};

use crate::retrieval::search_query::SearchQuery;

/// Documents that a statement names at most: it has 65,535 parameters.
const MAX_NAMED_DOCUMENTS: usize = 30_000;

/// Returns the condition that the document of the statement is of a bookmark that passes these conditions; `None` if there are none. It is
/// tested on each document that the statement finds.
fn bookmark_condition(conditions: &BookmarkConditions, user: UserId, backend: DbBackend) -> Option<Expr> {
    if conditions.is_empty() {
        return None;
    }
    let mut row = Query::select();
    row.expr(Expr::cust("1"))
        .from(bookmark::Entity)
        .and_where(bookmark::Column::Id.into_expr().equals((document::Entity, document::Column::BookmarkId)));
    for test in conditions.tests(user, backend) {
        row.and_where(test);
    }
    Some(Expr::exists(row))
}

/// Returns those of these documents whose bookmarks pass these conditions; `None` if there are no conditions.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find_passing(
    db: &Db,
    user: UserId,
    conditions: &BookmarkConditions,
    documents: &[DocumentId],
) -> Result<Option<HashSet<DocumentId>>, Error> {
    let Some(condition) = bookmark_condition(conditions, user, db.read().get_database_backend()) else {
        return Ok(None);
    };
    let mut passing = HashSet::with_capacity(documents.len());
    for ids in documents.chunks(BATCH_ROWS) {
        let found = document::Entity::visible_to(user)
            .filter(document::Column::Id.is_in(padded(ids)))
            .filter(condition.clone())
            .select_only()
            .column(document::Column::Id)
            .into_tuple::<DocumentId>();
        passing.extend(found.all(db.read()).await?);
    }
    Ok(Some(passing))
}

/// Returns those of these documents that the user may read and that are in the searched part of the library.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn find_searched(
    db: &Db,
    user: UserId,
    search: &SearchQuery,
    documents: &[DocumentId],
) -> Result<HashSet<DocumentId>, Error> {
    let condition = is_readable(user, search, db.read().get_database_backend());
    let named = named_documents(&search.within.documents, documents);
    let mut searched = HashSet::with_capacity(named.len());
    for ids in named.chunks(BATCH_ROWS) {
        let found = document::Entity::visible_to(user)
            .filter(document::Column::Id.is_in(padded(ids)))
            .filter(condition.clone())
            .select_only()
            .column(document::Column::Id)
            .into_tuple::<DocumentId>();
        searched.extend(found.all(db.read()).await?);
    }
    Ok(searched)
}

/// Returns those of some documents that are in a set, which may have tens of thousands.
fn named_documents(set: &DocumentSet, documents: &[DocumentId]) -> Vec<DocumentId> {
    let (listed, is_listed_in) = match set {
        DocumentSet::All => return documents.to_vec(),
        DocumentSet::Only(listed) => (listed, true),
        DocumentSet::Except(listed) => (listed, false),
    };
    let asked: HashSet<Uuid> = documents.iter().map(|document| document.0).collect();
    let listed: HashSet<Uuid> = listed.iter().copied().filter(|id| asked.contains(id)).collect();
    documents.iter().copied().filter(|document| listed.contains(&document.0) == is_listed_in).collect()
}

/// Returns the condition that the user may read a document, and that it is in the searched part of the library.
pub fn is_readable(user: UserId, search: &SearchQuery, backend: DbBackend) -> Condition {
    let (source, feed, kind) = (search.within.source, search.within.feed, search.within.content_type);
    Condition::all()
        .add(document::Column::UserId.eq(user))
        .add(document::Column::HiddenAt.is_null())
        .add_option(feed.map(|feed| document::Column::FeedId.eq(feed)))
        .add_option(kind.map(|kind| document::Column::ContentType.eq(kind)))
        .add_option(source.map(is_in_source))
        .add_option(bookmark_condition(&search.bookmarks, user, backend))
}

/// Returns the condition that the user may read a document, and that it is in the searched part of the library, also by the documents that
/// the filter names. A set of more than 30,000 documents is left out: only conditions on bookmarks select that many, and they are part of the
/// condition themselves.
pub fn is_searched(user: UserId, search: &SearchQuery, backend: DbBackend) -> Condition {
    let named = match &search.within.documents {
        DocumentSet::Only(ids) if ids.len() <= MAX_NAMED_DOCUMENTS => {
            Some(document::Column::Id.is_in(padded(ids)))
        }
        DocumentSet::Except(ids) if ids.len() <= MAX_NAMED_DOCUMENTS && !ids.is_empty() => {
            Some(document::Column::Id.is_not_in(padded(ids)))
        }
        DocumentSet::All | DocumentSet::Only(_) | DocumentSet::Except(_) => None,
    };
    is_readable(user, search, backend).add_option(named)
}

/// Returns the condition that a document is of this source: bookmarks or feeds.
fn is_in_source(source: Source) -> Condition {
    use document::Column as C;
    match source {
        Source::Bookmarks => Condition::any().add(C::BookmarkId.is_not_null()).add(C::EntryId.is_null()),
        Source::Feeds => Condition::all().add(C::BookmarkId.is_null()).add(C::EntryId.is_not_null()),
    }
}
