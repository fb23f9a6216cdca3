//! Saves whose texts and states are known beforehand, for measurements of search: nothing is fetched.

use std::collections::HashMap;

use database::{Db, insert_all, padded};
use entity::{account_count, bookmark, document, highlight};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, PaginatorTrait, QueryFilter, QuerySelect};
use serde::Deserialize;
use values::id::{BookmarkId, DocumentId, HighlightId, UserId};
use values::kind::{AnchorState, DocumentStatus};
use values::time::Timestamp;

use crate::bookmarks::{NewBookmark, SaveResult, save_new_pages};
use crate::owned_transaction::begin_owned;
use errors::Error;
use jobs::{JobKind, Priority};

/// The reason that a failed save shows.
const FAILURE_REASON: &str = "the page could not be fetched";

/// A save of a page, with what its site and its user add to it.
#[derive(Clone, Debug, Default)]
pub struct SampleSave {
    /// The page, with its text if it has one.
    pub page: NewBookmark,
    /// The description that the page states.
    pub excerpt: Option<String>,
    /// Highlights in the text. Each is placed at the first occurrence of its words once the text is stored.
    pub highlights: Vec<SampleHighlight>,
    /// Why the page has no text; `None` for a page with a text.
    pub missing_text: Option<MissingTextReason>,
}

/// Words of a text that the user marked.
#[derive(Clone, Debug, Deserialize)]
pub struct SampleHighlight {
    /// The words, as they are in the text.
    pub text: String,
    /// The user's note on them.
    #[serde(default)]
    pub note: Option<String>,
}

/// Why a page has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum MissingTextReason {
    /// It is not fetched yet, and never will be: `waiting`.
    #[serde(rename = "waiting")]
    NotFetched,
    /// It could not be fetched: `failed`.
    #[serde(rename = "failed")]
    FetchFailed,
}

/// Saves new pages of a user in one transaction, and returns their bookmarks in the order of the pages. The caller wakes the worker, which
/// processes the texts. At most [`BATCH_ROWS`](crate::BATCH_ROWS) at a time.
///
/// # Errors
/// [`Error::Conflict`] when two pages have the same URL, or one is saved already; [`Error::UrlRejected`] when a URL is not an absolute http
/// or https URL. Nothing is saved then.
pub async fn save_samples(
    db: &Db,
    user: UserId,
    samples: Vec<SampleSave>,
    now: Timestamp,
) -> Result<Vec<BookmarkId>, Error> {
    let txn = begin_owned(db, user).await?;
    let pages = samples.iter().map(|sample| sample.page.clone()).collect();
    let results = save_new_pages(&txn, user, pages, Priority::Backlog, now).await?;
    let mut saved = Vec::with_capacity(results.len());
    for result in results {
        match result {
            SaveResult::Created(bookmark) => saved.push(bookmark),
            SaveResult::Deferred { normalized_url, .. } => {
                return Err(Error::conflict(format!("the URL {normalized_url} is saved twice")));
            }
        }
    }
    let documents = documents_of(&txn, user, &saved).await?;
    for (sample, bookmark) in samples.iter().zip(&saved) {
        if let Some(document) = documents.get(bookmark) {
            complete_document(&txn, user, *document, sample).await?;
        }
    }
    let highlights = samples.into_iter().zip(&saved).flat_map(|(sample, bookmark)| {
        let rows = sample.highlights.into_iter();
        rows.map(|highlight| highlight_row(user, *bookmark, highlight, now)).collect::<Vec<_>>()
    });
    insert_all::<highlight::Entity>(&txn, highlights, None).await?;
    txn.commit().await?;
    Ok(saved)
}

/// Returns the documents of the pages of these bookmarks.
async fn documents_of(
    txn: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[BookmarkId],
) -> Result<HashMap<BookmarkId, DocumentId>, Error> {
    let rows = bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::Id.is_in(padded(bookmarks)))
        .select_only()
        .columns([bookmark::Column::Id, bookmark::Column::DocumentId]);
    Ok(rows.into_tuple::<(BookmarkId, DocumentId)>().all(txn).await?.into_iter().collect())
}

/// Sets what the page states of itself, and the state of a page without a text, whose job is withdrawn.
async fn complete_document(
    txn: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    sample: &SampleSave,
) -> Result<(), Error> {
    if let Some(excerpt) = &sample.excerpt {
        document::Entity::update_owned(user)
            .col_expr(document::Column::Description, Expr::value(excerpt))
            .filter(document::Column::Id.eq(document))
            .exec(txn)
            .await?;
    }
    let Some(reason) = sample.missing_text else { return Ok(()) };
    jobs::withdraw(txn, user, JobKind::FetchPage, document.0).await?;
    if reason == MissingTextReason::FetchFailed {
        document::Entity::update_owned(user)
            .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
            .col_expr(document::Column::Error, Expr::value(FAILURE_REASON))
            .filter(document::Column::Id.eq(document))
            .exec(txn)
            .await?;
    }
    Ok(())
}

/// Returns the row of a highlight that has no place yet, as those of imports: the text that is stored next places it.
fn highlight_row(
    user: UserId,
    bookmark: BookmarkId,
    highlight: SampleHighlight,
    now: Timestamp,
) -> highlight::Model {
    highlight::Model {
        id: HighlightId::new(now),
        user_id: user,
        bookmark_id: bookmark,
        text: highlight.text,
        note: highlight.note,
        color: None,
        start_offset: 0,
        end_offset: 0,
        anchor_state: AnchorState::Exact,
        created_at: now,
    }
}

/// Returns how much of the library of a user is not in the index yet: the jobs that wait or run, and the documents of which the index
/// lacks something.
pub async fn count_unindexed(db: &Db, user: UserId) -> Result<u64, Error> {
    let counts = account_count::Entity::owned_by(user).one(db.read()).await?;
    let jobs = counts.and_then(|counts| u64::try_from(counts.pending_jobs).ok()).unwrap_or_default();
    let documents = document::Entity::newest_unindexed_of(user).count(db.read()).await?;
    Ok(jobs + documents)
}

#[cfg(test)]
mod tests {
    use entity::user;
    use sea_orm::{EntityTrait, IntoActiveModel};
    use values::kind::SourceFormat;
    use values::plan::Plan;

    use super::*;
    use crate::documents::{PageContent, SuppliedContent};

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn add_user(db: &Db) -> UserId {
        let id = UserId::new(NOON);
        let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    async fn opened(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    fn sample(name: &str, missing_text: Option<MissingTextReason>) -> SampleSave {
        let text = SuppliedContent {
            format: SourceFormat::Text,
            body: "A heron.".into(),
            html: None,
            outline: None,
        };
        let content = missing_text.is_none().then_some(PageContent::Supplied(text));
        let page =
            NewBookmark { url: format!("https://birds.example/{name}"), content, ..NewBookmark::default() };
        SampleSave { page, excerpt: Some(format!("About {name}")), highlights: Vec::new(), missing_text }
    }

    #[tokio::test]
    async fn page_without_a_text_has_its_state_and_no_job() {
        let folder = tempfile::tempdir().unwrap();
        let db = opened(&folder).await;
        let user = add_user(&db).await;
        let mut read = sample("read", None);
        read.highlights.push(SampleHighlight { text: "heron".to_owned(), note: None });
        let samples = vec![
            read,
            sample("failed", Some(MissingTextReason::FetchFailed)),
            sample("waiting", Some(MissingTextReason::NotFetched)),
        ];

        let saved = save_samples(&db, user, samples, NOON).await.unwrap();

        assert_eq!(saved.len(), 3);
        // The job of the text, and the three documents.
        assert_eq!(count_unindexed(&db, user).await.unwrap(), 4);
        let documents = document::Entity::visible_to(user).all(db.read()).await.unwrap();
        let state_of = |bookmark: BookmarkId| {
            let own = documents.iter().find(|document| document.bookmark_id == Some(bookmark)).unwrap();
            (own.description.clone().unwrap(), own.status, own.error.is_some())
        };
        assert_eq!(state_of(saved[0]), ("About read".to_owned(), DocumentStatus::Processing, false));
        assert_eq!(state_of(saved[1]), ("About failed".to_owned(), DocumentStatus::Failed, true));
        assert_eq!(state_of(saved[2]), ("About waiting".to_owned(), DocumentStatus::Processing, false));
        let highlights = highlight::Entity::owned_by(user).all(db.read()).await.unwrap();
        assert_eq!(highlights.iter().map(|row| row.bookmark_id).collect::<Vec<_>>(), [saved[0]]);
    }

    #[tokio::test]
    async fn url_that_occurs_twice_is_refused_with_its_batch() {
        let folder = tempfile::tempdir().unwrap();
        let db = opened(&folder).await;
        let user = add_user(&db).await;

        let refused = save_samples(&db, user, vec![sample("a", None), sample("a", None)], NOON).await;

        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        assert!(document::Entity::visible_to(user).one(db.read()).await.unwrap().is_none());
    }
}
