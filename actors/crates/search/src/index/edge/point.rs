//! Converts passages to points of the engine, and results of the engine to hits.

use std::collections::HashMap;

use qdrant_edge::external::serde_json::{Map, Value};
use qdrant_edge::{
    FacetValue, Payload, PointId, PointStructPersisted, Record, ScoredPoint,
    SparseVector as EngineSparseVector, VectorPersisted, VectorStructPersisted,
};
use uuid::Uuid;

use super::schema;
use crate::index::label::{Label, label_values};
use crate::index::language::Language;
use crate::index::passage::{Labels, Point, SparseVector, Tenant};
use crate::index::query::Hit;

/// Converts a passage. Its embedding is stored under the name of the model's vector.
pub fn to_engine(tenant: &Tenant, point: Point, vector_name: Option<&str>) -> PointStructPersisted {
    let mut payload = labels_payload(&point.labels, point.language);
    payload.insert(schema::USER.to_owned(), id_value(tenant.0));
    payload.insert(schema::DOCUMENT.to_owned(), id_value(point.document));
    payload.insert(schema::VERSION.to_owned(), Value::from(point.version));

    let words = VectorPersisted::Sparse(sparse_to_engine(point.sparse));
    let mut vectors = HashMap::from([(schema::WORDS_VECTOR.to_owned(), words)]);
    if let (Some(name), Some(dense)) = (vector_name, point.dense) {
        vectors.insert(name.to_owned(), VectorPersisted::Dense(dense));
    }
    PointStructPersisted {
        id: PointId::Uuid(point.id),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(payload)),
    }
}

/// Converts the labels of passages that were analysed in a language.
pub fn labels_payload(labels: &Labels, language: Language) -> Map<String, Value> {
    Map::from_iter([(schema::LABELS.to_owned(), label_values(labels, language).into())])
}

/// Converts the weights of words.
pub fn sparse_to_engine(sparse: SparseVector) -> EngineSparseVector {
    EngineSparseVector { indices: sparse.indices, values: sparse.values }
}

/// Converts a result of the engine; `None` if it is not a passage.
pub fn to_hit(scored: &ScoredPoint) -> Option<Hit> {
    Some(Hit { id: passage_id(scored.id)?, score: scored.score })
}

/// Returns a passage with its document, from its payload; `None` if it is not a passage of the tenant.
pub fn document_of(tenant: &Tenant, record: Record) -> Option<(Uuid, Uuid)> {
    let payload = record.payload?;
    let id = |field: &str| payload.0.get(field)?.as_str().and_then(|id| Uuid::try_parse(id).ok());
    (id(schema::USER)? == tenant.0).then_some((passage_id(record.id)?, id(schema::DOCUMENT)?))
}

/// Returns the id of a passage; `None` for a number, which no passage has.
pub fn passage_id(id: PointId) -> Option<Uuid> {
    match id {
        PointId::Uuid(id) => Some(id),
        PointId::NumId(_) => None,
    }
}

/// Returns the language of a facet; `None` if it is not the label of one.
pub fn facet_language(value: &FacetValue) -> Option<Language> {
    match value {
        FacetValue::Keyword(value) => Label::parse(value)?.language(),
        FacetValue::Int(_) | FacetValue::Uuid(_) | FacetValue::Bool(_) => None,
    }
}

/// Returns the tenant of a facet; `None` if it is not the id of one.
pub fn facet_tenant(value: &FacetValue) -> Option<Tenant> {
    match value {
        FacetValue::Uuid(id) => Some(Tenant(Uuid::from_u128(*id))),
        FacetValue::Keyword(_) | FacetValue::Int(_) | FacetValue::Bool(_) => None,
    }
}

fn id_value(id: Uuid) -> Value {
    // As text, which is what the engine's index of UUIDs reads.
    Value::from(id.to_string())
}
