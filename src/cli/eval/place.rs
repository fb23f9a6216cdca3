//! Where the library of an evaluation is: in its folder or, to judge another engine, on servers.

use clap::Args;
use search::index::{IndexError, ServerStore, VectorModels};
use values::cause::error_chain;

use crate::cli::failure::Failure;
use crate::library_database;
use crate::server::index_server;
use crate::settings::{CollectionName, DatabaseUrl, HttpUrl, Settings};

/// The servers that hold the library in place of its folder.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Hold the index on this Qdrant server, in a new collection that is deleted afterwards; the key is vectors.key
    #[arg(long, value_name = "URL", value_parser = HttpUrl::parse)]
    pub vectors_url: Option<HttpUrl>,
    /// Name of that collection, which must not exist
    #[arg(long, value_name = "NAME", default_value = "carrel-eval", value_parser = CollectionName::parse)]
    pub collection: CollectionName,
    /// Hold the rows in this PostgreSQL database, which must be empty, and keeps them
    ///
    /// With --vectors-url, what the database finds by itself is measured too, as while the Qdrant server is away. Other users of the machine
    /// can see the arguments of a command, so use a database without a password that matters.
    #[arg(long, value_name = "URL", value_parser = DatabaseUrl::parse)]
    pub database_url: Option<DatabaseUrl>,
}

impl PlaceArgs {
    /// Returns the settings with these servers in place of those of the library of the server.
    pub fn apply(&self, settings: Settings) -> Settings {
        let mut own = settings;
        own.database.url = self.database_url.clone();
        // The index of the server would be replaced.
        own.vectors.url = self.vectors_url.clone();
        own.vectors.key = own.vectors.key.filter(|_| self.vectors_url.is_some());
        own.vectors.collection = self.collection.clone();
        own
    }

    /// Returns whether the database can search by itself while the index is away.
    pub fn can_lose_index(&self) -> bool {
        self.vectors_url.is_some() && self.database_url.as_ref().is_some_and(DatabaseUrl::is_postgres)
    }
}

/// Returns the collection of these settings; `None` without a Qdrant server. Blocks.
///
/// # Errors
/// [`Failure::NotEvaluated`] when the server does not answer, or has a collection of this name.
pub fn new_collection(settings: &Settings) -> Result<Option<ServerStore>, Failure> {
    let Some(url) = &settings.vectors.url else { return Ok(None) };
    // Nothing is opened with it, so it needs neither an owner nor models.
    let store = index_server(&settings.vectors, url, String::new(), VectorModels::default());
    let store = store.map_err(|error| not_evaluated(&error))?;
    let report = store.inspect().map_err(|error| not_evaluated(&error))?;
    if report.passages.is_none() {
        return Ok(Some(store));
    }
    let found =
        format!("{} exists already; delete it, or pass another name with --collection", store.description());
    Err(Failure::NotEvaluated(found))
}

/// Deletes the collection of an evaluation. Blocks.
///
/// # Errors
/// [`Failure::NotEvaluated`] when the server does not answer.
pub fn delete_collection(store: &ServerStore) -> Result<(), Failure> {
    store.delete_collection().map_err(|error| not_evaluated(&error))
}

fn not_evaluated(error: &IndexError) -> Failure {
    Failure::NotEvaluated(error_chain(error))
}

/// Refuses a database that has tables: its jobs would run, and its texts would be searched. Blocks.
///
/// # Errors
/// [`Failure::NotEvaluated`] when it has; [`Failure::Database`] when it cannot be opened.
pub fn require_empty_database(settings: &Settings) -> Result<(), Failure> {
    if settings.database.url.is_none() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::Runtime)?;
    let is_empty = runtime.block_on(async {
        // Dropped within the runtime, which its connections belong to.
        Ok::<_, Failure>(library_database::connect_existing(settings).await?.is_none())
    })?;
    if is_empty {
        return Ok(());
    }
    let place = settings.database_url().place();
    Err(Failure::NotEvaluated(format!("the database {place} is not empty; create a new one")))
}
