//! Loads the shard of the engine from its folder.

use std::path::Path;

use qdrant_edge::{EdgeShard, OperationError};

use super::schema;
use crate::index::vector_model::VectorModel;

/// Returns whether a folder holds a shard.
pub fn exists_in(folder: &Path) -> bool {
    // The settings of the engine, which every shard has.
    folder.join("edge_config.json").exists()
}

/// Loads the shard of a folder, or creates one there. Adds the vectors of the models and the payload indexes that it lacks.
pub fn load_shard(folder: &Path, models: &[VectorModel]) -> Result<EdgeShard, OperationError> {
    let shard = if exists_in(folder) {
        // Without vectors: the stored ones stay, and settings of a newer version of the server apply to an old shard.
        EdgeShard::load(folder, Some(schema::tunable_config().build()))?
    } else {
        EdgeShard::new(folder, schema::new_config(models))?
    };
    require_format(&shard)?;
    add_missing(&shard, models)?;
    Ok(shard)
}

/// Refuses a shard with an index of a payload field that this version of the server does not have, or without its vector of words: another
/// version wrote its passages, and filters or queries would not match them. The refusal counts as damage, so the shard is replaced and
/// filled again from the database.
fn require_format(shard: &EdgeShard) -> Result<(), OperationError> {
    if !shard.config().sparse_vectors.contains_key(schema::WORDS_VECTOR) {
        return Err(OperationError::inconsistent_storage(format!(
            "it has no vector `{}`, so another version of the server wrote it",
            schema::WORDS_VECTOR
        )));
    }
    let fields = schema::payload_indexes().map(|(field, _)| schema::field_path(field));
    match shard.info()?.payload_schema.keys().find(|path| !fields.contains(path)) {
        Some(path) => Err(OperationError::inconsistent_storage(format!(
            "it has an index of the payload field `{path}`, so another version of the server wrote it"
        ))),
        None => Ok(()),
    }
}

/// Adds what an older or incomplete shard lacks: the vectors of models, and payload indexes.
fn add_missing(shard: &EdgeShard, models: &[VectorModel]) -> Result<(), OperationError> {
    for model in models {
        let has_vector = shard.config().vectors.contains_key(&model.vector_name());
        if !has_vector {
            shard.update(schema::create_vector(model))?;
        }
    }
    let existing = shard.info()?.payload_schema;
    for (field, kind) in schema::payload_indexes() {
        if !existing.contains_key(&schema::field_path(field)) {
            shard.update(schema::create_payload_index(field, kind))?;
        }
    }
    shard.flush()
}

#[cfg(test)]
mod tests {
    use qdrant_edge::{EdgeSparseVectorParamsBuilder, Modifier};

    use super::*;
    use crate::index::edge::fault::classify;
    use crate::index::fault::EngineFault;

    #[test]
    fn shard_with_another_vector_of_words_counts_as_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let words = EdgeSparseVectorParamsBuilder::new().modifier(Modifier::Idf).build();
        let config = schema::tunable_config().sparse_vector("bm25", words).build();
        drop(EdgeShard::new(folder.path(), config).unwrap());

        let refused = load_shard(folder.path(), &[]).err().unwrap();

        assert_eq!(classify(&refused), EngineFault::Damage);
        assert!(refused.to_string().contains(&format!("`{}`", schema::WORDS_VECTOR)), "{refused}");
    }

    #[test]
    fn shard_of_another_format_counts_as_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let shard = load_shard(folder.path(), &[]).unwrap();
        let [(_, kind), ..] = schema::payload_indexes();
        shard.update(schema::create_payload_index("lang", kind)).unwrap();
        drop(shard);

        let refused = load_shard(folder.path(), &[]).err().unwrap();

        assert_eq!(classify(&refused), EngineFault::Damage);
        assert!(refused.to_string().contains("`lang`"), "{refused}");
    }
}
