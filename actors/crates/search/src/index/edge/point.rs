//! Points to the engine and hits back.

use std::collections::HashMap;

use qdrant_edge::external::serde_json::{Map, Value};
use qdrant_edge::{
    FacetValue, Payload, PointId, PointStructPersisted, ScoredPoint, SparseVector, VectorPersisted,
    VectorStructPersisted,
};
use uuid::Uuid;

use super::{filter, schema};
use crate::index::{Hit, Labels, Language, Point, Sparse, Tenant};

/// A passage as the engine keeps it; its meaning goes under the name of the model's vector.
pub fn stored(tenant: &Tenant, point: Point, vector: Option<&str>) -> PointStructPersisted {
    let mut payload = labels(&point.labels);
    payload.insert(schema::USER.to_owned(), text(tenant.0));
    payload.insert(schema::DOCUMENT.to_owned(), text(point.document));
    payload.insert(schema::VERSION.to_owned(), Value::from(point.version));
    payload.insert(schema::LANGUAGE.to_owned(), Value::from(point.language.code()));

    let mut vectors =
        HashMap::from([(schema::WORDS.to_owned(), VectorPersisted::Sparse(words(point.sparse)))]);
    if let (Some(name), Some(dense)) = (vector, point.dense) {
        vectors.insert(name.to_owned(), VectorPersisted::Dense(dense));
    }
    PointStructPersisted {
        id: PointId::Uuid(point.id),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(payload)),
    }
}

/// The labels that change without the text. Every one is written, so that an old one never stays behind.
pub fn labels(labels: &Labels) -> Map<String, Value> {
    let Labels { source, feed, collections } = labels;
    Map::from_iter([
        (schema::SOURCE.to_owned(), Value::from(filter::word(*source))),
        (schema::FEED.to_owned(), feed.map_or(Value::Null, text)),
        (schema::COLLECTIONS.to_owned(), collections.iter().copied().map(text).collect()),
    ])
}

/// The words in the engine's type.
pub fn words(sparse: Sparse) -> SparseVector {
    SparseVector { indices: sparse.indices, values: sparse.values }
}

/// A result of the engine; none if it is not a passage.
pub fn hit(scored: ScoredPoint) -> Option<Hit> {
    let document =
        scored.payload?.0.get(schema::DOCUMENT)?.as_str().and_then(|id| Uuid::try_parse(id).ok())?;
    Some(Hit { id: passage(scored.id)?, document, score: scored.score })
}

/// A passage's id; none for a number, which no passage has.
pub fn passage(id: PointId) -> Option<Uuid> {
    match id {
        PointId::Uuid(id) => Some(id),
        PointId::NumId(_) => None,
    }
}

/// The language that was counted.
pub fn language(value: &FacetValue) -> Option<Language> {
    match value {
        FacetValue::Keyword(code) => Language::of_code(code),
        FacetValue::Int(_) | FacetValue::Uuid(_) | FacetValue::Bool(_) => None,
    }
}

fn text(id: Uuid) -> Value {
    Value::from(id.to_string())
}
