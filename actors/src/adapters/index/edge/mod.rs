//! The passage index inside this process: one qdrant-edge shard in a folder, shared by all users.
//!
//! Writes go through a log, so what was written but not committed mostly outlives a killed process; only
//! [`PassageIndex::commit`] promises it, for a power loss too. A folder can be open in one process at a time.

mod filter;
mod point;
mod query;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, EdgeShard, FacetRequest, OperationError, Payload, PayloadOps,
    PointInsertOperations, PointOperations, QueryBatchRequest, SetPayloadOp, UpdateOperation,
};
use uuid::Uuid;

use super::{IndexError, Labels, Language, Legs, PassageIndex, Plan, Point, Tenant};

/// Room that must be left on the disk before a write: the engine writes through mapped files, where a full disk ends the
/// process instead of failing the write.
const ROOM: u64 = 16 << 20;

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

/// The embedded passage index.
pub struct EdgeIndex {
    shard: EdgeShard,
    folder: PathBuf,
    model: Option<Model>,
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
        let shard = if folder.join("edge_config.json").exists() {
            EdgeShard::load(folder, Some(schema::tunables().build()))
        } else {
            EdgeShard::new(folder, schema::fresh(model.as_ref()))
        }
        .map_err(|cause| IndexError::Open(Box::new(cause)))?;

        let index = Self {
            shard,
            folder: folder.to_owned(),
            model,
            writing: Mutex::new(()),
            languages: Mutex::new(HashMap::new()),
        };
        index.complete().map_err(|cause| IndexError::Open(Box::new(cause)))?;
        Ok(index)
    }

    /// Adds what an older or half-made shard lacks: the model's vector, the look-ups.
    fn complete(&self) -> Result<(), OperationError> {
        if let Some(model) = &self.model {
            let known = self.shard.config().vectors.contains_key(&model.vector());
            if !known {
                self.shard.update(schema::new_vector(model))?;
            }
        }
        let there = self.shard.info()?.payload_schema;
        for (label, kind) in schema::lookups() {
            if !there.contains_key(&schema::path(label)) {
                self.shard.update(schema::new_lookup(label, kind))?;
            }
        }
        self.shard.flush()
    }

    fn write(&self, doing: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        self.shard.update(operation).map_err(failed(doing))
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Tenant, HashSet<Language>>> {
        self.languages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self) -> Result<(), IndexError> {
        let left = fs4::available_space(&self.folder).map_err(failed("measure the disk of"))?;
        if left < ROOM { Err(IndexError::Full) } else { Ok(()) }
    }

    fn fits<'a>(&self, mut vectors: impl Iterator<Item = &'a Vec<f32>>) -> Result<(), IndexError> {
        let wanted = self.model.as_ref().map_or(0, |model| model.length);
        match vectors.find(|vector| vector.len() != wanted) {
            Some(vector) => Err(IndexError::Dimension { wanted, got: vector.len() }),
            None => Ok(()),
        }
    }

    fn vector(&self) -> Option<String> {
        self.model.as_ref().map(Model::vector)
    }

    /// The languages of the tenant's passages, as the engine counts them.
    fn counted(&self, tenant: &Tenant) -> Result<HashSet<Language>, IndexError> {
        let request = FacetRequest {
            limit: usize::MAX,
            filter: Some(filter::own(tenant)),
            exact: true,
            ..FacetRequest::new(schema::path(schema::LANGUAGE))
        };
        let response = self.shard.facet(request).map_err(failed("count"))?;
        Ok(response.hits.iter().filter_map(|hit| point::language(&hit.value)).collect())
    }
}

impl PassageIndex for EdgeIndex {
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError> {
        self.fits(points.iter().filter_map(|point| point.dense.as_ref()))?;
        let _writer = self.writer();
        self.room()?;
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
        self.room()?;
        let gone = PointOperations::DeletePointsByFilter(filter::document(tenant, document, keep));
        self.write("delete from", UpdateOperation::PointOperation(gone))
    }

    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.room()?;
        let gone = PointOperations::DeletePointsByFilter(filter::own(tenant));
        self.write("delete from", UpdateOperation::PointOperation(gone))?;
        self.known().remove(tenant);
        Ok(())
    }

    fn patch_document(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.room()?;
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
        let found = self.shard.query_batch(QueryBatchRequest::new(queries)).map_err(failed("search"))?;

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
        self.shard.count(request).map_err(failed("count"))
    }

    fn commit(&self) -> Result<(), IndexError> {
        let _writer = self.writer();
        self.room()?;
        self.shard.flush().map_err(failed("commit"))
    }

    fn maintain(&self) -> Result<bool, IndexError> {
        self.room()?;
        self.shard.optimize().map_err(failed("pack"))
    }
}

fn failed<E: std::error::Error + Send + Sync + 'static>(doing: &'static str) -> impl Fn(E) -> IndexError {
    move |source| IndexError::Engine { doing, source: Box::new(source) }
}
