//! What all row logic needs: the database, the clock, the plans and permits for blocking work. The server has one, and so
//! has the command line, which works while the server runs.

use std::path::PathBuf;
use std::sync::Arc;

use concurrency::Workers;
use database::Db;
use entity::document;
use jobs::RecentCounts;
use values::id::DocumentId;
use values::plan::Plans;

use crate::clock::Clock;
use crate::text_counts::RecentTextCounts;

/// The context of row logic. Clones share everything.
#[derive(Clone)]
pub struct CoreContext {
    /// The database, through the connections of requests or, after [`CoreContext::for_jobs`], through those of jobs.
    pub db: Db,
    /// The database through separate connections, for rows of account security ([`Db::for_accounts`]).
    pub accounts_db: Db,
    /// The only source of the current time for row logic.
    pub clock: Arc<dyn Clock>,
    /// Limits of each plan, as the settings `plans.<plan>` declare them.
    pub plans: Arc<Plans>,
    /// Recent counts of the jobs that wait, by which saves are refused.
    pub waiting_jobs: RecentCounts,
    /// Recent counts of the texts of large imports.
    pub text_counts: RecentTextCounts,
    /// Permits for work that blocks a thread, one set for each lane.
    pub workers: Workers,
    /// Public base URL of the server, without a slash at its end.
    pub base_url: Arc<str>,
    /// Folder of the database, the index and the files.
    pub data_dir: Arc<PathBuf>,
}

impl CoreContext {
    /// Returns the context over an open database.
    pub fn new(db: Db, data_dir: PathBuf, base_url: &str, plans: Plans, clock: Arc<dyn Clock>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            accounts_db: db.for_accounts(),
            db,
            clock,
            plans: Arc::new(plans),
            waiting_jobs: RecentCounts::default(),
            text_counts: RecentTextCounts::default(),
            workers: Workers::new(cores),
            base_url: base_url.into(),
            data_dir: Arc::new(data_dir),
        }
    }

    /// Returns the same context for background work, which has separate connections ([`Db::for_jobs`]).
    #[must_use]
    pub fn for_jobs(&self) -> Self {
        Self { db: self.db.for_jobs(), ..self.clone() }
    }

    /// Returns the URL of a document's source or, if it has none, of its page in the web app.
    pub fn url_of(&self, document: &document::Model) -> String {
        self.source_url(document.url.clone(), document.id)
    }

    /// Returns the URL of the source of a document or, if it has none, that of the document's page in the web app.
    pub fn source_url(&self, source: Option<String>, document: DocumentId) -> String {
        source.unwrap_or_else(|| self.app_url_of(document))
    }

    /// Returns the URL of a document's page in the web app.
    pub fn app_url_of(&self, document: DocumentId) -> String {
        format!("{}/read/{document}", self.base_url)
    }
}
