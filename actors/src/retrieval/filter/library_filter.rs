//! Filters of a search by what users change at any time: tags, collections, flags, the time of saving, and projects.
//!
//! The index has no labels of them. The database resolves them to a set of documents at the moment of the search, so a change holds in the
//! very next search of every caller. The conditions are tested on the rows of what the index finds ([`find_passing`]) in any case.
//!
//! Many documents are not read for each search: where more pass and more fail than [`Naming::Few`] allows, the index searches all
//! bookmarks, and the tests alone decide. If too few of the best hits pass, the search is repeated with [`Naming::Many`].

use entity::project;
use errors::Error;
use library::bookmarks::BookmarkConditions;
use library::context::CoreContext;
use library::projects;
use search::index::{DocumentSet, Filter, Source};
use values::id::UserId;

use super::named_documents::{self, only};
use super::row_conditions::find_passing;

/// How many documents a filter may name to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As many as cost little beside a search: 2,000.
    Few,
    /// 50,000, about 2 MB of ids: to find what passes beyond the best hits.
    Many,
}

impl Naming {
    fn max_documents(self) -> u64 {
        match self {
            Naming::Few => 2_000,
            Naming::Many => 50_000,
        }
    }
}

/// A filter by the user's own order of the library. All conditions that are given must hold.
#[derive(Debug)]
pub struct LibraryFilter {
    /// Conditions on the bookmark of a document; with any, documents of no bookmark do not match.
    pub bookmarks: BookmarkConditions,
    /// The project to which the document belongs, which is the user's own.
    pub project: Option<project::Model>,
}

/// A filter for the index.
#[derive(Debug)]
pub struct ResolvedFilter {
    /// What the index searches.
    pub within: Filter,
    /// Whether everything in it passes, as far as the rows have not changed since. Otherwise it is all bookmarks, and the conditions must
    /// be tested on what is found.
    pub is_exact: bool,
    /// The number of bookmarks in it for each one that passes, about; at least 1.
    pub bookmarks_per_match: usize,
}

impl ResolvedFilter {
    fn exact(within: Filter) -> Self {
        Self { within, is_exact: true, bookmarks_per_match: 1 }
    }
}

impl LibraryFilter {
    /// Returns whether it has no conditions.
    pub fn is_empty(&self) -> bool {
        self.bookmarks.is_empty() && self.project.is_none()
    }

    /// Adds the documents that match to a filter by labels.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub(in crate::retrieval) async fn resolve(
        &self,
        core: &CoreContext,
        user: UserId,
        labels: Filter,
        naming: Naming,
    ) -> Result<ResolvedFilter, Error> {
        if self.bookmarks.is_empty() {
            let documents = self.documents_of_project(core, user).await?;
            return Ok(ResolvedFilter::exact(Filter { documents, ..labels }));
        }
        if labels.source == Some(Source::Feeds) {
            // The document of a bookmark is never among them.
            let documents = DocumentSet::Only(Vec::new());
            return Ok(ResolvedFilter::exact(Filter { documents, ..labels }));
        }
        let documents = match self.project {
            Some(_) => Some(self.documents_of_project(core, user).await?),
            None => named_documents::find(&core.db, user, &self.bookmarks, naming.max_documents()).await?,
        };
        let Some(documents) = documents else {
            let bookmarks_per_match =
                named_documents::bookmarks_per_match(&core.db, user, &self.bookmarks).await?;
            let within = Filter { source: Some(Source::Bookmarks), ..labels };
            return Ok(ResolvedFilter { within, is_exact: false, bookmarks_per_match });
        };
        // All documents of a set are of bookmarks, also an entry that was just bookmarked and still has its former label.
        let is_named = matches!(documents, DocumentSet::Only(_));
        let source = if is_named { None } else { Some(Source::Bookmarks) };
        Ok(ResolvedFilter::exact(Filter { source, documents, ..labels }))
    }

    /// Returns the documents of the project that pass the conditions; without a project, all.
    async fn documents_of_project(&self, core: &CoreContext, user: UserId) -> Result<DocumentSet, Error> {
        let Some(project) = &self.project else { return Ok(DocumentSet::All) };
        let all = projects::documents_of(core, project).await?;
        let passing = find_passing(&core.db, user, &self.bookmarks, &all).await?;
        Ok(only(passing.map_or(all, |passing| passing.into_iter().collect())))
    }
}
