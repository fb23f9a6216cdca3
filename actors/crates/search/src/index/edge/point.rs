//! Converts passages to points of the engine, and results of the engine to hits.

use std::collections::HashMap;

use qdrant_edge::external::serde_json::{Map, Value};
use qdrant_edge::{
    FacetValue, Payload, PointId, PointStructPersisted, PointVectorsPersisted, Record, ScoredPoint,
    SparseVector as EngineSparseVector, VectorInternal, VectorPersisted, VectorStructInternal,
    VectorStructPersisted,
};
use uuid::Uuid;

use super::schema;
use super::word_counts::PassageWords;
use crate::index::label::{Label, label_values, parse_labels};
use crate::index::language::Language;
use crate::index::passage::{Embedding, Labels, PassageEmbedding, Point, SparseVector, Tenant};
use crate::index::query::Hit;
use crate::index::vector_model::{VectorModel, vector_name};

/// Converts a passage. Its embeddings are stored under the names of the models' vectors.
pub fn to_engine(tenant: &Tenant, point: Point) -> PointStructPersisted {
    let mut payload = labels_payload(&point.labels, point.language);
    payload.insert(schema::USER.to_owned(), id_value(tenant.0));
    payload.insert(schema::DOCUMENT.to_owned(), id_value(point.document));
    payload.insert(schema::VERSION.to_owned(), Value::from(point.version));

    let words = VectorPersisted::Sparse(sparse_to_engine(point.sparse));
    let mut vectors = HashMap::from([(schema::WORDS_VECTOR.to_owned(), words)]);
    vectors.extend(point.dense.into_iter().map(named_vector));
    PointStructPersisted {
        id: PointId::Uuid(point.id),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(payload)),
    }
}

/// Converts a point back to the passage and its owner; `None` if it is not a passage. Its embeddings are those of these models.
pub fn from_engine(record: Record, models: &[VectorModel]) -> Option<(Tenant, Point)> {
    let fields = record.payload?.0;
    let id_in = |field: &str| fields.get(field)?.as_str().and_then(|id| Uuid::try_parse(id).ok());
    let values = fields.get(schema::LABELS)?.as_array()?;
    let (labels, language) = parse_labels(values.iter().filter_map(Value::as_str))?;
    let mut vectors = match record.vector {
        Some(VectorStructInternal::Named(vectors)) => vectors,
        Some(VectorStructInternal::Single(_) | VectorStructInternal::MultiDense(_)) => return None,
        None => HashMap::new(),
    };
    let sparse = match vectors.remove(schema::WORDS_VECTOR) {
        Some(VectorInternal::Sparse(words)) => SparseVector { indices: words.indices, values: words.values },
        Some(VectorInternal::Dense(_) | VectorInternal::MultiDense(_)) => return None,
        None => SparseVector::default(),
    };
    let mut dense = Vec::new();
    for model in models {
        match vectors.remove(&model.vector_name()) {
            Some(VectorInternal::Dense(vector)) => {
                dense.push(Embedding { model: model.name.clone(), vector });
            }
            Some(VectorInternal::Sparse(_) | VectorInternal::MultiDense(_)) => return None,
            None => {}
        }
    }
    let point = Point {
        id: passage_id(record.id)?,
        document: id_in(schema::DOCUMENT)?,
        version: fields.get(schema::VERSION)?.as_i64()?,
        labels,
        language,
        sparse,
        dense,
    };
    Some((Tenant(id_in(schema::USER)?), point))
}

/// Returns the owner and the words of a point that was read with its payload and this vector; `None` if it is not a passage.
pub fn words_of(record: Record) -> Option<(Tenant, PassageWords)> {
    let owner = record.payload?.0.get(schema::USER)?.as_str().and_then(|id| Uuid::try_parse(id).ok())?;
    let words = match record.vector {
        Some(VectorStructInternal::Named(mut vectors)) => match vectors.remove(schema::WORDS_VECTOR) {
            Some(VectorInternal::Sparse(words)) => words.indices,
            Some(VectorInternal::Dense(_) | VectorInternal::MultiDense(_)) => return None,
            None => Vec::new(),
        },
        Some(VectorStructInternal::Single(_) | VectorStructInternal::MultiDense(_)) => return None,
        None => Vec::new(),
    };
    Some((Tenant(owner), PassageWords { passage: passage_id(record.id)?, words }))
}

/// Converts the embedding of a passage that the shard holds.
pub fn vectors_to_engine(embedding: PassageEmbedding) -> PointVectorsPersisted {
    let PassageEmbedding { passage, embedding } = embedding;
    let vectors = HashMap::from([named_vector(embedding)]);
    PointVectorsPersisted { id: PointId::Uuid(passage), vector: VectorStructPersisted::Named(vectors) }
}

fn named_vector(embedding: Embedding) -> (String, VectorPersisted) {
    (vector_name(&embedding.model), VectorPersisted::Dense(embedding.vector))
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
