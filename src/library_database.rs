//! Opens the database that the settings name.
//!
//! If `data_dir` holds a library, a database that is missing or empty was lost, and is not replaced by a new one: with an empty database
//! the server would empty the index, and any client could create the first account. Only `carrel migrate` creates one there.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use database::{Db, OpenError};
use search::index::IndexFolder;

use crate::data_dir::FILES_FOLDER;
use crate::settings::{FilesUrl, Settings};

/// A database that is missing or empty, although `data_dir` holds a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDatabase {
    /// Its file, or its name and host.
    place: String,
    /// How it was lost: `missing` or `empty`.
    state: &'static str,
    data_dir: PathBuf,
    /// The parts of a library that are in `data_dir`.
    contents: Vec<&'static str>,
}

impl LostDatabase {
    /// The advice to the operator about a lost database.
    pub const ADVICE: &'static str =
        "restore the database, or, to start a new library with this data_dir, run `carrel migrate` first";

    /// Describes the fault, without the advice.
    pub fn finding(&self) -> String {
        let Self { place, state, data_dir, contents } = self;
        let (data_dir, contents) = (data_dir.display(), contents.join(", "));
        format!("the database {place} is {state}, but data_dir {data_dir} holds a library ({contents})")
    }
}

impl fmt::Display for LostDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.finding(), Self::ADVICE)
    }
}

impl std::error::Error for LostDatabase {}

/// Why a database could not be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The database is missing or empty, although `data_dir` holds a library.
    #[error(transparent)]
    Lost(#[from] LostDatabase),
    /// It cannot be reached or read.
    #[error(
        "could not open the database {place} (setting {setting}): {cause}{}",
        .advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default()
    )]
    Open {
        /// Its file, or its name and host; never the password.
        place: String,
        /// The setting that says where it is: `database.url` or `data_dir`.
        setting: &'static str,
        /// The error of the database, the driver or the operating system.
        #[source]
        cause: OpenError,
        /// What the operator can do, if no connection was made and the cause does not say it.
        advice: Option<String>,
    },
}

impl ConnectError {
    /// Returns the error of a database that could not be opened.
    pub fn unopened(settings: &Settings, cause: impl Into<OpenError>) -> Self {
        Self::open(settings, cause.into(), None)
    }

    /// Returns the error of a database to which no connection was made.
    fn unconnected(settings: &Settings, cause: impl Into<OpenError>) -> Self {
        let cause = cause.into();
        let advice = matches!(cause, OpenError::Database(_)).then(|| access_advice(settings));
        Self::open(settings, cause, advice)
    }

    fn open(settings: &Settings, cause: OpenError, advice: Option<String>) -> Self {
        let (place, setting) = (settings.database_url().place(), setting_of_database(settings));
        Self::Open { place, setting, cause, advice }
    }
}

/// Returns the advice for a database that cannot be reached or read.
pub fn access_advice(settings: &Settings) -> String {
    match settings.database_url().sqlite_file() {
        Some(file) => format!(
            "make sure that the user that runs the server may read and write {0} and its folder, and that no other process has locked it \
             (`fuser {0}` lists the processes that have it open)",
            file.display()
        ),
        None => {
            "make sure that PostgreSQL is running, and that database.url has its address, user and password"
                .to_owned()
        }
    }
}

/// Returns the setting that says where the database is.
pub fn setting_of_database(settings: &Settings) -> &'static str {
    if settings.database.url.is_some() { "database.url" } else { "data_dir" }
}

/// Connects to the database and leaves its tables as they are. A missing SQLite database is created, unless it was lost.
///
/// # Errors
/// [`ConnectError::Lost`] when the database was lost; [`ConnectError::Open`] when it cannot be opened.
pub async fn connect(settings: &Settings) -> Result<Db, ConnectError> {
    require_file(settings)?;
    let db = connect_to_any(settings).await?;
    // PostgreSQL has no file to look at, so the tables decide.
    if !has_library(settings, &db).await? {
        fail_if_lost(settings, "empty")?;
    }
    Ok(db)
}

/// Connects to a database that was created before, and leaves its tables as they are. Returns `None`, and creates nothing, where
/// there is none: no file, an empty one, or no tables of this server.
///
/// # Errors
/// [`ConnectError::Lost`] when the database was lost; [`ConnectError::Open`] when it cannot be opened.
pub async fn connect_existing(settings: &Settings) -> Result<Option<Db>, ConnectError> {
    require_file(settings)?;
    if is_new(settings) {
        return Ok(None);
    }
    let db = connect_to_any(settings).await?;
    if has_library(settings, &db).await? {
        return Ok(Some(db));
    }
    fail_if_lost(settings, "empty")?;
    db.close().await.map_err(|cause| ConnectError::unopened(settings, cause))?;
    Ok(None)
}

async fn connect_to_any(settings: &Settings) -> Result<Db, ConnectError> {
    let connected = Db::connect(settings.database_url().expose()).await;
    connected.map_err(|cause| ConnectError::unconnected(settings, cause))
}

/// Returns whether the database has tables of this server. One in memory is empty at each start, so it counts as one that has.
async fn has_library(settings: &Settings, db: &Db) -> Result<bool, ConnectError> {
    let url = settings.database_url();
    if !url.is_postgres() && url.sqlite_file().is_none() {
        return Ok(true);
    }
    db.has_tables().await.map_err(|cause| ConnectError::unopened(settings, cause))
}

/// Connects to the database for the server, checks it, and brings its tables up to date.
///
/// # Errors
/// The errors of [`connect`]; [`ConnectError::Open`] also when the database is damaged, or its tables cannot be brought up to date.
pub async fn open_for_service(settings: &Settings) -> Result<Db, ConnectError> {
    let db = connect(settings).await?;
    db.prepare().await.map_err(|cause| ConnectError::unopened(settings, cause))?;
    Ok(db)
}

/// Fails if the file of an SQLite database was lost.
///
/// # Errors
/// [`LostDatabase`] when the file is missing or has no bytes, and `data_dir` holds a library.
pub fn require_file(settings: &Settings) -> Result<(), LostDatabase> {
    // Must run before SQLite opens the file: SQLite removes the write-ahead log of an empty one.
    let Some(file) = settings.database_url().sqlite_file() else { return Ok(()) };
    match fs::metadata(&file) {
        Ok(found) if found.len() == 0 => fail_if_lost(settings, "empty"),
        Err(error) if error.kind() == ErrorKind::NotFound => fail_if_lost(settings, "missing"),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether the database is an SQLite file that nothing has written to yet.
pub fn is_new(settings: &Settings) -> bool {
    let file = settings.database_url().sqlite_file();
    file.is_some_and(|file| match fs::metadata(file) {
        // SQLite creates an empty file when it is opened, before the first write.
        Ok(found) => found.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}

fn fail_if_lost(settings: &Settings, state: &'static str) -> Result<(), LostDatabase> {
    let contents = library_contents(settings);
    if contents.is_empty() {
        return Ok(());
    }
    let (place, data_dir) = (settings.database_url().place(), settings.data_dir.clone());
    Err(LostDatabase { place, state, data_dir, contents })
}

/// Returns the parts of a library that are in `data_dir`; none if it is new.
fn library_contents(settings: &Settings) -> Vec<&'static str> {
    let data_dir = &settings.data_dir;
    let files = match settings.files_url() {
        FilesUrl::Folder(folder) => has_entries(&folder),
        FilesUrl::S3(_) => false,
    };
    let index = has_entries(&IndexFolder::path_in(data_dir));
    // The first start creates the database before `carrel.id` and the index, so one that was interrupted
    // leaves nothing that counts here.
    if !IndexFolder::has_id(data_dir) || !(index || files) {
        return Vec::new();
    }
    let found = [("carrel.id", true), ("index", index), (FILES_FOLDER, files)];
    found.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data folder of a test, with its settings.
    struct Home {
        folder: tempfile::TempDir,
        settings: Settings,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let data_dir = [("CARREL__DATA_DIR".to_owned(), folder.path().to_str().unwrap().to_owned())];
            let settings = Settings::load(None, data_dir.into_iter()).unwrap();
            Self { folder, settings }
        }

        /// Creates a data folder with the files of a server, but without a database.
        fn with_library() -> Self {
            let home = Self::new();
            home.write("carrel.id", "01a211e7-cfa4-7008-ab5a-7d3271c6cb6c");
            home.write("index/segment", "passages");
            home
        }

        fn write(&self, name: &str, content: &str) {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        async fn connect_fails(&self) -> String {
            connect(&self.settings).await.err().unwrap().to_string()
        }
    }

    #[tokio::test]
    async fn missing_database_of_a_library_is_not_created() {
        let home = Home::with_library();

        let message = home.connect_fails().await;

        assert!(message.contains("carrel.db is missing, but data_dir"), "{message}");
        assert!(message.contains("(carrel.id, index)") && message.contains("carrel migrate"), "{message}");
        assert!(!home.folder.path().join("carrel.db").exists());
    }

    #[tokio::test]
    async fn empty_file_of_a_library_keeps_its_log() {
        let home = Home::with_library();
        home.write("files/7f/a", "a file");
        home.write("carrel.db", "");
        home.write("carrel.db-wal", "a log");

        let message = home.connect_fails().await;

        assert!(
            message.contains("carrel.db is empty") && message.contains("(carrel.id, index, files)"),
            "{message}"
        );
        assert_eq!(fs::read_to_string(home.folder.path().join("carrel.db-wal")).unwrap(), "a log");
    }

    #[tokio::test]
    async fn database_without_tables_is_lost_until_it_is_migrated() {
        let home = Home::new();
        connect(&home.settings).await.unwrap().close().await.unwrap();
        home.write("carrel.id", "01a211e7-cfa4-7008-ab5a-7d3271c6cb6c");
        home.write("index/segment", "passages");

        let message = home.connect_fails().await;
        assert!(message.contains("carrel.db is empty"), "{message}");

        Db::open(home.settings.database_url().expose()).await.unwrap().close().await.unwrap();
        open_for_service(&home.settings).await.unwrap().close().await.unwrap();
    }

    #[tokio::test]
    async fn database_is_created_where_the_folder_is_new() {
        let home = Home::new();
        // Files of other commands, and of a first start that was interrupted.
        home.write("models/a", "a model");
        home.write("carrel.lock", "");
        fs::create_dir(home.folder.path().join("index")).unwrap();
        assert!(is_new(&home.settings));

        open_for_service(&home.settings).await.unwrap().close().await.unwrap();

        assert!(!is_new(&home.settings));
    }

    #[tokio::test]
    async fn connecting_to_an_existing_database_creates_none() {
        let home = Home::new();
        assert!(connect_existing(&home.settings).await.unwrap().is_none());
        assert!(!home.folder.path().join("carrel.db").exists());

        connect(&home.settings).await.unwrap().close().await.unwrap();
        assert!(connect_existing(&home.settings).await.unwrap().is_none());

        open_for_service(&home.settings).await.unwrap().close().await.unwrap();
        connect_existing(&home.settings).await.unwrap().unwrap().close().await.unwrap();
    }

    #[tokio::test]
    async fn database_that_cannot_be_opened_is_named_with_its_setting() {
        let home = Home::new();
        fs::create_dir(home.folder.path().join("carrel.db")).unwrap();

        let message = home.connect_fails().await;

        let file = home.folder.path().join("carrel.db");
        let begins = format!("could not open the database {} (setting data_dir): ", file.display());
        assert!(message.starts_with(&begins), "{message}");
    }

    #[test]
    fn place_of_postgres_has_no_password() {
        let set = |name: &str, value: &str| (format!("CARREL__{name}"), value.to_owned());
        let url = set("DATABASE__URL", "postgres://carrel:secret@db.example:5433/rows");
        let settings = Settings::load(None, [url].into_iter()).unwrap();

        assert_eq!(settings.database_url().place(), "rows of PostgreSQL on db.example:5433");
    }
}
