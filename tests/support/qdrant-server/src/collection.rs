//! A collection: a shard of the engine in a temporary folder, and what a server knows of it besides.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use qdrant_client::qdrant::{
    CollectionConfig, CollectionInfo, CollectionParams, CollectionStatus, CreateCollection,
    CreateFieldIndexCollection, CreateVectorNameRequest, OptimizerStatus, PayloadSchemaInfo,
    PayloadSchemaType, SparseVectorConfig, Value, VectorParams, VectorParamsMap, VectorsConfig,
    create_vector_name_request, payload_index_params, vectors_config,
};
use qdrant_edge::{
    CreateIndex, CreateVectorName, DeleteVectorName, DenseVectorConfig, Distance, EdgeConfig,
    EdgeConfigBuilder, EdgeOptimizersConfig, EdgeShard, EdgeSparseVectorParamsBuilder,
    EdgeVectorParamsBuilder, FieldIndexOperations, HnswIndexConfig, IntegerIndexParams, KeywordIndexParams,
    Memory, Modifier, PayloadFieldSchema, PayloadSchemaParams, UpdateOperation, UuidIndexParams,
    VectorNameConfig, VectorNameOperations,
};
use tempfile::TempDir;
use tonic::Status;

use super::convert::value::field_path;
use super::convert::{engine_status, invalid};

/// A collection of a server.
pub struct Collection {
    /// Before the folder, which it flushes into when it is dropped.
    shard: EdgeShard,
    _folder: TempDir,
    state: Mutex<CollectionState>,
}

/// What the server knows besides the points.
struct CollectionState {
    created: CreateCollection,
    vectors: HashMap<String, VectorParams>,
    metadata: HashMap<String, Value>,
    payload_schema: HashMap<String, PayloadSchemaInfo>,
}

impl Collection {
    pub fn create(request: CreateCollection) -> Result<Self, Status> {
        let folder = tempfile::tempdir().map_err(|error| Status::internal(error.to_string()))?;
        let vectors = match request.vectors_config.as_ref().and_then(|config| config.config.as_ref()) {
            Some(vectors_config::Config::ParamsMap(params)) => params.map.clone(),
            Some(vectors_config::Config::Params(_)) => return Err(invalid("vectors without names")),
            None => HashMap::new(),
        };
        let config = engine_config(&request, &vectors)?;
        let shard = EdgeShard::new(folder.path(), config).map_err(engine_status)?;
        let metadata = request.metadata.clone();
        let state = CollectionState { created: request, vectors, metadata, payload_schema: HashMap::new() };
        Ok(Self { shard, _folder: folder, state: Mutex::new(state) })
    }

    pub fn shard(&self) -> &EdgeShard {
        &self.shard
    }

    pub fn update(&self, operation: UpdateOperation) -> Result<(), Status> {
        self.shard.update(operation).map_err(engine_status)
    }

    /// Returns whether a payload field has an index.
    pub fn has_index(&self, field: &str) -> bool {
        self.state().payload_schema.contains_key(field)
    }

    /// Refuses the name of a vector that the collection does not have.
    pub fn require_vector(&self, name: &str) -> Result<(), Status> {
        let state = self.state();
        let sparse = state.created.sparse_vectors_config.as_ref();
        let is_sparse = sparse.is_some_and(|config| config.map.contains_key(name));
        if is_sparse || state.vectors.contains_key(name) {
            Ok(())
        } else {
            Err(invalid(&format!("Wrong input: Not existing vector name error: {name}")))
        }
    }

    pub fn add_metadata(&self, metadata: HashMap<String, Value>) {
        self.state().metadata.extend(metadata);
    }

    pub fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), Status> {
        let Some(create_vector_name_request::VectorConfig::DenseConfig(dense)) = request.vector_config else {
            return Err(invalid("only dense vectors are added"));
        };
        let config = VectorNameConfig::dense(DenseVectorConfig {
            size: dimensions(dense.size)?,
            distance: Distance::Cosine,
            multivector_config: None,
            datatype: None,
        });
        let create = CreateVectorName { vector_name: request.vector_name.clone(), config };
        self.update(UpdateOperation::VectorNameOperation(VectorNameOperations::CreateVectorName(create)))?;
        let params = VectorParams { size: dense.size, distance: dense.distance, ..VectorParams::default() };
        self.state().vectors.insert(request.vector_name, params);
        Ok(())
    }

    pub fn delete_vector_name(&self, vector_name: String) -> Result<(), Status> {
        self.require_vector(&vector_name)?;
        let delete = DeleteVectorName { vector_name: vector_name.clone() };
        self.update(UpdateOperation::VectorNameOperation(VectorNameOperations::DeleteVectorName(delete)))?;
        self.state().vectors.remove(&vector_name);
        Ok(())
    }

    pub fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), Status> {
        let given = request.field_index_params.and_then(|params| params.index_params);
        let (schema, data_type) = index_schema(given.ok_or_else(|| invalid("an index without params"))?)?;
        let create = CreateIndex {
            field_name: field_path(&request.field_name),
            field_schema: Some(PayloadFieldSchema::FieldParams(schema)),
        };
        self.update(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(create)))?;
        let info = PayloadSchemaInfo { data_type: data_type.into(), params: None, points: None };
        self.state().payload_schema.insert(request.field_name, info);
        Ok(())
    }

    pub fn info(&self) -> Result<CollectionInfo, Status> {
        let points = self.shard.info().map_err(engine_status)?.points_count;
        let state = self.state();
        let vectors = VectorParamsMap { map: state.vectors.clone() };
        let params = CollectionParams {
            shard_number: state.created.shard_number.unwrap_or(1),
            vectors_config: Some(VectorsConfig { config: Some(vectors_config::Config::ParamsMap(vectors)) }),
            replication_factor: state.created.replication_factor,
            write_consistency_factor: state.created.write_consistency_factor,
            sparse_vectors_config: state.created.sparse_vectors_config.clone(),
            ..CollectionParams::default()
        };
        let config = CollectionConfig {
            params: Some(params),
            hnsw_config: state.created.hnsw_config,
            quantization_config: state.created.quantization_config,
            metadata: state.metadata.clone(),
            ..CollectionConfig::default()
        };
        Ok(CollectionInfo {
            status: CollectionStatus::Green.into(),
            optimizer_status: Some(OptimizerStatus { ok: true, error: String::new() }),
            segments_count: 1,
            config: Some(config),
            payload_schema: state.payload_schema.clone(),
            points_count: u64::try_from(points).ok(),
            ..CollectionInfo::default()
        })
    }

    fn state(&self) -> MutexGuard<'_, CollectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn dimensions(size: u64) -> Result<usize, Status> {
    usize::try_from(size).map_err(|_| invalid("a vector is too long"))
}

/// Returns the settings of the shard of a new collection. It has no log: nothing outlives the process.
fn engine_config(
    request: &CreateCollection,
    vectors: &HashMap<String, VectorParams>,
) -> Result<EdgeConfig, Status> {
    let hnsw = request.hnsw_config.unwrap_or_default();
    if hnsw.m != Some(0) || hnsw.payload_m != Some(0) {
        return Err(invalid("a graph would make searches of a test inexact"));
    }
    let mut config = EdgeConfigBuilder::new()
        .payload_memory(Memory::Cold)
        .id_tracker_memory(Memory::Cold)
        .hnsw_config(HnswIndexConfig {
            m: 0,
            payload_m: Some(0),
            max_indexing_threads: 1,
            ..Default::default()
        })
        .optimizers(EdgeOptimizersConfig { default_segment_number: Some(2), ..Default::default() })
        .wal_enabled(false)
        .max_search_threads(1);
    for (name, params) in vectors {
        let dense = EdgeVectorParamsBuilder::new(dimensions(params.size)?, Distance::Cosine);
        config = config.vector(name.clone(), dense.memory(Memory::Cold).build());
    }
    let sparse: &SparseVectorConfig =
        request.sparse_vectors_config.as_ref().ok_or_else(|| invalid("no sparse vectors"))?;
    for (name, params) in &sparse.map {
        let threshold = params.index.and_then(|index| index.full_scan_threshold).unwrap_or(1);
        let words = EdgeSparseVectorParamsBuilder::new()
            .modifier(Modifier::Idf)
            .memory(Memory::Cold)
            .full_scan_threshold(dimensions(threshold)?)
            .build();
        config = config.sparse_vector(name.clone(), words);
    }
    Ok(config.build())
}

/// Returns the settings of an index of a payload field, and its type.
fn index_schema(
    given: payload_index_params::IndexParams,
) -> Result<(PayloadSchemaParams, PayloadSchemaType), Status> {
    if let payload_index_params::IndexParams::UuidIndexParams(params) = given {
        let index = UuidIndexParams { is_tenant: params.is_tenant, ..UuidIndexParams::default() };
        Ok((PayloadSchemaParams::Uuid(index), PayloadSchemaType::Uuid))
    } else if let payload_index_params::IndexParams::KeywordIndexParams(_) = given {
        Ok((PayloadSchemaParams::Keyword(KeywordIndexParams::default()), PayloadSchemaType::Keyword))
    } else if let payload_index_params::IndexParams::IntegerIndexParams(params) = given {
        let index = IntegerIndexParams { lookup: params.lookup, range: params.range, ..Default::default() };
        Ok((PayloadSchemaParams::Integer(index), PayloadSchemaType::Integer))
    } else {
        Err(invalid("an index of another type"))
    }
}
