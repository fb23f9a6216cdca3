//! What a shard holds: its vectors, the labels that are looked up, and how little of it is kept in memory.

use std::num::NonZeroUsize;

use qdrant_edge::{
    CreateIndex, CreateVectorName, DenseVectorConfig, Distance, EdgeConfig, EdgeConfigBuilder,
    EdgeOptimizersConfig, EdgeSparseVectorParamsBuilder, EdgeVectorParamsBuilder, FieldIndexOperations,
    HnswIndexConfig, JsonPath, KeywordIndexParamsBuilder, Memory, Modifier, PayloadFieldSchema,
    PayloadSchemaParams, UpdateOperation, UuidIndexParamsBuilder, VectorNameConfig, VectorNameOperations,
    WalOptions,
};

use super::Model;

/// The vector of a passage's words.
pub const WORDS: &str = "bm25";

/// Labels of a point. Short, because every point stores them.
pub const USER: &str = "user";
/// The document.
pub const DOCUMENT: &str = "doc";
/// The version of the document's text.
pub const VERSION: &str = "ver";
/// The half of the library.
pub const SOURCE: &str = "src";
/// The feed, if any.
pub const FEED: &str = "feed";
/// The collections.
pub const COLLECTIONS: &str = "col";
/// The language that the words were read in.
pub const LANGUAGE: &str = "lang";

/// A segment of the write-ahead log. The log is mapped whole, two segments of it, and is cut at every commit, so a large
/// one is only memory.
const LOG_SEGMENT: usize = 2 << 20;

/// A segment of the shard grows in memory to this many kilobytes of vectors; then `maintain` puts it on disk.
const GROWN_KB: usize = 4_000;

/// The settings of a shard that may change from one start to the next.
pub fn tunables() -> EdgeConfigBuilder {
    EdgeConfigBuilder::new()
        .payload_memory(Memory::Cold)
        .id_tracker_memory(Memory::Cold)
        // No graph: within one user a scan is exact and fast enough (retrieval.md, section 1).
        .hnsw_config(HnswIndexConfig {
            m: 0,
            payload_m: Some(0),
            max_indexing_threads: 1,
            ..Default::default()
        })
        .optimizers(EdgeOptimizersConfig {
            default_segment_number: Some(2),
            indexing_threshold: Some(GROWN_KB),
            ..Default::default()
        })
        .wal_options(WalOptions {
            segment_capacity: LOG_SEGMENT,
            segment_queue_len: 0,
            retain_closed: NonZeroUsize::MIN,
        })
        .wal_enabled(true)
        // A read runs on its caller's thread: callers already are as many as there should be.
        .max_search_threads(1)
}

/// A new shard's settings.
pub fn fresh(model: Option<&Model>) -> EdgeConfig {
    let words = EdgeSparseVectorParamsBuilder::new()
        .modifier(Modifier::Idf)
        .memory(Memory::Cold)
        // Passing over the postings beats reading whole vectors of a user's passages at any size.
        .full_scan_threshold(1)
        .build();
    let config = tunables().sparse_vector(WORDS, words);
    match model {
        Some(model) => {
            let meaning =
                EdgeVectorParamsBuilder::new(model.length, Distance::Cosine).memory(Memory::Cold).build();
            config.vector(model.vector(), meaning).build()
        }
        None => config.build(),
    }
}

/// Makes room for a model's vectors beside what is there.
pub fn new_vector(model: &Model) -> UpdateOperation {
    let config = VectorNameConfig::dense(DenseVectorConfig {
        size: model.length,
        distance: Distance::Cosine,
        multivector_config: None,
        datatype: None,
    });
    UpdateOperation::VectorNameOperation(VectorNameOperations::CreateVectorName(CreateVectorName {
        vector_name: model.vector(),
        config,
    }))
}

/// The labels that are looked up, each with its kind of look-up.
pub fn lookups() -> [(&'static str, PayloadFieldSchema); 6] {
    [
        (USER, uuids(true)),
        (DOCUMENT, uuids(false)),
        (COLLECTIONS, uuids(false)),
        (FEED, uuids(false)),
        (SOURCE, keywords()),
        (LANGUAGE, keywords()),
    ]
}

/// Makes a look-up.
pub fn new_lookup(label: &str, schema: PayloadFieldSchema) -> UpdateOperation {
    UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(CreateIndex {
        field_name: path(label),
        field_schema: Some(schema),
    }))
}

/// The engine's name of a label.
pub fn path(label: &str) -> JsonPath {
    JsonPath { first_key: label.to_owned(), rest: Vec::new() }
}

fn uuids(tenant: bool) -> PayloadFieldSchema {
    let params =
        UuidIndexParamsBuilder::new().is_tenant(tenant).memory(Memory::Cold).enable_hnsw(false).build();
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Uuid(params))
}

fn keywords() -> PayloadFieldSchema {
    let params = KeywordIndexParamsBuilder::new().memory(Memory::Cold).enable_hnsw(false).build();
    PayloadFieldSchema::FieldParams(PayloadSchemaParams::Keyword(params))
}
