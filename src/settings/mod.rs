//! The settings: config/default.toml, then a file, then the environment. A name that is not in
//! config/default.toml is refused, and all faults are reported at once, before anything starts.

mod address;
mod fault;
mod layers;
mod section;
mod value;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use inference::models::{Catalogue, Model, Purpose};
use serde::Deserialize;
use values::plan::Plans;

use self::layers::{Layers, PREFIX};
use self::value::read_text;
use crate::data_dir::{FILES_FOLDER, database_file};

pub use self::address::{BaseUrl, DatabaseUrl, FilesUrl, HttpUrl, MailUrl, Origin};
pub use self::fault::{Fault, SettingsError};
pub use self::section::{
    Access, Accounts, Activity, Ai, Auth, Chat, Database, Embedding, Feeds, Fetch, Files, Ingest, Log,
    LogFormat, Mail, Mcp, Models, Oauth, Push, Server, Storage, Transcription, Uploads, Vectors,
};
pub use self::value::{CollectionName, LogFilter, Mailbox, Secret};

/// All settings, checked. config/default.toml tells what each means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Folder of the database, the index, the files and the models.
    #[serde(deserialize_with = "read_text")]
    pub data_dir: PathBuf,
    /// Addresses, connections and bodies of the web server.
    pub server: Server,
    /// The database that holds all rows.
    pub database: Database,
    /// The store of the passage index.
    pub vectors: Vectors,
    /// The store of uploaded and exported files.
    pub files: Files,
    /// The transport and the sender of e-mails.
    pub mail: Mail,
    /// Limits of requests for saved pages, files and feeds.
    pub fetch: Fetch,
    /// Subscriptions to feeds that users follow.
    pub feeds: Feeds,
    /// The external models and their token allowance.
    pub ai: Ai,
    /// The files of the local models.
    pub models: Models,
    /// Sign-up, and the plan of new accounts.
    pub accounts: Accounts,
    /// The limit of failed authentications.
    pub auth: Auth,
    /// Registration and tokens of assistants.
    pub oauth: Oauth,
    /// Limits of uploads and of import files.
    pub uploads: Uploads,
    /// The disks of the database and the index.
    pub storage: Storage,
    /// The retention of the activity view.
    pub activity: Activity,
    /// The origins that may use the MCP server.
    pub mcp: Mcp,
    /// Numbers of jobs that run at the same time.
    pub ingest: Ingest,
    /// Format and level of the log.
    pub log: Log,
    /// The limits of each plan.
    pub plans: Plans,
}

impl Settings {
    /// Reads the settings: the built-in defaults, over them `config`, over that the variables of `env` that begin
    /// with `CARREL__`; others are left alone.
    ///
    /// # Errors
    /// [`SettingsError`] for a file that cannot be read or is not valid TOML, or else for every unknown name and every wrong value at
    /// once.
    pub fn load(
        config: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut layers = Layers::built_in()?;
        if let Some(path) = config {
            layers.file(path)?;
        }
        layers.environment(env);
        let settings: Self = layers.read()?;
        settings.check_together()?;
        Ok(settings)
    }

    /// The variables of this process that `load` looks at. A value that is not UTF-8 has replacement characters, so
    /// that it is reported as wrong instead of ignored.
    pub fn environment() -> impl Iterator<Item = (String, String)> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
    }

    /// The address under which the world sees the server, where it listens on `bound`. Without a setting, that is
    /// `bound` itself, or the loopback when the server listens on every address.
    pub fn base_url(&self, bound: SocketAddr) -> BaseUrl {
        self.server.base_url.clone().unwrap_or_else(|| BaseUrl::of(bound))
    }

    /// The database: the one that is set, or SQLite in `data_dir`.
    pub fn database_url(&self) -> DatabaseUrl {
        self.database.url.clone().unwrap_or_else(|| DatabaseUrl::sqlite(&database_file(&self.data_dir)))
    }

    /// Where the stored files are: what is set, or a folder in `data_dir`.
    pub fn files_url(&self) -> FilesUrl {
        self.files.url.clone().unwrap_or_else(|| FilesUrl::Folder(self.data_dir.join(FILES_FOLDER)))
    }

    /// The folder of the local models: the one that is set, or `models` in `data_dir`.
    pub fn models_folder(&self) -> PathBuf {
        self.models.dir.clone().unwrap_or_else(|| self.data_dir.join("models"))
    }

    /// Returns the local model for search by meaning; `None` if an endpoint embeds instead.
    pub fn embedding_model(&self) -> Option<&'static Model> {
        let is_local = self.ai.embedding.url.is_none();
        is_local.then(|| find_embedding_model(&self.models.embedding)).flatten()
    }

    /// Returns whether the server uses a local model with these settings.
    pub fn uses_model(&self, model: &Model) -> bool {
        match model.purpose {
            Purpose::Embedding => self.embedding_model().is_some_and(|used| used.name == model.name),
            // An endpoint transcribes instead of the local model.
            Purpose::Speech => !model.optional && self.ai.transcription.url.is_none(),
        }
    }

    /// Returns warnings about settings that are valid but risky; the start logs them.
    pub fn warnings(&self) -> Vec<String> {
        let base = self.base_url(self.server.listen);
        let plain = (!base.is_https() && !base.is_loopback()).then(|| {
            format!(
                "server.base_url is {base}: without https, keys and passwords can be read in transit, and assistants \
                 refuse to sign in (OAuth 2.1, section 1.5)"
            )
        });
        let vectors = self.vectors.url.as_ref().filter(|_| self.vectors.key.is_some());
        let open_key = vectors.filter(|url| url.is_readable_in_transit()).map(|url| {
            let url = url.as_str();
            format!("vectors.url is {url}: without https, vectors.key can be read in transit")
        });
        plain.into_iter().chain(open_key).collect()
    }

    /// Faults that only two settings together show.
    fn check_together(&self) -> Result<(), SettingsError> {
        let mut faults = Vec::new();
        if self.ai.chat.url.is_some() && self.ai.chat.model.is_none() {
            let needed = "the name of a model, because ai.chat.url is set";
            faults.push(Fault::missing("ai.chat.model", needed));
        }
        if self.ai.transcription.url.is_some() && self.ai.transcription.model.is_none() {
            let needed = "the name of a model, because ai.transcription.url is set";
            faults.push(Fault::missing("ai.transcription.model", needed));
        }
        if self.vectors.key.is_some() && self.vectors.url.is_none() {
            faults.push(Fault::missing(
                "vectors.url",
                "the URL of a Qdrant server, because vectors.key is set",
            ));
        }
        let Vectors { replication_factor, write_consistency, .. } = &self.vectors;
        if write_consistency > replication_factor {
            let needed = format!("at most vectors.replication_factor = {replication_factor}");
            faults.push(Fault::refused("vectors.write_consistency", &write_consistency.to_string(), &needed));
        }
        if self.ai.embedding.url.is_some() && self.ai.embedding.model.is_none() {
            let needed = "the name of a model, because ai.embedding.url is set";
            faults.push(Fault::missing("ai.embedding.model", needed));
        }
        if find_embedding_model(&self.models.embedding).is_none() {
            let models = Catalogue::built_in().for_purpose(Purpose::Embedding);
            let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
            let needed = format!("one of {}", names.join(", "));
            faults.push(Fault::refused("models.embedding", &self.models.embedding, &needed));
        }
        if let Some(metrics) = self.server.metrics_listen
            && is_same_listener(self.server.listen, metrics)
        {
            let needed = format!("an address and port other than server.listen = {}", self.server.listen);
            faults.push(Fault::refused("server.metrics_listen", &metrics.to_string(), &needed));
        }
        if faults.is_empty() { Ok(()) } else { Err(SettingsError::Wrong(faults)) }
    }
}

fn find_embedding_model(name: &str) -> Option<&'static Model> {
    Catalogue::built_in().get(name).filter(|model| model.purpose == Purpose::Embedding)
}

/// Returns whether two listeners exclude each other. Port 0 selects a free port for each.
fn is_same_listener(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = |address: SocketAddr| address.ip().is_unspecified();
    let overlap =
        one.ip() == other.ip() || one.is_ipv4() == other.is_ipv4() && (is_any(one) || is_any(other));
    one.port() != 0 && one.port() == other.port() && overlap
}

#[cfg(test)]
mod tests;
