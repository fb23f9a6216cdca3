//! What the service is started with, from its settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::answerer::ChatSettings;
use actors::context::{Setup, index_folder, scratch_folder};
use library::context::CoreContext;
use actors::auth::grants::GrantSettings;
use actors::auth::grants::redirect::RedirectRules;
use actors::worker::Room;
use jobs::LeaseOwner;
use actors::service_state::{self, ServiceStateKey};
use disk::{DiskSpace, Scratch};
use inference::models::Model;
use inference::transcriber::EndpointSettings;
use sandbox::SandboxSettings;
use search::index::edge::VectorModel;
use search::index::{IndexFolder, Marker, OpenedIndex};
use storage::blobs::{BlobStore, FolderStore, S3Settings, S3Store};
use storage::mail::{MailSettings, MailTransport, Mailer};
use web::{FetchSettings, PageUrl};

use super::{Outside, StartError};
use crate::data_dir::private_folder;
use crate::settings::{Access, FilesUrl, MailUrl, Oauth, Push, Secret, Settings};

/// Opens the existing index, or a new one if there is none or it is damaged. Replaying a long log takes minutes. If the caller drops
/// the future meanwhile, it does not count as a crash during opening.
///
/// # Errors
/// It is in use, or cannot be opened for a reason that lies outside of its files; the database fails.
pub async fn open_index(
    settings: &Settings,
    embedding: Option<&Model>,
    core: &CoreContext,
) -> Result<OpenedIndex, StartError> {
    private_folder(&index_folder(&settings.data_dir))?;
    let model = embedding
        .and_then(|model| Some(VectorModel { name: model.name.clone(), dimensions: model.dimensions? }));
    let folder = IndexFolder::new(&settings.data_dir, model, core.clock.now());
    let recorded = service_state::read(core.db.read(), ServiceStateKey::IndexMarker(folder.id())).await?;
    let recorded = recorded.as_deref().and_then(Marker::from_row);
    Ok(folder.open_on_thread(recorded, core.clock.now()).await?)
}

/// Opens what else the settings name, and says the rest as the actors want it.
pub fn setup(
    settings: &Settings,
    index: OpenedIndex,
    base_url: &str,
    outside: Outside,
    lease_owner: LeaseOwner,
    disk: DiskSpace,
) -> Result<Setup, StartError> {
    let folder = scratch_folder(&settings.data_dir);
    let scratch = Scratch::open(folder.clone(), disk.clone())
        .map_err(|cause| format!("could not create or empty the folder {}: {cause}", folder.display()))?;
    Ok(Setup {
        fetch: FetchSettings {
            timeout: settings.fetch.timeout,
            max_bytes: settings.fetch.max_bytes,
            file_timeout: settings.fetch.file_timeout,
            max_file_bytes: settings.fetch.max_file_bytes,
            allow_private: settings.fetch.allow_private.clone(),
            own_url: PageUrl::parse(base_url).ok(),
        },
        sandbox: outside.sandbox,
        sandbox_settings: SandboxSettings::default(),
        blobs: blobs(settings, &scratch, disk.clone())?,
        scratch,
        put_for: settings.uploads.put,
        import_bytes: settings.uploads.import_bytes,
        transcription: transcription(settings),
        index,
        failures_per_minute: settings.auth.failures_per_minute,
        activity_kept: settings.activity.retention,
        room: Room {
            web: settings.ingest.fetches,
            library: settings.ingest.workers,
            files: settings.ingest.files,
        },
        lease_owner,
        grants: grants(&settings.oauth),
        signup: match settings.accounts.signup {
            Access::Open => Some(settings.accounts.default_plan),
            Access::Closed => None,
        },
        chat: chat(settings),
        push: match settings.feeds.push {
            Push::Always => true,
            Push::Never => false,
            Push::Auto => base_url.starts_with("https://"),
        },
        daily_tokens: settings.ai.daily_tokens,
        mail: mail(settings, base_url)?,
        disk,
    })
}

/// The floor for the disks of the index and of an SQLite database, and what is set aside on them.
pub fn disk_space(settings: &Settings) -> DiskSpace {
    DiskSpace::with_reserves(database_folders(settings), settings.storage.min_free_bytes)
}

/// The folder of the index and, where SQLite is elsewhere, that of the database.
fn database_folders(settings: &Settings) -> Vec<PathBuf> {
    let mut folders = vec![settings.data_dir.clone()];
    let file = settings.database_url().sqlite_file();
    folders
        .extend(file.as_deref().and_then(Path::parent).filter(|folder| folder.exists()).map(Path::to_owned));
    folders
}

fn grants(oauth: &Oauth) -> GrantSettings {
    GrantSettings {
        open: oauth.registration == Access::Open,
        documents: oauth.client_metadata_documents,
        registrations_per_hour: oauth.registrations_per_hour,
        code: oauth.code,
        access: oauth.access_token,
        unused_client: oauth.unused_client,
        redirects: RedirectRules {
            any_loopback_port: oauth.any_loopback_port,
            private: oauth.private_redirect_uris.clone(),
        },
    }
}

/// The endpoint that answers questions, where one is set; a url comes with a model.
fn chat(settings: &Settings) -> Option<ChatSettings> {
    let chat = &settings.ai.chat;
    Some(ChatSettings {
        url: chat.url.as_ref()?.as_str().to_owned(),
        model: chat.model.clone()?,
        key: chat.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}

/// The store of files, for a command beside the service or without one. Its disks are measured until the runtime ends.
///
/// # Errors
/// It is not to be had.
pub fn files(settings: &Settings) -> Result<Arc<dyn BlobStore>, StartError> {
    let own = std::env::temp_dir().join(format!("carrel-{}", std::process::id()));
    let disk = DiskSpace::new(database_folders(settings), settings.storage.min_free_bytes);
    let files = blobs(settings, &Scratch::open(own, disk.clone())?, disk.clone())?;
    tokio::spawn(disk.watch());
    Ok(files)
}

/// The store of files: a folder, made for its owner alone, or a bucket.
fn blobs(settings: &Settings, scratch: &Scratch, disk: DiskSpace) -> Result<Arc<dyn BlobStore>, StartError> {
    let told = |error: &dyn std::fmt::Display| format!("could not open the file store of files.url: {error}");
    match settings.files_url() {
        FilesUrl::Folder(folder) => {
            private_folder(&folder).map_err(|error| told(&error))?;
            // The files may be on another disk.
            let disk = disk.with_folder(folder.clone());
            Ok(Arc::new(FolderStore::open(folder, disk).map_err(|error| told(&error))?))
        }
        FilesUrl::S3(url) => {
            let files = &settings.files;
            let exposed = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
            let bucket = S3Settings {
                url,
                endpoint: files.endpoint.as_ref().map(|endpoint| endpoint.as_str().to_owned()),
                region: files.region.clone(),
                access_key: exposed(&files.access_key),
                secret_key: exposed(&files.secret_key),
            };
            Ok(Arc::new(S3Store::open(bucket, scratch.clone()).map_err(|error| told(&error))?))
        }
    }
}

/// The sender of e-mail, where `mail.url` is set.
fn mail(settings: &Settings, base_url: &str) -> Result<Option<Mailer>, StartError> {
    let transport = match &settings.mail.url {
        None => return Ok(None),
        Some(MailUrl::Smtp(url)) => MailTransport::Smtp(url.expose().to_owned()),
        Some(MailUrl::Folder(folder)) => MailTransport::Folder(folder.clone()),
    };
    let host = url::Url::parse(base_url).ok().and_then(|base| Some(base.host_str()?.to_owned()));
    let from = settings.mail.from.as_str().to_owned();
    let host = host.unwrap_or_else(|| "localhost".to_owned());
    Ok(Some(Mailer::new(MailSettings { transport, from, host })?))
}

/// The endpoint that hears recordings, where one is set; a url comes with a model.
fn transcription(settings: &Settings) -> Option<EndpointSettings> {
    let there = &settings.ai.transcription;
    Some(EndpointSettings {
        url: there.url.as_ref()?.as_str().to_owned(),
        model: there.model.clone()?,
        key: there.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}
