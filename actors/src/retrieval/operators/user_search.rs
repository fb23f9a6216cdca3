//! What a search with operators runs on.

use std::collections::HashMap;

use database::Db;
use errors::Error;
use search::index::{Embedding, IndexError};
use tokio::time::Instant;
use uuid::Uuid;
use values::id::{DocumentId, UserId};

use super::phrase_check::{self, PhraseMatcher};
use crate::retrieval::engine::{Engine, LibraryIndex, RequestKey};
use crate::retrieval::unindexed::UnindexedDocuments;

/// What one search of a user runs on.
#[derive(Clone, Copy)]
pub struct UserSearch<'a> {
    /// The database of the texts.
    pub db: &'a Db,
    /// The search engine.
    pub engine: &'a Engine,
    /// The user who searches.
    pub user: UserId,
    /// The documents of the user that the index lacks a change of.
    pub unindexed: &'a UnindexedDocuments,
    /// Whether the index may lack passages of the user.
    pub is_incomplete: bool,
    /// The vector of the query, if a service has computed it.
    pub vector: Option<&'a Embedding>,
    /// When the search is given up, with all that it has found; `None` if its time is not limited.
    pub ends_at: Option<Instant>,
}

impl UserSearch<'_> {
    /// Searches the index for these words.
    ///
    /// # Errors
    /// The errors of [`Engine::run_search`].
    pub async fn run<T: Send + 'static>(
        &self,
        words: &str,
        find: impl FnOnce(&LibraryIndex<'_>) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Error> {
        let request = RequestKey::of_search(self.user, words);
        self.engine.run_search(request, self.unindexed, find).await
    }

    /// Returns those of these points of the index, each with its document, that match the phrases ([`phrase_check::find_matching`]).
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker thread fails.
    pub async fn find_matching(
        &self,
        phrases: &PhraseMatcher,
        points: &[Uuid],
    ) -> Result<HashMap<Uuid, DocumentId>, Error> {
        phrase_check::find_matching(self.db, self.engine.workers(), self.user, phrases, points).await
    }
}
