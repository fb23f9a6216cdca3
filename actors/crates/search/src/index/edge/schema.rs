//! The schema of a shard: its vectors, the payload fields with their indexes, and settings that keep memory small.

use std::num::NonZeroUsize;

use qdrant_edge::{
    CreateIndex, CreateVectorName, DeleteVectorName, DenseVectorConfig, Distance, EdgeConfig,
    EdgeConfigBuilder, EdgeOptimizersConfig, EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder,
    FieldIndexOperations, HnswIndexConfig, JsonPath, KeywordIndexParamsBuilder, Memory, Modifier,
    PayloadFieldSchema, PayloadSchemaParams, QuantizationConfig, ScalarQuantizationConfig, ScalarType,
    UpdateOperation, UuidIndexParamsBuilder, VectorNameConfig, VectorNameOperations, WalOptions,
};

pub use crate::index::schema::{DOCUMENT, LABELS, USER, VERSION, WORDS_VECTOR};
use crate::index::vector_model::VectorModel;

/// Size of a segment of the write-ahead log; one that is too small for an entry grows. Three segments are mapped: the last full one, the
/// open one and the next. What is written to them stays in memory until the segment is removed, so larger ones would only take memory.
const LOG_SEGMENT_BYTES: usize = 1 << 20;

/// A segment of the shard grows in memory to this many kilobytes of vectors; then `maintain` moves it to the disk.
const INDEXING_THRESHOLD_KB: usize = 4_000;

/// Returns the settings of a shard that may change from one start to the next.
pub fn tunable_config() -> EdgeConfigBuilder {
    EdgeConfigBuilder::new()
        .payload_memory(Memory::Cold)
        .id_tracker_memory(Memory::Cold)
        // No HNSW graph: among the passages of one user a scan misses nothing, and of quantized vectors it is fast enough.
        .quantization_config(scalar_quantization())
        .hnsw_config(HnswIndexConfig {
            m: 0,
            payload_m: Some(0),
            max_indexing_threads: 1,
            ..Default::default()
        })
        .optimizers(EdgeOptimizersConfig {
            default_segment_number: Some(2),
            indexing_threshold: Some(INDEXING_THRESHOLD_KB),
            ..Default::default()
        })
        .wal_options(WalOptions {
            segment_capacity: LOG_SEGMENT_BYTES,
            segment_queue_len: 0,
            retain_closed: NonZeroUsize::MIN,
        })
        // Measured: without the log a killed process loses every write since the last flush, and with it none.
        .wal_enabled(true)
        // A read runs on its caller's thread: the number of callers is limited already.
        .max_search_threads(1)
}

/// Returns the settings of the quantized vectors: one byte for each of their numbers. A segment gets them when it is moved to the disk.
/// A scan of them reads a quarter of the memory, and finds the candidates whose vectors are then compared exactly.
#[expect(deprecated, reason = "the struct has a field that another one replaces, and no default")]
fn scalar_quantization() -> QuantizationConfig {
    QuantizationConfig::from(ScalarQuantizationConfig {
        r#type: ScalarType::Int8,
        // The largest numbers of a few vectors would make the steps between the others coarse.
        quantile: Some(0.99),
        always_ram: None,
        memory: Some(Memory::Cold),
    })
}

/// Returns the settings of a new shard.
pub fn new_config(models: &[VectorModel]) -> EdgeConfig {
    let words = EdgeSparseVectorParamsBuilder::new()
        .modifier(Modifier::Idf)
        .memory(Memory::Cold)
        // Scanning the posting lists is faster than reading the whole vectors of a user's passages, at any size.
        .full_scan_threshold(1)
        .build();
    let config = tunable_config().sparse_vector(WORDS_VECTOR, words);
    let add_vector = |config: EdgeConfigBuilder, model: &VectorModel| {
        let dense =
            EdgeVectorParamsBuilder::new(model.dimensions, Distance::Cosine).memory(Memory::Cold).build();
        config.vector(model.vector_name(), dense)
    };
    models.iter().fold(config, add_vector).build()
}

/// Returns the operation that adds a vector for a model.
pub fn create_vector(model: &VectorModel) -> UpdateOperation {
    let config = VectorNameConfig::dense(DenseVectorConfig {
        size: model.dimensions,
        distance: Distance::Cosine,
        multivector_config: None,
        datatype: None,
    });
    UpdateOperation::VectorNameOperation(VectorNameOperations::CreateVectorName(CreateVectorName {
        vector_name: model.vector_name(),
        config,
    }))
}

/// Returns the operation that deletes the vectors with this name.
pub fn delete_vector(vector_name: String) -> UpdateOperation {
    let delete = DeleteVectorName { vector_name };
    UpdateOperation::VectorNameOperation(VectorNameOperations::DeleteVectorName(delete))
}

/// Returns the payload fields that have an index, with the type of the index.
///
/// They are the format of a shard: one with an index of another field was written by another version of the server, and is not read
/// (`load::require_format`). So a change of what a field holds needs a new name for the field.
///
/// Each field costs memory, whatever it holds: the segment that takes new points maps 7 MiB for it, and the engine reads 5 MiB of them
/// when it opens the shard.
pub fn payload_indexes() -> [(&'static str, PayloadFieldSchema); 3] {
    [
        // The version has no index: it is compared only among the passages of one document.
        (USER, uuid_index(true)),
        (DOCUMENT, uuid_index(false)),
        (LABELS, keyword_index()),
    ]
}

/// Returns the operation that creates the index of a payload field.
pub fn create_payload_index(field: &str, schema: PayloadFieldSchema) -> UpdateOperation {
    UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
        field_name: field_path(field),
        field_schema: Some(schema),
    }))
}

/// Returns the engine's path of a payload field.
pub fn field_path(field: &str) -> JsonPath {
    JsonPath { first_key: field.to_owned(), rest: Vec::new() }
}

fn uuid_index(is_tenant: bool) -> PayloadFieldSchema {
    let params =
        // With `is_tenant` the engine stores the points of a user together, because every query is confined to one user.
        UuidIndexParamsBuilder::new().is_tenant(is_tenant).memory(Memory::Cold).enable_hnsw(false).build();
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Uuid(params))
}

fn keyword_index() -> PayloadFieldSchema {
    let params = KeywordIndexParamsBuilder::new().memory(Memory::Cold).enable_hnsw(false).build();
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Keyword(params))
}
