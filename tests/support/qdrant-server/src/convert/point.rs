//! Points: their ids, vectors and payloads.

use std::collections::HashMap;

use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::{
    DenseVector, NamedVectorsOutput, PointId, PointStruct, PointVectors, RetrievedPoint, ScoredPoint,
    SparseVector, VectorOutput, Vectors, VectorsOutput, WithVectorsSelector, vector, vector_output,
    vectors_output, with_vectors_selector,
};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{
    PointId as EngineId, PointStructPersisted, PointVectorsPersisted, Record,
    ScoredPoint as EngineScoredPoint, SparseVector as EngineSparseVector, VectorInternal, VectorPersisted,
    VectorStructInternal, VectorStructPersisted, WithVector,
};
use tonic::Status;

use super::invalid;
use super::value::{payload_from_engine, payload_to_engine};

/// Converts the id of a point, which is a UUID.
pub fn id_to_engine(id: Option<PointId>) -> Result<EngineId, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Uuid(id)) => {
            let id = Uuid::try_parse(&id).map_err(|_| invalid("Unable to parse UUID"))?;
            Ok(EngineId::Uuid(id))
        }
        Some(PointIdOptions::Num(_)) | None => Err(invalid("the id of a point is no UUID")),
    }
}

/// Converts the ids of points.
pub fn ids_to_engine(ids: Vec<PointId>) -> Result<Vec<EngineId>, Status> {
    ids.into_iter().map(|id| id_to_engine(Some(id))).collect()
}

/// Converts an id of the engine.
pub fn id_from_engine(id: EngineId) -> PointId {
    let id = match id {
        EngineId::Uuid(id) => PointIdOptions::Uuid(id.to_string()),
        EngineId::NumId(number) => PointIdOptions::Num(number),
    };
    PointId { point_id_options: Some(id) }
}

/// Converts a point to be written.
pub fn point_to_engine(point: PointStruct) -> Result<PointStructPersisted, Status> {
    let id = id_to_engine(point.id)?;
    let vectors = named_vectors(point.vectors)?;
    let vector = VectorStructPersisted::Named(vectors);
    Ok(PointStructPersisted { id, vector, payload: Some(payload_to_engine(point.payload)) })
}

/// Converts the new vectors of a point.
pub fn vectors_to_engine(point: PointVectors) -> Result<PointVectorsPersisted, Status> {
    let (id, vectors) = (id_to_engine(point.id)?, named_vectors(point.vectors)?);
    Ok(PointVectorsPersisted { id, vector: VectorStructPersisted::Named(vectors) })
}

/// Converts the vectors of a point, which have names.
pub fn named_vectors(vectors: Option<Vectors>) -> Result<HashMap<String, VectorPersisted>, Status> {
    let Some(VectorsOptions::Vectors(named)) = vectors.and_then(|vectors| vectors.vectors_options) else {
        return Err(invalid("vectors without names"));
    };
    let convert = |(name, vector): (String, qdrant_client::qdrant::Vector)| {
        let converted = if let Some(vector::Vector::Dense(dense)) = vector.vector {
            VectorPersisted::Dense(dense.data)
        } else if let Some(vector::Vector::Sparse(sparse)) = vector.vector {
            VectorPersisted::Sparse(sparse_to_engine(sparse))
        } else {
            return Err(invalid("a vector of another kind"));
        };
        Ok((name, converted))
    };
    named.vectors.into_iter().map(convert).collect()
}

/// Converts the weights of words.
pub fn sparse_to_engine(sparse: SparseVector) -> EngineSparseVector {
    EngineSparseVector { indices: sparse.indices, values: sparse.values }
}

/// Converts which vectors a response has.
pub fn vector_selector(selector: Option<WithVectorsSelector>) -> WithVector {
    match selector.and_then(|selector| selector.selector_options) {
        None => WithVector::Bool(false),
        Some(with_vectors_selector::SelectorOptions::Enable(all)) => WithVector::Bool(all),
        Some(with_vectors_selector::SelectorOptions::Include(selected)) => {
            WithVector::Selector(selected.names)
        }
    }
}

/// Converts a point that was read.
pub fn record_from_engine(record: Record) -> RetrievedPoint {
    RetrievedPoint {
        id: Some(id_from_engine(record.id)),
        payload: payload_from_engine(record.payload),
        vectors: record.vector.and_then(vectors_from_engine),
        ..RetrievedPoint::default()
    }
}

/// Converts a point that a search found.
pub fn scored_from_engine(scored: EngineScoredPoint) -> ScoredPoint {
    ScoredPoint {
        id: Some(id_from_engine(scored.id)),
        payload: payload_from_engine(scored.payload),
        score: scored.score,
        version: scored.version,
        ..ScoredPoint::default()
    }
}

fn vectors_from_engine(vectors: VectorStructInternal) -> Option<VectorsOutput> {
    let VectorStructInternal::Named(vectors) = vectors else { return None };
    let convert = |(name, vector)| {
        let vector = match vector {
            VectorInternal::Dense(data) => vector_output::Vector::Dense(DenseVector { data }),
            VectorInternal::Sparse(sparse) => {
                vector_output::Vector::Sparse(SparseVector { values: sparse.values, indices: sparse.indices })
            }
            VectorInternal::MultiDense(_) => return None,
        };
        Some((name, VectorOutput { vector: Some(vector), ..VectorOutput::default() }))
    };
    let vectors = NamedVectorsOutput { vectors: vectors.into_iter().filter_map(convert).collect() };
    Some(VectorsOutput { vectors_options: Some(vectors_output::VectorsOptions::Vectors(vectors)) })
}
