//! The storage of a server: a folder, and on PostgreSQL a database. Both are deleted on drop.

use std::path::{Path, PathBuf};

use sea_orm::{ConnectionTrait, Database};
use tempfile::TempDir;
use uuid::Uuid;

/// The home folder of servers, with their database.
pub struct Home {
    folder: TempDir,
    database: Option<OwnDatabase>,
}

impl Home {
    /// Creates an empty home on the database that the run selects.
    pub async fn new() -> Self {
        let database = match std::env::var("CARREL_TEST_POSTGRES") {
            Ok(server) => Some(OwnDatabase::create(server).await),
            Err(_) => None,
        };
        Self { folder: tempfile::tempdir().unwrap(), database }
    }

    /// The path of a file or folder in the home.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The settings of a server whose data folder has this name in the home.
    pub fn settings(&self, name: &str) -> Vec<(String, String)> {
        let set = |name: &str, value: &str| (format!("CARREL__{name}"), value.to_owned());
        vec![
            set("DATA_DIR", self.path(name).to_str().unwrap()),
            set("DATABASE__URL", &self.database_url()),
            set("SERVER__LISTEN", "127.0.0.1:0"),
            // The web sites of the tests. All other private addresses stay forbidden, as in production.
            set("FETCH__ALLOW_PRIVATE", "127.0.0.1/32"),
        ]
    }

    /// The URL of the database.
    pub fn database_url(&self) -> String {
        match &self.database {
            Some(database) => database.url(),
            None => format!("sqlite:{}?mode=rwc", self.path("rows.db").display()),
        }
    }

    /// The file of the SQLite database; `None` on PostgreSQL.
    pub fn database_file(&self) -> Option<String> {
        self.database.is_none().then(|| self.path("rows.db").display().to_string())
    }

    /// The folder of the home.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns whether the run selects PostgreSQL. Otherwise prints why the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test reports that it was skipped")]
pub fn has_postgres(needed_because: &str) -> bool {
    let is_selected = std::env::var_os("CARREL_TEST_POSTGRES").is_some();
    if !is_selected {
        eprintln!(
            "SKIPPED: {needed_because}, and CARREL_TEST_POSTGRES is not set: run it under .ci/postgres"
        );
    }
    is_selected
}

/// Returns every file below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns whether the bytes contain this ASCII word.
pub fn holds(bytes: &[u8], word: &str) -> bool {
    // The mapped files of an index have 150 MB, mostly zeros, and tests are not optimised: comparing at each offset takes four
    // seconds. The search in a string skips most offsets, and the lossy conversion does not change ASCII.
    String::from_utf8_lossy(bytes).split_once(word).is_some()
}

struct OwnDatabase {
    server: String,
    name: String,
}

impl OwnDatabase {
    async fn create(server: String) -> Self {
        let name = format!("carrel_{}", Uuid::now_v7().simple());
        run(&server, &format!("CREATE DATABASE {name}")).await;
        Self { server, name }
    }

    fn url(&self) -> String {
        let (server, _) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        // FORCE ends the connections that a killed server has left.
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let server = self.server.clone();
        // Drop cannot await in the runtime of the test, so the statement runs in a thread with its own runtime.
        let dropped = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(run(&server, &drop));
        });
        let _ = dropped.join();
    }
}

async fn run(server: &str, statement: &str) {
    let connection = Database::connect(server).await.unwrap();
    connection.execute_unprepared(statement).await.unwrap();
    connection.close().await.unwrap();
}
