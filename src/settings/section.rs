//! One struct for each section of config/default.toml, which describes the meaning, the unit and the bounds of each setting.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Deserialize;
use values::plan::Plan;

use super::address::{BaseUrl, DatabaseUrl, FilesUrl, HttpUrl, MailUrl, Origin};
use super::value::{
    CollectionName, LogFilter, Mailbox, Secret, read_days, read_integer, read_list, read_milliseconds,
    read_optional, read_seconds, read_text, read_verbatim,
};

/// 1 GiB, the upper bound of the length limits of bodies and pages.
const GIB: u64 = 1 << 30;

/// Section `server`: addresses, connections and bodies of the web server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on; port 0 selects a free one.
    #[serde(deserialize_with = "read_text")]
    pub listen: SocketAddr,
    /// URL under which clients reach the server. `Settings::base_url` has the default.
    #[serde(deserialize_with = "read_optional")]
    pub base_url: Option<BaseUrl>,
    /// Separate address for /metrics; `None` serves it on the main address.
    #[serde(deserialize_with = "read_optional")]
    pub metrics_listen: Option<SocketAddr>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    #[serde(deserialize_with = "read_list")]
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum number of open connections of one IP address that is not a trusted proxy. The effective maximum is never more than a
    /// quarter of all connections that the process may have.
    #[serde(deserialize_with = "read_integer::<_, usize, 1, 1_000_000>")]
    pub max_connections_per_address: usize,
    /// A connection is closed if its client blocks writing for longer, or delays a response by more at the minimum rate.
    #[serde(rename = "write_timeout_seconds", deserialize_with = "read_seconds::<_, 1, 3600>")]
    pub write_timeout: Duration,
    /// A larger JSON body is refused.
    #[serde(deserialize_with = "read_integer::<_, usize, 1024, GIB>")]
    pub max_body_bytes: usize,
    /// Time allowed for a body in addition to its length at the minimum rate.
    #[serde(rename = "body_grace_seconds", deserialize_with = "read_seconds::<_, 1, 600>")]
    pub body_grace: Duration,
}

/// Section `database`: the database that holds all rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The database; `Settings::database_url` has the default. On PostgreSQL a server opens at most 32 connections to it.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<DatabaseUrl>,
}

/// Section `vectors`: the store of the passage index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// URL of a Qdrant server or cluster, which all servers on the database share; `None` for the embedded index in `data_dir`.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<HttpUrl>,
    /// Key that is sent as `api-key`; `None` sends none.
    #[serde(deserialize_with = "read_optional")]
    pub key: Option<Secret>,
    /// Name of the collection, which belongs to this database alone.
    #[serde(deserialize_with = "read_text")]
    pub collection: CollectionName,
    /// Longest time that a search waits for the server.
    #[serde(rename = "timeout_ms", deserialize_with = "read_milliseconds::<_, 100, 10_000>")]
    pub timeout: Duration,
    /// Shards of a new collection.
    #[serde(deserialize_with = "read_integer::<_, u32, 1, 1000>")]
    pub shards: u32,
    /// Copies of each shard of a new collection.
    #[serde(deserialize_with = "read_integer::<_, u32, 1, 100>")]
    pub replication_factor: u32,
    /// Copies that must have a write before it counts, of a new collection; at most `replication_factor`.
    #[serde(deserialize_with = "read_integer::<_, u32, 1, 100>")]
    pub write_consistency: u32,
}

/// Section `files`: the store of uploaded and exported files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// A folder or a bucket; `Settings::files_url` has the default.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<FilesUrl>,
    /// URL of an S3-compatible store other than Amazon S3.
    #[serde(deserialize_with = "read_optional")]
    pub endpoint: Option<HttpUrl>,
    /// Region that the bucket belongs to.
    #[serde(deserialize_with = "read_optional")]
    pub region: Option<String>,
    /// Access key id that signs the requests; `None` uses the environment or the machine's credentials.
    #[serde(deserialize_with = "read_optional")]
    pub access_key: Option<Secret>,
    /// Secret of the access key.
    #[serde(deserialize_with = "read_optional")]
    pub secret_key: Option<Secret>,
}

/// Section `mail`: the transport and the sender of e-mails.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// A mail server or a folder; `None` sends no e-mails.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<MailUrl>,
    /// Mailbox that all e-mails are sent from.
    #[serde(deserialize_with = "read_text")]
    pub from: Mailbox,
}

/// Section `fetch`: limits of requests for saved pages, files and feeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Private networks from which pages may be fetched.
    #[serde(deserialize_with = "read_list")]
    pub allow_private: Vec<IpNet>,
    /// A fetch that takes longer fails.
    #[serde(rename = "timeout_seconds", deserialize_with = "read_seconds::<_, 1, 600>")]
    pub timeout: Duration,
    /// A page that is larger after decompression fails.
    #[serde(deserialize_with = "read_integer::<_, u64, 1024, GIB>")]
    pub max_bytes: u64,
    /// A saved PDF, audio or video that takes longer fails.
    #[serde(rename = "file_timeout_seconds", deserialize_with = "read_seconds::<_, 1, 86400>")]
    pub file_timeout: Duration,
    /// A saved PDF, audio or video that is larger fails.
    #[serde(deserialize_with = "read_integer::<_, u64, 1024, { 1024 * GIB }>")]
    pub max_file_bytes: u64,
}

/// Section `feeds`: subscriptions to feeds that users follow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feeds {
    /// Whether the server subscribes to hubs, which push new entries (WebSub).
    pub push: Push,
}

/// The rule for subscriptions to hubs, which must be able to reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Push {
    /// It does if the base URL is https.
    Auto,
    /// It always does, whatever the base URL is.
    Always,
    /// It never does; feeds are only polled.
    Never,
}

/// Section `ai`: the external models and their token allowance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ai {
    /// Tokens of all users in a UTC day before AI is paused; 0 means no limit.
    #[serde(deserialize_with = "read_integer::<_, u64, 0, { i64::MAX as u64 }>")]
    pub daily_tokens: u64,
    /// The external model that answers questions.
    pub chat: Chat,
    /// The external model that transcribes recordings.
    pub transcription: Transcription,
    /// The external model for search by meaning.
    pub embedding: Embedding,
}

/// Section `ai.chat`: an OpenAI-compatible endpoint that answers questions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// Base URL, to which `/chat/completions` is appended.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<HttpUrl>,
    /// Name of the model to request; set whenever `url` is.
    #[serde(deserialize_with = "read_optional")]
    pub model: Option<String>,
    /// Key that is sent as `Authorization: Bearer`; `None` sends no such header.
    #[serde(deserialize_with = "read_optional")]
    pub key: Option<Secret>,
}

/// Section `ai.transcription`: an OpenAI-compatible endpoint that transcribes recordings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcription {
    /// Base URL, to which `/audio/transcriptions` is appended.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<HttpUrl>,
    /// Name of the model to request; set whenever `url` is.
    #[serde(deserialize_with = "read_optional")]
    pub model: Option<String>,
    /// Key that is sent as `Authorization: Bearer`; `None` sends no such header.
    #[serde(deserialize_with = "read_optional")]
    pub key: Option<Secret>,
}

/// Section `ai.embedding`: an OpenAI-compatible endpoint that embeds passages and queries for search by meaning.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// Base URL, to which `/embeddings` is appended; `None` embeds with the local model.
    #[serde(deserialize_with = "read_optional")]
    pub url: Option<HttpUrl>,
    /// What tells the service from others, whatever its URL is; `None` if its URL does.
    #[serde(deserialize_with = "read_optional")]
    pub identity: Option<String>,
    /// Name of the model to request; set whenever `url` is.
    #[serde(deserialize_with = "read_optional")]
    pub model: Option<String>,
    /// Key that is sent as `Authorization: Bearer`; `None` sends no such header.
    #[serde(deserialize_with = "read_optional")]
    pub key: Option<Secret>,
    /// Length of the vectors to request; 0 requests none and takes the vectors as they come.
    #[serde(deserialize_with = "read_integer::<_, usize, 0, 8192>")]
    pub dimensions: usize,
    /// Prepended to each query, as the model needs it.
    #[serde(deserialize_with = "read_verbatim")]
    pub query_prefix: String,
    /// Prepended to each passage, as the model needs it.
    #[serde(deserialize_with = "read_verbatim")]
    pub passage_prefix: String,
}

/// Section `models`: the files of the local models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// Folder of the models; `Settings::models_folder` has the default.
    #[serde(deserialize_with = "read_optional")]
    pub dir: Option<PathBuf>,
    /// Whether missing models are downloaded in the background at the start.
    pub auto: bool,
    /// Name of the local model for search by meaning, which is one of the catalogue.
    #[serde(deserialize_with = "read_text")]
    pub embedding: String,
}

/// The rule for clients without an account that create an account or a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// They may not: their requests are refused.
    Closed,
    /// They may, without an operator.
    Open,
}

/// Section `accounts`: sign-up, and the plan of new accounts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    /// Whether sign-up is possible without an operator.
    pub signup: Access,
    /// Plan of accounts created by sign-up.
    pub default_plan: Plan,
}

/// Section `auth`: the limit of failed authentications.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Failures of one IP address in a minute before further attempts are refused.
    #[serde(deserialize_with = "read_integer::<_, u32, 1, 1_000_000>")]
    pub failures_per_minute: u32,
}

/// Section `oauth`: registration and tokens of assistants.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth {
    /// Whether assistants may register themselves.
    pub registration: Access,
    /// Whether an assistant may use the URL of a document about itself as its client id.
    pub client_metadata_documents: bool,
    /// Registrations from one IP address in an hour.
    #[serde(deserialize_with = "read_integer::<_, u32, 1, 1_000_000>")]
    pub registrations_per_hour: u32,
    /// Lifetime of an authorization code.
    #[serde(rename = "code_seconds", deserialize_with = "read_seconds::<_, 1, 600>")]
    pub code_lifetime: Duration,
    /// Lifetime of an access token.
    #[serde(rename = "access_token_seconds", deserialize_with = "read_seconds::<_, 1, 86_400>")]
    pub access_lifetime: Duration,
    /// A client that has not been used for longer is removed; zero: at the next clean-up.
    #[serde(rename = "unused_client_days", deserialize_with = "read_days")]
    pub unused_client_lifetime: Duration,
    /// Whether a registered redirect URI with a loopback IP address is accepted with any port.
    pub any_loopback_port: bool,
    /// Redirect URIs with a private scheme that may be registered.
    #[serde(deserialize_with = "read_list")]
    pub private_redirect_uris: Vec<String>,
}

/// Section `uploads`: limits of uploads and of import files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uploads {
    /// Lifetime of the URL that an upload is sent to.
    #[serde(rename = "put_seconds", deserialize_with = "read_seconds::<_, 1, 604_800>")]
    pub put_url_lifetime: Duration,
    /// Maximum length of an import file, in bytes.
    #[serde(deserialize_with = "read_integer::<_, u64, 1_048_576, { 1024 * GIB }>")]
    pub import_bytes: u64,
}

/// Section `storage`: the disks of the database, the index and the files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Space in bytes that stays free: below it, requests that add data are refused. Zero: no floor.
    #[serde(deserialize_with = "read_integer::<_, u64, 0, { 1024 * GIB }>")]
    pub min_free_bytes: u64,
}

/// Section `activity`: the retention of the activity view.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// Entries older than this are removed; zero: at the next clean-up.
    #[serde(rename = "retention_days", deserialize_with = "read_days")]
    pub retention: Duration,
}

/// Section `mcp`: the origins that may use the MCP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// Origins, in addition to that of the base URL, whose pages may call /mcp.
    #[serde(deserialize_with = "read_list")]
    pub allowed_origins: Vec<Origin>,
}

/// Section `ingest`: numbers of jobs that run at the same time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// Jobs on stored data that run at the same time.
    #[serde(rename = "workers", deserialize_with = "read_integer::<_, usize, 1, 64>")]
    pub library: usize,
    /// Pages that are fetched at the same time, and other jobs that use the network.
    #[serde(rename = "fetches", deserialize_with = "read_integer::<_, usize, 1, 64>")]
    pub web: usize,
    /// PDFs that are parsed at the same time.
    #[serde(deserialize_with = "read_integer::<_, usize, 1, 64>")]
    pub files: usize,
}

/// Section `log`: format and level of the log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The format of the lines.
    pub format: LogFormat,
    /// Filter that selects the lines by level and module.
    #[serde(deserialize_with = "read_text")]
    pub level: LogFilter,
}

/// The format of the lines of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per event, each on its line.
    Json,
}
