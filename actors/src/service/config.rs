//! What the server is started with, and where its folders are.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use disk::{DiskSpace, Scratch};
use inference::transcriber::EndpointSettings;
use jobs::LeaseOwner;
use sandbox::{SandboxCommand, SandboxSettings};
use search::index::InitialIndex;
use storage::blobs::BlobStore;
use storage::mail::Mailer;
use values::plan::Plan;
use web::FetchSettings;

use crate::answerer::ChatSettings;
use crate::auth::grants::GrantSettings;
use crate::worker::ConcurrencyLimits;

/// The settings and opened resources that the server is started with, apart from its [core](library::context::CoreContext).
pub struct ServiceConfig {
    /// Access to the web, to child processes, to stored files and to the transcriber.
    pub adapters: AdapterConfig,
    /// Settings of sign-up, failed authentications and the answers of the AI.
    pub operations: OperationSettings,
    /// The passage index, opened before; without one, searches are refused until its disk has space.
    pub index: InitialIndex,
    /// How long entries of the activity view are kept.
    pub activity_retention: Duration,
    /// Lifetimes and rules of OAuth grants.
    pub grants: GrantSettings,
    /// Jobs that run at the same time.
    pub concurrency: ConcurrencyLimits,
    /// The owner under whose name this process claims jobs.
    pub lease_owner: LeaseOwner,
    /// The sender of e-mail; `None` sends none.
    pub mail: Option<Mailer>,
    /// The free-space floor of the disks.
    pub disk: DiskSpace,
}

/// The settings and opened resources of the adapters to the outside: operations and background work share them.
pub struct AdapterConfig {
    /// Settings of the HTTP client that fetches pages, files and feeds.
    pub fetch: FetchSettings,
    /// The command that starts child processes which parse foreign bytes.
    pub sandbox: SandboxCommand,
    /// The resources that a child process may use.
    pub sandbox_settings: SandboxSettings,
    /// The store of uploaded, imported and exported files.
    pub blobs: Arc<dyn BlobStore>,
    /// The folder for files that are worked on.
    pub scratch: Scratch,
    /// Lifetime of the URL that an upload is sent to.
    pub put_url_lifetime: Duration,
    /// Bytes of the largest file to import.
    pub import_bytes: u64,
    /// The endpoint that transcribes recordings; `None` for the local model, when it is there.
    pub transcription: Option<EndpointSettings>,
    /// Whether hubs of feeds can reach this server.
    pub feed_push: bool,
}

/// Settings that only operations use.
pub struct OperationSettings {
    /// Failed authentications of an IP address within a minute, beyond which further failures are answered with 429.
    pub auth_failures_per_minute: u32,
    /// The plan of new accounts; `None` if sign-up is closed.
    pub signup: Option<Plan>,
    /// The endpoint that answers questions; `None` for the embedded answerer.
    pub chat: Option<ChatSettings>,
    /// Whether e-mail is sent, so that users can request links to set a new password.
    pub has_mailer: bool,
    /// Tokens of all users in a UTC day before AI is paused; 0 means no limit.
    pub daily_tokens: u64,
}

/// Returns the folder for files that are worked on.
pub fn scratch_folder(data_dir: &Path) -> PathBuf {
    data_dir.join("scratch")
}
