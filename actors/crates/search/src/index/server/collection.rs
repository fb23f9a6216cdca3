//! The collection of an index: created when it is missing, and completed when it lacks the vector of a model or an index of a field.

use std::collections::HashMap;
use std::time::Duration;

use qdrant_client::qdrant::payload_index_params::IndexParams;
use qdrant_client::qdrant::quantization_config::Quantization;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{
    CollectionConfig, CollectionInfo, CollectionParams, CreateCollection, CreateFieldIndexCollection,
    CreateVectorNameRequest, DenseVectorCreationConfig, Distance, FieldType, HnswConfigDiff, IdTrackerParams,
    IntegerIndexParams, KeywordIndexParams, Memory, Modifier, OptimizersConfigDiff, PayloadIndexParams,
    PayloadStorageParams, QuantizationConfig, QuantizationType, ScalarQuantization, SparseIndexConfig,
    SparseVectorConfig, SparseVectorParams, StrictModeConfig, UpdateCollection, UuidIndexParams, Value,
    VectorParams, VectorParamsMap, VectorsConfig, create_vector_name_request, vectors_config,
};
use tracing::warn;

use super::call_error::CallError;
use super::connection::{PROBE_DEADLINE, READ_DEADLINE, ServerConnection, WRITE_DEADLINE};
use crate::index::index_error::IndexError;
use crate::index::schema;
use crate::index::vector_model::VectorModel;

/// The oldest server that counts words among the passages of one user alone. An older one would ignore that request, and rank by those of
/// all users, without a word.
const MIN_VERSION: (u32, u32) = (1, 19);
/// The key of the id of the database in the metadata of its collection.
const OWNER_KEY: &str = "carrel_database";
/// A segment gets quantized vectors from this many kilobytes, as in the embedded engine.
const INDEXING_THRESHOLD_KB: u64 = 4_000;

/// How the collection of an index is created. An existing one stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionSettings {
    /// Its name.
    pub name: String,
    /// Number of its shards, from 1.
    pub shards: u32,
    /// Number of copies of each shard, from 1.
    pub replication_factor: u32,
    /// Number of copies that must have a write before it is answered, from 1 to `replication_factor`.
    pub write_consistency: u32,
}

/// Why a collection cannot be used, in the words of the operator's settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionFault {
    /// The server is too old.
    #[error("the Qdrant server has version {0}; version 1.19 or later is needed")]
    ServerVersion(String),
    /// The server refuses a request, and would do so again.
    #[error("the Qdrant server that vectors.url names refuses a request: {0}")]
    Refused(CallError),
    /// The collection holds the index of another database, which would delete the passages of this one.
    #[error(
        "the collection {0} of the Qdrant server holds the index of another database; set another name in vectors.collection, or delete \
         the collection if that database is gone"
    )]
    OtherDatabase(String),
    /// The collection belongs to another program.
    #[error(
        "the collection {name} of the Qdrant server is no passage index: {reason}; set another name in vectors.collection"
    )]
    Foreign {
        /// Name of the collection.
        name: String,
        /// What it has or lacks.
        reason: String,
    },
}

/// Refuses a server that is too old.
///
/// # Errors
/// [`IndexError::Open`] with the version; [`IndexError::Unreachable`].
pub fn require_version(connection: &ServerConnection) -> Result<(), IndexError> {
    let reply = connection.call(PROBE_DEADLINE, |client| async move { client.health_check().await });
    let version = reply.map_err(open_error(connection))?.version;
    if parse_version(&version).is_some_and(|version| version >= MIN_VERSION) {
        Ok(())
    } else {
        Err(IndexError::Open(Box::new(CollectionFault::ServerVersion(version))))
    }
}

/// Creates the collection if the server does not have it, and adds the vectors of the models and the indexes of fields that it lacks. The
/// collection belongs to the database with the id `owner` from then on.
///
/// # Errors
/// [`IndexError::Open`] when the collection belongs to another program or another database; [`IndexError::Unreachable`].
pub fn prepare(
    connection: &ServerConnection,
    settings: &CollectionSettings,
    owner: &str,
    models: &[VectorModel],
) -> Result<(), IndexError> {
    let open_error = open_error(connection);
    let info = match read_info(connection, &settings.name, READ_DEADLINE) {
        Ok(info) => info,
        Err(error) if error.is_not_found() => {
            create(connection, settings, models).map_err(&open_error)?;
            read_info(connection, &settings.name, READ_DEADLINE).map_err(&open_error)?
        }
        Err(error) => return Err(open_error(error)),
    };
    let CollectionConfig { params, metadata, .. } = info.config.unwrap_or_default();
    let params = params.unwrap_or_default();
    require_format(settings, &params, info.payload_schema.keys())?;
    let differences = other_settings(settings, &params);
    if !differences.is_empty() {
        let (collection, differences) = (&settings.name, differences.join(", "));
        warn!(
            collection,
            differences,
            "the collection of the Qdrant server was created with other settings, and keeps them"
        );
    }
    match metadata_text(&metadata, OWNER_KEY) {
        Some(found) if found != owner => {
            let fault = CollectionFault::OtherDatabase(settings.name.clone());
            return Err(IndexError::Open(Box::new(fault)));
        }
        Some(_) => {}
        None => write_metadata(connection, &settings.name, OWNER_KEY, owner).map_err(&open_error)?,
    }
    for model in models {
        add_vector(connection, settings, &params, model)?;
    }
    for (field, field_type, index) in payload_indexes() {
        if !info.payload_schema.contains_key(field) {
            let request = CreateFieldIndexCollection {
                collection_name: settings.name.clone(),
                wait: Some(true),
                field_name: field.to_owned(),
                field_type: Some(field_type.into()),
                field_index_params: Some(PayloadIndexParams { index_params: Some(index) }),
                ..CreateFieldIndexCollection::default()
            };
            let created = connection
                .call(WRITE_DEADLINE, |client| async move { client.create_field_index(request).await });
            created.map_err(&open_error)?;
        }
    }
    Ok(())
}

/// Reads what the server knows of a collection.
pub fn read_info(
    connection: &ServerConnection,
    name: &str,
    deadline: Duration,
) -> Result<CollectionInfo, CallError> {
    let name = name.to_owned();
    let info = connection.call(deadline, |client| async move { client.collection_info(name).await })?;
    info.result.ok_or_else(|| CallError::Unsent("the answer has no collection".to_owned()))
}

/// Adds a text to the metadata of a collection, or replaces it.
pub fn write_metadata(
    connection: &ServerConnection,
    name: &str,
    key: &str,
    text: &str,
) -> Result<(), CallError> {
    let value = Value { kind: Some(Kind::StringValue(text.to_owned())) };
    let request = UpdateCollection {
        collection_name: name.to_owned(),
        metadata: HashMap::from([(key.to_owned(), value)]),
        ..UpdateCollection::default()
    };
    let written =
        connection.call(READ_DEADLINE, |client| async move { client.update_collection(request).await });
    written.map(drop)
}

/// Returns a text of the metadata of a collection.
pub fn metadata_text<'a>(metadata: &'a HashMap<String, Value>, key: &str) -> Option<&'a str> {
    match metadata.get(key)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text),
        Kind::NullValue(_)
        | Kind::DoubleValue(_)
        | Kind::IntegerValue(_)
        | Kind::BoolValue(_)
        | Kind::StructValue(_)
        | Kind::ListValue(_) => None,
    }
}

/// Returns how a failure becomes an error of opening the index. A request that the server refuses does so whenever it is repeated.
fn open_error(connection: &ServerConnection) -> impl Fn(CallError) -> IndexError {
    move |error| {
        if error.is_fault_of_server() {
            error.into_index_error("open", connection.wait())
        } else {
            IndexError::Open(Box::new(CollectionFault::Refused(error)))
        }
    }
}

fn create(
    connection: &ServerConnection,
    settings: &CollectionSettings,
    models: &[VectorModel],
) -> Result<(), CallError> {
    let request = creation(settings, models);
    let created =
        connection.call(WRITE_DEADLINE, |client| async move { client.create_collection(request).await });
    match created {
        // Another node of the server was faster.
        Err(error) if error.is_already_there() => Ok(()),
        created => created.map(|_| ()),
    }
}

/// Returns the request that creates a collection, with the settings of the embedded engine.
fn creation(settings: &CollectionSettings, models: &[VectorModel]) -> CreateCollection {
    let cold = Some(Memory::Cold.into());
    let vectors = models.iter().map(|model| (model.vector_name(), vector_params(model))).collect();
    let index =
        SparseIndexConfig { full_scan_threshold: Some(1), memory: cold, ..SparseIndexConfig::default() };
    let words = SparseVectorParams { index: Some(index), modifier: Some(Modifier::Idf.into()) };
    let quantized_vectors = ScalarQuantization {
        r#type: QuantizationType::Int8.into(),
        quantile: Some(0.99),
        memory: cold,
        ..ScalarQuantization::default()
    };
    CreateCollection {
        collection_name: settings.name.clone(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map: vectors })),
        }),
        sparse_vectors_config: Some(SparseVectorConfig {
            map: HashMap::from([(schema::WORDS_VECTOR.to_owned(), words)]),
        }),
        // No graph: among the passages of one user a scan misses nothing, and of quantized vectors it is fast enough.
        hnsw_config: Some(HnswConfigDiff { m: Some(0), payload_m: Some(0), ..HnswConfigDiff::default() }),
        quantization_config: Some(QuantizationConfig {
            quantization: Some(Quantization::Scalar(quantized_vectors)),
        }),
        optimizers_config: Some(OptimizersConfigDiff {
            indexing_threshold: Some(INDEXING_THRESHOLD_KB),
            ..OptimizersConfigDiff::default()
        }),
        shard_number: Some(settings.shards),
        replication_factor: Some(settings.replication_factor),
        write_consistency_factor: Some(settings.write_consistency),
        payload: Some(PayloadStorageParams { memory: cold }),
        id_tracker: Some(IdTrackerParams { memory: cold }),
        // Its limits are for clients that the operator of a server does not know.
        strict_mode_config: Some(StrictModeConfig { enabled: Some(false), ..StrictModeConfig::default() }),
        ..CreateCollection::default()
    }
}

fn vector_params(model: &VectorModel) -> VectorParams {
    VectorParams {
        size: vector_size(model),
        distance: Distance::Cosine.into(),
        memory: Some(Memory::Cold.into()),
        ..VectorParams::default()
    }
}

fn vector_size(model: &VectorModel) -> u64 {
    u64::try_from(model.dimensions).unwrap_or(u64::MAX)
}

/// Returns the payload fields that are filtered, with their indexes. A server in strict mode refuses filters on other fields.
fn payload_indexes() -> [(&'static str, FieldType, IndexParams); 4] {
    let memory = Some(Memory::Cold.into());
    let enable_hnsw = Some(false);
    let uuid = |is_tenant| {
        let is_tenant = Some(is_tenant);
        IndexParams::UuidIndexParams(UuidIndexParams { is_tenant, enable_hnsw, memory, ..Default::default() })
    };
    let keyword = KeywordIndexParams { enable_hnsw, memory, ..KeywordIndexParams::default() };
    let integer = IntegerIndexParams {
        lookup: Some(true),
        range: Some(false),
        enable_hnsw,
        memory,
        ..IntegerIndexParams::default()
    };
    [
        (schema::USER, FieldType::Uuid, uuid(true)),
        (schema::DOCUMENT, FieldType::Uuid, uuid(false)),
        (schema::LABELS, FieldType::Keyword, IndexParams::KeywordIndexParams(keyword)),
        (schema::VERSION, FieldType::Integer, IndexParams::IntegerIndexParams(integer)),
    ]
}

/// Refuses a collection without the vector of words, or with an index of a payload field that this version of the server does not have:
/// another program or another version wrote its points, and filters would not match them.
fn require_format<'a>(
    settings: &CollectionSettings,
    params: &CollectionParams,
    mut indexed_fields: impl Iterator<Item = &'a String>,
) -> Result<(), IndexError> {
    let sparse = params.sparse_vectors_config.as_ref();
    let words = sparse.and_then(|config| config.map.get(schema::WORDS_VECTOR));
    if words.is_none_or(|words| words.modifier != Some(Modifier::Idf.into())) {
        let name = schema::WORDS_VECTOR;
        return Err(foreign(
            settings,
            format!("it has no sparse vectors `{name}` with document frequencies"),
        ));
    }
    let own = payload_indexes().map(|(field, ..)| field);
    match indexed_fields.find(|field| !own.contains(&field.as_str())) {
        Some(field) => Err(foreign(settings, format!("it has an index of the payload field `{field}`"))),
        None => Ok(()),
    }
}

/// Returns the settings that a collection has with another value, each with both.
fn other_settings(settings: &CollectionSettings, params: &CollectionParams) -> Vec<String> {
    let compared = [
        ("vectors.shards", settings.shards, Some(params.shard_number)),
        ("vectors.replication_factor", settings.replication_factor, params.replication_factor),
        ("vectors.write_consistency", settings.write_consistency, params.write_consistency_factor),
    ];
    compared
        .into_iter()
        .map(|(name, set, found)| (name, set, found.unwrap_or(1)))
        .filter(|(_, set, found)| set != found)
        .map(|(name, set, found)| format!("{name} is {set} and the collection has {found}"))
        .collect()
}

/// Returns whether a collection has vectors with this name.
pub fn has_vector(params: &CollectionParams, name: &str) -> bool {
    let config = params.vectors_config.as_ref().and_then(|config| config.config.as_ref());
    matches!(config, Some(vectors_config::Config::ParamsMap(vectors)) if vectors.map.contains_key(name))
}

/// Adds the vector of a model to an existing collection if that lacks it.
///
/// # Errors
/// [`IndexError::Open`] when the collection has vectors of another length with its name; [`IndexError::Unreachable`].
pub fn add_model(
    connection: &ServerConnection,
    settings: &CollectionSettings,
    model: &VectorModel,
) -> Result<(), IndexError> {
    let info = read_info(connection, &settings.name, READ_DEADLINE);
    let info = info.map_err(|error| error.into_index_error("add vectors to", connection.wait()))?;
    let params = info.config.and_then(|config| config.params).unwrap_or_default();
    add_vector(connection, settings, &params, model)
}

/// Adds the vector of a model to a collection that lacks it.
fn add_vector(
    connection: &ServerConnection,
    settings: &CollectionSettings,
    params: &CollectionParams,
    model: &VectorModel,
) -> Result<(), IndexError> {
    let config = params.vectors_config.as_ref().and_then(|config| config.config.as_ref());
    let existing = match config {
        Some(vectors_config::Config::ParamsMap(vectors)) => vectors.map.get(&model.vector_name()),
        Some(vectors_config::Config::Params(_)) => {
            return Err(foreign(settings, "its vectors have no names".to_owned()));
        }
        None => None,
    };
    if let Some(existing) = existing {
        if existing.size == vector_size(model) {
            return Ok(());
        }
        let (size, expected) = (existing.size, model.dimensions);
        return Err(foreign(
            settings,
            format!("its vectors have {size} dimensions, and the model has {expected}"),
        ));
    }
    let dense = DenseVectorCreationConfig {
        size: vector_size(model),
        distance: Distance::Cosine.into(),
        ..DenseVectorCreationConfig::default()
    };
    let request = CreateVectorNameRequest {
        collection_name: settings.name.clone(),
        wait: Some(true),
        vector_name: model.vector_name(),
        vector_config: Some(create_vector_name_request::VectorConfig::DenseConfig(dense)),
        ..CreateVectorNameRequest::default()
    };
    let created =
        connection.call(WRITE_DEADLINE, |client| async move { client.create_vector_name(request).await });
    match created {
        Err(error) if !error.is_already_there() => Err(open_error(connection)(error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn foreign(settings: &CollectionSettings, reason: String) -> IndexError {
    IndexError::Open(Box::new(CollectionFault::Foreign { name: settings.name.clone(), reason }))
}

/// Returns the first two numbers of a version such as `1.19.2-dev`; `None` if it has none.
fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_a_collection_has_otherwise_are_named() {
        let name = "carrel".to_owned();
        let settings = CollectionSettings { name, shards: 2, replication_factor: 3, write_consistency: 1 };
        let created =
            CollectionParams { shard_number: 2, replication_factor: Some(3), ..CollectionParams::default() };

        assert!(other_settings(&settings, &created).is_empty());
        let other = CollectionParams { shard_number: 1, replication_factor: None, ..created };
        assert_eq!(
            other_settings(&settings, &other),
            [
                "vectors.shards is 2 and the collection has 1",
                "vectors.replication_factor is 3 and the collection has 1"
            ]
        );
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, is_new_enough) in [
            ("1.19.0", true),
            ("v1.20.3-dev", true),
            ("1.100.0", true),
            ("2.0.0", true),
            ("1.18.9", false),
            ("1.9.9", false),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(parse_version(version).is_some_and(|v| v >= MIN_VERSION), is_new_enough, "{version}");
        }
    }
}
