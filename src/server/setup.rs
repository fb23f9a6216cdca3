//! Makes the configuration of the server from its settings.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::answerer::ChatSettings;
use actors::auth::grants::GrantSettings;
use actors::auth::grants::redirect::RedirectRules;
use actors::ingest::model::{IndexedModels, record_configured_model};
use actors::service::{AdapterConfig, OperationSettings, Service, ServiceConfig, scratch_folder};
use actors::service_state::{self, ServiceStateKey};
use actors::worker::ConcurrencyLimits;
use disk::{DiskSpace, Scratch};
use inference::transcriber::EndpointSettings;
use jobs::LeaseOwner;
use library::context::CoreContext;
use sandbox::{SandboxCommand, SandboxSettings};
use search::index::{
    CollectionSettings, IndexError, IndexFolder, IndexStore, InitialIndex, Marker, ServerSettings,
    ServerStore, VectorModels,
};
use storage::blobs::{BlobStore, FolderStore, S3Store};
use values::id::IndexId;
use web::{FetchSettings, PageUrl};

use super::preconditions::{
    bucket_fault, bucket_settings, create_files_folder, files_folder_fault, mailer, store_error_cause,
};
use super::start_error::{StartError, StartFault};
use crate::data_dir::private_folder;
use crate::settings::{Access, FilesUrl, HttpUrl, Oauth, Push, Settings, Vectors};

/// Opens the existing index, or a new one if there is none or it is damaged. Replaying a long log takes minutes. If the caller drops
/// the future meanwhile, it does not count as a crash during opening. Without space on its disk the server starts without an index, and
/// with a Qdrant server that does not answer, with one that is opened later.
///
/// # Errors
/// [`StartError`] when the index is in use, or cannot be opened for another reason that lies outside of its files; when the Qdrant server
/// is too old, or its collection belongs to another program.
async fn open_index(
    settings: &Settings,
    models: Option<&IndexedModels>,
    core: &CoreContext,
) -> Result<InitialIndex, StartError> {
    let models = models.map(IndexedModels::vector_models).unwrap_or_default();
    let store = match &settings.vectors.url {
        Some(url) => {
            IndexStore::Server(index_server(&settings.vectors, url, index_owner(core).await?, models)?)
        }
        None => IndexStore::Folder(index_folder(settings, models, core)?),
    };
    let recorded =
        service_state::read_state(core.db.read(), ServiceStateKey::IndexMarker(store.id())).await?;
    let recorded = recorded.as_deref().and_then(Marker::from_row);
    let opened = InitialIndex::open(store, recorded, core.clock.now()).await;
    match opened {
        // Its cause says what the operator has to do.
        Err(IndexError::Open(cause)) if settings.vectors.url.is_some() => Err(cause),
        opened => Ok(opened?),
    }
}

/// The two places of an index.
pub struct IndexStores {
    /// The data folder.
    pub folder: IndexStore,
    /// The Qdrant server of the settings.
    pub server: IndexStore,
}

/// Returns the embedded index and the one on the Qdrant server of the settings, neither of which is opened, for the vectors of the models
/// that the index has, or is to have during a change of the model. `None` without `vectors.url`.
///
/// # Errors
/// [`StartError`] when the URL is not valid, the folder cannot be created, or the database fails.
pub async fn index_stores(
    settings: &Settings,
    core: &CoreContext,
) -> Result<Option<IndexStores>, StartError> {
    let Some(url) = &settings.vectors.url else { return Ok(None) };
    // The models of the index that exists, whose vectors move as they are. Those of the settings may be new.
    let models = record_configured_model(&core.db, None).await?;
    let models = models.as_ref().map(IndexedModels::vector_models).unwrap_or_default();
    let owner = index_owner(core).await?;
    let server = index_server(&settings.vectors, url, owner, models.clone())?;
    let folder = index_folder(settings, models, core)?;
    Ok(Some(IndexStores { folder: IndexStore::Folder(folder), server: IndexStore::Server(server) }))
}

/// Returns the id by which a collection of a Qdrant server knows the database. It is created at the first start with such a server.
async fn index_owner(core: &CoreContext) -> Result<String, StartError> {
    let new = IndexId::new(core.clock.now()).to_string();
    Ok(service_state::get_or_insert(core.db.write(), ServiceStateKey::IndexOwner, new).await?)
}

/// Creates the folder of the embedded index.
///
/// # Errors
/// [`StartError`] when it cannot be created for another reason than lack of space.
fn index_folder(
    settings: &Settings,
    models: VectorModels,
    core: &CoreContext,
) -> Result<IndexFolder, StartError> {
    if let Err(cause) = private_folder(&IndexFolder::path_in(&settings.data_dir))
        // A disk without space for the folder has none for the index either, which is found when that is opened.
        && !matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    {
        return Err(cause.into());
    }
    Ok(IndexFolder::new(&settings.data_dir, models, core.clock.now()))
}

/// Returns the Qdrant server at this URL with these settings, for the index of the database with the id `owner`. It is not asked yet.
///
/// # Errors
/// [`IndexError::Open`] when the URL is not valid, or no thread can be started.
pub fn index_server(
    vectors: &Vectors,
    url: &HttpUrl,
    owner: String,
    models: VectorModels,
) -> Result<ServerStore, IndexError> {
    let server = ServerSettings {
        url: url.as_str().to_owned(),
        key: vectors.key.as_ref().map(|key| key.expose().to_owned()),
        search_deadline: vectors.timeout,
        owner,
        collection: CollectionSettings {
            name: vectors.collection.as_str().to_owned(),
            shards: vectors.shards,
            replication_factor: vectors.replication_factor,
            write_consistency: vectors.write_consistency,
        },
    };
    ServerStore::new(server, models)
}

/// Opens the index, for the vectors of these models, and starts the service, without HTTP servers and models.
///
/// # Errors
/// [`StartError`] when the index, the store of files or another part cannot be opened.
pub async fn start_service(
    settings: &Settings,
    core: CoreContext,
    models: Option<&IndexedModels>,
    sandbox: SandboxCommand,
    lease_owner: LeaseOwner,
    disk: DiskSpace,
) -> Result<Service, StartError> {
    let index = open_index(settings, models, &core).await?;
    let config = service_config(settings, index, &core.base_url, sandbox, lease_owner, disk)?;
    Ok(Service::start(core, config).await?)
}

/// Makes the configuration, and opens the store of files, the scratch folder and the sender of e-mail.
///
/// # Errors
/// [`StartError`] when one of these cannot be opened.
fn service_config(
    settings: &Settings,
    index: InitialIndex,
    base_url: &str,
    sandbox: SandboxCommand,
    lease_owner: LeaseOwner,
    disk: DiskSpace,
) -> Result<ServiceConfig, StartError> {
    let folder = scratch_folder(&settings.data_dir);
    let scratch = Scratch::open(folder.clone(), disk.clone())
        .map_err(|cause| format!("could not create or empty the folder {}: {cause}", folder.display()))?;
    Ok(ServiceConfig {
        adapters: AdapterConfig {
            fetch: fetch_settings(settings, base_url),
            sandbox,
            sandbox_settings: SandboxSettings::default(),
            blobs: blobs(settings, &scratch, disk.clone())?,
            scratch,
            put_url_lifetime: settings.uploads.put_url_lifetime,
            import_bytes: settings.uploads.import_bytes,
            transcription: transcription(settings),
            feed_push: match settings.feeds.push {
                Push::Always => true,
                Push::Never => false,
                Push::Auto => base_url.starts_with("https://"),
            },
        },
        operations: OperationSettings {
            auth_failures_per_minute: settings.auth.failures_per_minute,
            signup: match settings.accounts.signup {
                Access::Open => Some(settings.accounts.default_plan),
                Access::Closed => None,
            },
            chat: chat(settings),
            has_mailer: settings.mail.url.is_some(),
            daily_tokens: settings.ai.daily_tokens,
        },
        index,
        activity_retention: settings.activity.retention,
        concurrency: ConcurrencyLimits {
            web: settings.ingest.web,
            library: settings.ingest.library,
            files: settings.ingest.files,
        },
        lease_owner,
        grants: grants(&settings.oauth),
        mail: mailer(settings, base_url)?,
        disk,
    })
}

fn fetch_settings(settings: &Settings, base_url: &str) -> FetchSettings {
    FetchSettings {
        timeout: settings.fetch.timeout,
        max_bytes: settings.fetch.max_bytes,
        file_timeout: settings.fetch.file_timeout,
        max_file_bytes: settings.fetch.max_file_bytes,
        allow_private: settings.fetch.allow_private.clone(),
        // The server must not fetch its own pages (row S16).
        own_url: PageUrl::parse(base_url).ok(),
    }
}

/// Returns the disks of the index and of an SQLite database, with the floor and with what is set aside on them.
pub fn disk_space(settings: &Settings) -> DiskSpace {
    DiskSpace::with_reserves(database_folders(settings), settings.storage.min_free_bytes)
}

/// Returns the disks on which the server needs free space: those of [`disk_space`] and that of a folder of files, measured now.
pub fn measured_disks(settings: &Settings) -> DiskSpace {
    let disk = disk_space(settings);
    match settings.files_url() {
        FilesUrl::Folder(folder) => disk.with_folder(folder),
        FilesUrl::S3(_) => disk,
    }
}

/// Returns the folders whose disks need free space: that of the index and, where SQLite is elsewhere, that of the database.
fn database_folders(settings: &Settings) -> Vec<PathBuf> {
    let mut folders = vec![settings.data_dir.clone()];
    let file = settings.database_url().sqlite_file();
    folders
        .extend(file.as_deref().and_then(Path::parent).filter(|folder| folder.exists()).map(Path::to_owned));
    folders
}

fn grants(oauth: &Oauth) -> GrantSettings {
    GrantSettings {
        is_registration_open: oauth.registration == Access::Open,
        client_documents: oauth.client_metadata_documents,
        registrations_per_hour: oauth.registrations_per_hour,
        code_lifetime: oauth.code_lifetime,
        access_lifetime: oauth.access_lifetime,
        unused_client_lifetime: oauth.unused_client_lifetime,
        redirects: RedirectRules {
            any_loopback_port: oauth.any_loopback_port,
            private: oauth.private_redirect_uris.clone(),
        },
    }
}

/// Returns the endpoint that answers questions; `None` if none is set. The settings require a model with a URL.
fn chat(settings: &Settings) -> Option<ChatSettings> {
    let chat = &settings.ai.chat;
    Some(ChatSettings {
        url: chat.url.as_ref()?.as_str().to_owned(),
        model: chat.model.clone()?,
        key: chat.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}

/// The store of files, for a command. Its disks are measured until the runtime ends.
///
/// # Errors
/// [`StartError`] when the store cannot be opened.
pub fn files(settings: &Settings) -> Result<Arc<dyn BlobStore>, StartError> {
    // Not the scratch folder of the data: opening that would empty it under a running server.
    let own = std::env::temp_dir().join(format!("carrel-{}", std::process::id()));
    let disk = DiskSpace::new(database_folders(settings), settings.storage.min_free_bytes);
    let files = blobs(settings, &Scratch::open(own, disk.clone())?, disk.clone())?;
    tokio::spawn(disk.watch());
    Ok(files)
}

/// The store of files: a folder, which only its owner may open, or a bucket.
fn blobs(settings: &Settings, scratch: &Scratch, disk: DiskSpace) -> Result<Arc<dyn BlobStore>, StartFault> {
    match settings.files_url() {
        FilesUrl::Folder(folder) => {
            create_files_folder(&folder)?;
            // The files may be on another disk.
            let disk = disk.with_folder(folder.clone());
            let store = FolderStore::open(folder.clone(), disk);
            Ok(Arc::new(store.map_err(|error| files_folder_fault(&folder, &store_error_cause(&error)))?))
        }
        FilesUrl::S3(url) => {
            let bucket = bucket_settings(&settings.files, url)?;
            let store = S3Store::open(bucket, scratch.clone());
            Ok(Arc::new(store.map_err(|error| bucket_fault(&store_error_cause(&error)))?))
        }
    }
}

/// Returns the endpoint that transcribes recordings; `None` if none is set. The settings require a model with a URL.
fn transcription(settings: &Settings) -> Option<EndpointSettings> {
    let endpoint = &settings.ai.transcription;
    Some(EndpointSettings {
        url: endpoint.url.as_ref()?.as_str().to_owned(),
        model: endpoint.model.clone()?,
        key: endpoint.key.as_ref().map(|key| key.expose().to_owned().into()),
    })
}
