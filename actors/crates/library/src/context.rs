//! What needs no actor: the database, the clock, the plans and the places for blocking work. The command line works with
//! it beside a running service; the service's [`App`](actors::context::CoreContext) holds one too.

use std::path::PathBuf;
use std::sync::Arc;

use database::Db;
use entity::document;
use entity::plan::Plans;
use runtime::Workers;

use crate::clock::Clock;

/// See the file's head. Clones share everything.
#[derive(Clone)]
pub struct CoreContext {
    /// Rows.
    pub db: Db,
    /// The rows of account security, by connections of their own ([`Db::for_accounts`]).
    pub accounts_db: Db,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What each plan allows.
    pub plans: Arc<Plans>,
    /// Places for blocking work.
    pub workers: Workers,
    /// The address under which the world sees the service, without a slash at its end.
    pub base_url: Arc<str>,
    /// Folder of the index and the files.
    pub data_dir: Arc<PathBuf>,
}

impl CoreContext {
    /// A desk over an open database.
    pub fn of(db: Db, data_dir: PathBuf, base_url: &str, plans: Plans, clock: Arc<dyn Clock>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            accounts_db: db.for_accounts(),
            db,
            clock,
            plans: Arc::new(plans),
            workers: Workers::new(cores),
            base_url: base_url.into(),
            data_dir: Arc::new(data_dir),
        }
    }

    /// The same desk for background work, whose rows come by connections of their own ([`Db::for_jobs`]).
    #[must_use]
    pub fn for_jobs(&self) -> Self {
        Self { db: self.db.for_jobs(), ..self.clone() }
    }

    /// The way back to a document: its own address, or its page in the web app.
    pub fn url_of(&self, document: &document::Model) -> String {
        document.url.clone().unwrap_or_else(|| format!("{}/read/{}", self.base_url, document.id))
    }
}
