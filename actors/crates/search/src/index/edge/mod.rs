//! The passage index inside this process: one qdrant-edge shard in a folder, shared by all users.
//!
//! Writes go through a log, so what was written but not committed mostly outlives a killed process; only
//! [`PassageIndex::commit`] promises it, for a power loss too. A folder can be open in one process at a time.

mod fault;
mod filter;
mod point;
mod query;
mod schema;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use disk::{FileIdentity, MIN_FREE_TO_ADD_BYTES, MIN_FREE_TO_DELETE_BYTES, available_bytes};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, FacetRequest, Payload, PayloadOps, PointId,
    PointInsertOperations, PointOperations, QueryBatchRequest, RetrieveRequest, ScrollRequest, SetPayloadOp,
    UpdateOperation, WithPayloadInterface,
};
use uuid::Uuid;

use self::fault::not_measured;
use self::shard::Shard;
use super::{IndexError, Labels, Language, Legs, PassageIndex, PassagePage, Plan, Point, Tenant};

/// The model whose vectors are searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name, of letters, digits, `-` and `.`; another name is another vector beside the first.
    pub name: String,
    /// How many numbers its vectors have.
    pub length: usize,
}

impl Model {
    fn vector(&self) -> String {
        format!("dense_{}", self.name)
    }
}

/// Folders of a shard that stay the same for as long as it is open.
const LASTING_FOLDERS: [&str; 2] = ["segments", "wal"];

/// The identity of each lasting folder; none where it does not exist.
type Identity = [Option<FileIdentity>; 2];

fn identity(folder: &Path) -> Identity {
    LASTING_FOLDERS
        .map(|name| std::fs::symlink_metadata(folder.join(name)).ok().as_ref().map(FileIdentity::from))
}

/// The embedded passage index.
pub struct EdgeIndex {
    shard: Shard,
    folder: PathBuf,
    identity: Identity,
    /// Set and taken back under both locks below.
    abandoned: AtomicBool,
    /// Held while the shard is packed. Taken before `writing`.
    packing: Mutex<()>,
    /// Held through every write: they wait for one another.
    writing: Mutex<()>,
    /// The languages of tenants that were asked about, so that a search need not count them.
    languages: Mutex<HashMap<Tenant, HashSet<Language>>>,
}

impl EdgeIndex {
    /// Opens the index in a folder, or makes a new one there; makes room for the model's vectors if it is new.
    ///
    /// # Errors
    /// When another process has it open, or the files cannot be read or written.
    pub fn open(folder: &Path, model: Option<Model>) -> Result<Self, IndexError> {
        if !Self::exists_in(folder) {
            // On file systems that give mapped files their blocks when they are read, such as tmpfs, loading takes 30 MiB.
            // They are taken while there is space: a start on a full disk would die of it (SIGBUS).
            drop(Self::open_once(folder, model.clone())?);
        }
        Self::open_once(folder, model)
    }

    fn open_once(folder: &Path, model: Option<Model>) -> Result<Self, IndexError> {
        let shard = Shard::open(folder, model).map_err(|cause| IndexError::Open(Box::new(cause)))?;
        Ok(Self {
            shard,
            folder: folder.to_owned(),
            identity: identity(folder),
            abandoned: AtomicBool::new(false),
            packing: Mutex::new(()),
            writing: Mutex::new(()),
            languages: Mutex::new(HashMap::new()),
        })
    }

    /// Whether a folder has an index in it, which [`Self::open`] would not have to make.
    #[must_use]
    pub fn exists_in(folder: &Path) -> bool {
        shard::exists_in(folder)
    }

    /// Whether the disk of a folder has room enough to write there.
    #[must_use]
    pub fn has_room(folder: &Path) -> bool {
        available_bytes(folder).is_ok_and(|left| left >= MIN_FREE_TO_ADD_BYTES)
    }

    /// Changes the shard, unless the index is abandoned; the caller holds the lock of writes.
    fn write(&self, doing: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        self.must_not_be_abandoned()?;
        self.reload_if_blocked()?;
        self.shard.update(doing, operation)
    }

    /// Loads the shard again after a failed write; the caller holds the lock of writes.
    fn reload_if_blocked(&self) -> Result<(), IndexError> {
        if !self.shard.is_blocked() {
            return Ok(());
        }
        // Not waited for: packing takes seconds, and its lock comes before that of writes.
        let _packer = match self.packing.try_lock() {
            Ok(packer) => packer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(IndexError::Blocked),
        };
        // Without room the engine would end the process; and the old shard is flushed, by path, into what is in the folder.
        self.must_have_free(MIN_FREE_TO_ADD_BYTES)?;
        if self.is_in_place() { self.shard.reload() } else { Err(IndexError::Blocked) }
    }

    fn must_not_be_abandoned(&self) -> Result<(), IndexError> {
        if self.abandoned.load(Ordering::SeqCst) { Err(IndexError::Abandoned) } else { Ok(()) }
    }

    fn packer(&self) -> MutexGuard<'_, ()> {
        self.packing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Tenant, HashSet<Language>>> {
        self.languages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn must_have_free(&self, bytes: u64) -> Result<(), IndexError> {
        let left = available_bytes(&self.folder).map_err(not_measured("measure the disk of"))?;
        if left < bytes { Err(IndexError::Full) } else { Ok(()) }
    }

    /// Whether there is room to write everything once more, as packing may do.
    fn room_to_pack(&self) -> Result<(), IndexError> {
        let left = available_bytes(&self.folder).map_err(not_measured("measure the disk of"))?;
        let used = blocks_of(&self.folder).map_err(not_measured("measure the files of"))?;
        if left < MIN_FREE_TO_ADD_BYTES + used { Err(IndexError::Full) } else { Ok(()) }
    }

    fn fits<'a>(&self, mut vectors: impl Iterator<Item = &'a Vec<f32>>) -> Result<(), IndexError> {
        let wanted = self.shard.model().map_or(0, |model| model.length);
        match vectors.find(|vector| vector.len() != wanted) {
            Some(vector) => Err(IndexError::Dimension { wanted, got: vector.len() }),
            None => Ok(()),
        }
    }

    fn vector(&self) -> Option<String> {
        self.shard.model().map(Model::vector)
    }

    /// The languages of the tenant's passages, as the engine counts them.
    fn counted(&self, tenant: &Tenant) -> Result<HashSet<Language>, IndexError> {
        let request = FacetRequest {
            limit: usize::MAX,
            filter: Some(filter::own(tenant)),
            exact: true,
            ..FacetRequest::new(schema::path(schema::LANGUAGE))
        };
        let response = self.shard.read("count", |shard| shard.facet(request))?;
        Ok(response.hits.iter().filter_map(|hit| point::language(&hit.value)).collect())
    }
}

impl PassageIndex for EdgeIndex {
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError> {
        self.fits(points.iter().filter_map(|point| point.dense.as_ref()))?;
        let _writer = self.writer();
        self.must_have_free(MIN_FREE_TO_ADD_BYTES)?;
        if let Some(known) = self.known().get_mut(tenant) {
            known.extend(points.iter().map(|point| point.language));
        }
        let vector = self.vector();
        let stored =
            points.into_iter().map(|point| point::stored(tenant, point, vector.as_deref())).collect();
        let insert = ConditionalInsertOperation {
            points_op: PointInsertOperations::PointsList(stored),
            condition: filter::own(tenant),
            update_mode: None,
        };
        self.write(
            "add to",
            UpdateOperation::PointOperation(PointOperations::UpsertPointsConditional(insert)),
        )
    }

    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.must_have_free(MIN_FREE_TO_DELETE_BYTES)?;
        let gone = PointOperations::DeletePointsByFilter(filter::document(tenant, document, keep));
        self.write("delete from", UpdateOperation::PointOperation(gone))
    }

    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.must_have_free(MIN_FREE_TO_DELETE_BYTES)?;
        let gone = PointOperations::DeletePointsByFilter(filter::own(tenant));
        self.write("delete from", UpdateOperation::PointOperation(gone))?;
        self.known().remove(tenant);
        Ok(())
    }

    fn patch_document(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.must_have_free(MIN_FREE_TO_ADD_BYTES)?;
        let set = SetPayloadOp {
            payload: Payload(point::labels(labels)),
            points: None,
            filter: Some(filter::document(tenant, document, None)),
            key: None,
        };
        self.write("relabel", UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set)))
    }

    fn search(&self, tenant: &Tenant, plan: &Plan) -> Result<Legs, IndexError> {
        self.fits(plan.dense.iter())?;
        let words = (!plan.sparse.is_empty()).then(|| query::by_words(tenant, plan));
        let meaning = self
            .vector()
            .zip(plan.dense.as_ref())
            .map(|(name, dense)| query::by_meaning(tenant, plan, name, dense));
        let (lexical, dense) = (words.is_some(), meaning.is_some());

        let queries: Vec<_> = words.into_iter().chain(meaning).collect();
        let found = self.shard.read("search", |shard| shard.query_batch(QueryBatchRequest::new(queries)))?;

        let mut found = found.into_iter();
        let mut leg = |asked: bool| if asked { query::hits(found.next()) } else { Vec::new() };
        Ok(Legs { lexical: leg(lexical), dense: leg(dense) })
    }

    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError> {
        let mut known = self.known();
        if let Some(languages) = known.get(tenant) {
            return Ok(languages.iter().copied().collect());
        }
        // Counted under the lock: a passage that comes in meanwhile waits, and is then added to what is known.
        let languages = self.counted(tenant)?;
        known.insert(*tenant, languages.clone());
        Ok(languages.into_iter().collect())
    }

    fn count(&self) -> Result<usize, IndexError> {
        let request = CountRequest { filter: None, exact: true };
        self.shard.read("count", |shard| shard.count(request))
    }

    fn estimate_count(&self) -> Result<usize, IndexError> {
        let request = CountRequest { filter: None, exact: false };
        self.shard.read("count", |shard| shard.count(request))
    }

    fn commit(&self) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.must_not_be_abandoned()?;
        self.must_have_free(MIN_FREE_TO_DELETE_BYTES)?;
        self.reload_if_blocked()?;
        self.shard.flush()
    }

    fn maintain(&self) -> Result<bool, IndexError> {
        let _packer = self.packer();
        self.must_not_be_abandoned()?;
        self.room_to_pack()?;
        self.shard.optimize()
    }

    fn missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError> {
        let request = RetrieveRequest {
            with_payload: Some(WithPayloadInterface::Bool(false)),
            ..RetrieveRequest::new(passages.iter().copied().map(PointId::Uuid).collect())
        };
        let found = self.shard.read("read", |shard| shard.retrieve(request))?;
        let found: HashSet<Uuid> = found.into_iter().filter_map(|record| point::passage(record.id)).collect();
        Ok(passages.iter().copied().filter(|id| !found.contains(id)).collect())
    }

    fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError> {
        let request = ScrollRequest {
            offset: from.map(PointId::Uuid),
            limit: Some(limit),
            with_payload: Some(WithPayloadInterface::Bool(false)),
            ..ScrollRequest::new()
        };
        let (records, next) = self.shard.read("read", |shard| shard.scroll(request))?;
        let ids = records.into_iter().filter_map(|record| point::passage(record.id)).collect();
        Ok(PassagePage { ids, next: next.and_then(point::passage) })
    }

    fn remove(&self, passages: &[Uuid]) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.must_have_free(MIN_FREE_TO_DELETE_BYTES)?;
        let gone =
            PointOperations::DeletePoints { ids: passages.iter().copied().map(PointId::Uuid).collect() };
        self.write("delete from", UpdateOperation::PointOperation(gone))
    }

    fn is_in_place(&self) -> bool {
        !self.abandoned.load(Ordering::SeqCst) && identity(&self.folder) == self.identity
    }

    fn abandon(&self) {
        let _packer = self.packer();
        let _writer = self.writer();
        self.abandoned.store(true, Ordering::SeqCst);
    }

    fn resume(&self) -> bool {
        let _packer = self.packer();
        let _writer = self.writer();
        let is_back = identity(&self.folder) == self.identity;
        if is_back {
            self.abandoned.store(false, Ordering::SeqCst);
        }
        is_back
    }
}

impl Drop for EdgeIndex {
    /// The engine flushes a shard that is dropped, by path, into whatever index is in the folder by then. The shard of an
    /// abandoned index is kept instead; that costs its memory until the service ends, and happens only after an accident or
    /// when the service ends.
    fn drop(&mut self) {
        if *self.abandoned.get_mut() {
            self.shard.leak();
        }
    }
}

/// Bytes that the files of a folder take on the disk: mapped files have holes.
fn blocks_of(folder: &Path) -> std::io::Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { blocks_of(&entry.path())? } else { found.blocks() * BLOCK_BYTES };
    }
    Ok(bytes)
}
