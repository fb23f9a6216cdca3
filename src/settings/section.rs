//! One struct a section of config/default.toml, where the meaning, the unit and the bounds of each setting stand.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use entity::plan::Plan;
use ipnet::IpNet;
use serde::Deserialize;

use super::address::{BaseUrl, DatabaseUrl, FilesUrl, HttpUrl, MailUrl, Origin};
use super::value::{LogFilter, Mailbox, Secret, days, list, optional, seconds, text, whole};

/// 1 GiB: the most that a body or a page may be allowed to have.
const GIB: u64 = 1 << 30;

/// `server`: the web server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on; port 0 takes a free one.
    #[serde(deserialize_with = "text")]
    pub listen: SocketAddr,
    /// Address under which the world sees the service; see `Settings::base_url` for none.
    #[serde(deserialize_with = "optional")]
    pub base_url: Option<BaseUrl>,
    /// A separate address for /metrics.
    #[serde(deserialize_with = "optional")]
    pub metrics_listen: Option<SocketAddr>,
    /// Proxies whose `X-Forwarded-For` is believed.
    #[serde(deserialize_with = "list")]
    pub trusted_proxies: Vec<IpNet>,
    /// Open connections of one address that is no trusted proxy; never more than a quarter of all that there may be.
    #[serde(deserialize_with = "whole::<_, usize, 1, 1_000_000>")]
    pub max_connections_per_address: usize,
    /// A connection is closed if its peer blocks writing for longer, or delays an answer by more at the minimum rate.
    #[serde(rename = "write_timeout_seconds", deserialize_with = "seconds::<_, 1, 3600>")]
    pub write_timeout: Duration,
    /// A larger JSON body is refused.
    #[serde(deserialize_with = "whole::<_, usize, 1024, GIB>")]
    pub max_body_bytes: usize,
    /// Time that a body may take in addition to its length at the least rate.
    #[serde(rename = "body_grace_seconds", deserialize_with = "seconds::<_, 1, 600>")]
    pub body_grace: Duration,
}

/// `database`: where the rows are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The database; see `Settings::database_url` for none. On PostgreSQL a service opens at most 32 connections to it.
    #[serde(deserialize_with = "optional")]
    pub url: Option<DatabaseUrl>,
}

/// `vectors`: where the index is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// A Qdrant server; none is the embedded index.
    #[serde(deserialize_with = "optional")]
    pub url: Option<HttpUrl>,
}

/// `files`: where the stored files are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// A folder or a bucket; see `Settings::files_url` for none.
    #[serde(deserialize_with = "optional")]
    pub url: Option<FilesUrl>,
    /// Of a store that speaks S3 and is not Amazon's.
    #[serde(deserialize_with = "optional")]
    pub endpoint: Option<HttpUrl>,
    /// The bucket's region.
    #[serde(deserialize_with = "optional")]
    pub region: Option<String>,
    /// Who signs; none looks in the environment and in the machine's own credentials.
    #[serde(deserialize_with = "optional")]
    pub access_key: Option<Secret>,
    /// With what.
    #[serde(deserialize_with = "optional")]
    pub secret_key: Option<Secret>,
}

/// `mail`: how letters leave.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// A mail server or a folder; none sends nothing.
    #[serde(deserialize_with = "optional")]
    pub url: Option<MailUrl>,
    /// Sender of the notices.
    #[serde(deserialize_with = "text")]
    pub from: Mailbox,
}

/// `fetch`: fetching saved pages and feeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Networks that may be fetched although they are private.
    #[serde(deserialize_with = "list")]
    pub allow_private: Vec<IpNet>,
    /// A fetch that takes longer fails.
    #[serde(rename = "timeout_seconds", deserialize_with = "seconds::<_, 1, 600>")]
    pub timeout: Duration,
    /// A page that is larger after decompression fails.
    #[serde(deserialize_with = "whole::<_, u64, 1024, GIB>")]
    pub max_bytes: u64,
    /// A saved PDF, audio or video that takes longer fails.
    #[serde(rename = "file_timeout_seconds", deserialize_with = "seconds::<_, 1, 86400>")]
    pub file_timeout: Duration,
    /// A saved PDF, audio or video that is larger fails.
    #[serde(deserialize_with = "whole::<_, u64, 1024, { 1024 * GIB }>")]
    pub max_file_bytes: u64,
}

/// `feeds`: following feeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feeds {
    /// Whether hubs are asked to say when there is something new.
    pub push: Push,
}

/// Whether something is done that others have to reach this service for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Push {
    /// Where the base address is https.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// `ai`: the outside model and its allowance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ai {
    /// Tokens of all users in a UTC day before AI pauses; 0 is no limit.
    #[serde(deserialize_with = "whole::<_, u64, 0, { i64::MAX as u64 }>")]
    pub daily_tokens: u64,
    /// The outside model.
    pub chat: Chat,
    /// The outside ear.
    pub transcription: Transcription,
}

/// `ai.chat`: an OpenAI-compatible endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// Base to which `/chat/completions` is added.
    #[serde(deserialize_with = "optional")]
    pub url: Option<HttpUrl>,
    /// Name of the model that is asked for; there whenever `url` is.
    #[serde(deserialize_with = "optional")]
    pub model: Option<String>,
    /// Sent as `Authorization: Bearer`.
    #[serde(deserialize_with = "optional")]
    pub key: Option<Secret>,
}

/// `ai.transcription`: an OpenAI-compatible endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcription {
    /// Base to which `/audio/transcriptions` is added.
    #[serde(deserialize_with = "optional")]
    pub url: Option<HttpUrl>,
    /// Name of the model that is asked for; there whenever `url` is.
    #[serde(deserialize_with = "optional")]
    pub model: Option<String>,
    /// Sent as `Authorization: Bearer`.
    #[serde(deserialize_with = "optional")]
    pub key: Option<Secret>,
}

/// `models`: the local models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// Their folder; see `Settings::model_folders`.
    #[serde(deserialize_with = "optional")]
    pub dir: Option<PathBuf>,
    /// Whether missing ones are fetched in the background at the start.
    pub auto: bool,
}

/// Whether clients without an account may create something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// No.
    Closed,
    /// Yes.
    Open,
}

/// `accounts`: making accounts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    /// Whether anyone may make an account.
    pub signup: Access,
    /// Plan of an account that signed up.
    pub default_plan: Plan,
}

/// `auth`: failed authentications.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Failures of one address in a minute before it has to wait.
    #[serde(deserialize_with = "whole::<_, u32, 1, 1_000_000>")]
    pub failures_per_minute: u32,
}

/// `oauth`: assistants that sign in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth {
    /// Whether assistants may register themselves.
    pub registration: Access,
    /// Whether an assistant may be named by the address of a document about itself.
    pub client_metadata_documents: bool,
    /// Registrations of one address in an hour.
    #[serde(deserialize_with = "whole::<_, u32, 1, 1_000_000>")]
    pub registrations_per_hour: u32,
    /// Life of an authorization code.
    #[serde(rename = "code_seconds", deserialize_with = "seconds::<_, 1, 600>")]
    pub code: Duration,
    /// Life of an access token.
    #[serde(rename = "access_token_seconds", deserialize_with = "seconds::<_, 1, 86_400>")]
    pub access_token: Duration,
    /// A client unused for longer is removed; zero: at the next clean-up.
    #[serde(rename = "unused_client_days", deserialize_with = "days")]
    pub unused_client: Duration,
    /// Whether a registered loopback address by number is taken with any port.
    pub any_loopback_port: bool,
    /// Addresses with a scheme of an application's own that may be registered.
    #[serde(deserialize_with = "list")]
    pub private_redirect_uris: Vec<String>,
}

/// `uploads`: uploads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uploads {
    /// Life of the address that an upload is sent to.
    #[serde(rename = "put_seconds", deserialize_with = "seconds::<_, 1, 604_800>")]
    pub put: Duration,
    /// The longest file of an import.
    #[serde(deserialize_with = "whole::<_, u64, 1_048_576, { 1024 * GIB }>")]
    pub import_bytes: u64,
}

/// `storage`: the disks of the database, the index and the files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Space in bytes that stays free: below it, requests that add data are refused. Zero: no floor.
    #[serde(deserialize_with = "whole::<_, u64, 0, { 1024 * GIB }>")]
    pub min_free_bytes: u64,
}

/// `activity`: the activity view.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// What is older is removed; zero: at the next clean-up.
    #[serde(rename = "retention_days", deserialize_with = "days")]
    pub retention: Duration,
}

/// `mcp`: the MCP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// Origins, besides that of the base address, whose pages may call /mcp.
    #[serde(deserialize_with = "list")]
    pub allowed_origins: Vec<Origin>,
}

/// `ingest`: background work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Jobs that are worked on at the same time, besides fetches.
    #[serde(deserialize_with = "whole::<_, usize, 1, 64>")]
    pub workers: usize,
    /// Pages that are fetched at the same time.
    #[serde(deserialize_with = "whole::<_, usize, 1, 64>")]
    pub fetches: usize,
    /// PDFs that are read at the same time.
    #[serde(deserialize_with = "whole::<_, usize, 1, 64>")]
    pub files: usize,
}

/// `log`: the log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The format of the lines.
    pub format: LogFormat,
    /// What is written.
    #[serde(deserialize_with = "text")]
    pub level: LogFilter,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines of text.
    Text,
    /// One JSON object a line.
    Json,
}
