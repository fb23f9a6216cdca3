//! Converts passages to points of the server, and its answers to hits.

use std::collections::HashMap;

use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::{
    DenseVector, FacetHit, ListValue, NamedVectors, PointId, PointStruct, PointVectors, RetrievedPoint,
    ScoredPoint, SparseVector as ServerSparseVector, Value, Vector, Vectors, facet_value, vector,
    vector_output,
};
use uuid::Uuid;

use crate::index::label::{Label, label_values, parse_labels};
use crate::index::language::Language;
use crate::index::passage::{Embedding, Labels, PassageEmbedding, Point, SparseVector, Tenant};
use crate::index::query::Hit;
use crate::index::schema;
use crate::index::vector_model::{VectorModel, vector_name};

/// Converts a passage. Its embeddings are stored under the names of the models' vectors. The payload is the one of the embedded engine.
pub fn to_server(tenant: &Tenant, point: Point) -> PointStruct {
    let mut payload = labels_payload(&point.labels, point.language);
    payload.insert(schema::USER.to_owned(), text_value(tenant.0.to_string()));
    payload.insert(schema::DOCUMENT.to_owned(), text_value(point.document.to_string()));
    payload.insert(schema::VERSION.to_owned(), Kind::IntegerValue(point.version).into());

    let words = vector::Vector::Sparse(sparse_to_server(point.sparse));
    let mut vectors = HashMap::from([(schema::WORDS_VECTOR.to_owned(), named(words))]);
    vectors.extend(point.dense.into_iter().map(named_embedding));
    PointStruct { id: Some(point_id(point.id)), payload, vectors: Some(vectors_of(vectors)) }
}

/// Converts the embedding of a passage that the collection holds.
pub fn vectors_to_server(embedding: PassageEmbedding) -> PointVectors {
    let PassageEmbedding { passage, embedding } = embedding;
    let vectors = HashMap::from([named_embedding(embedding)]);
    PointVectors { id: Some(point_id(passage)), vectors: Some(vectors_of(vectors)) }
}

/// Converts a point back to the passage and its owner; `None` if it is not a passage. Its embeddings are those of these models.
pub fn from_server(point: &RetrievedPoint, models: &[VectorModel]) -> Option<(Tenant, Point)> {
    let RetrievedPoint { payload, vectors, .. } = point;
    let Kind::ListValue(values) = payload.get(schema::LABELS)?.kind.as_ref()? else { return None };
    let (labels, language) = parse_labels(values.values.iter().filter_map(text_of))?;
    let Kind::IntegerValue(version) = payload.get(schema::VERSION)?.kind.as_ref()? else { return None };
    let vector = |name: &str| vectors.as_ref()?.get_vector_by_name(name);
    let sparse = match vector(schema::WORDS_VECTOR) {
        Some(vector_output::Vector::Sparse(words)) => {
            SparseVector { indices: words.indices, values: words.values }
        }
        Some(vector_output::Vector::Dense(_) | vector_output::Vector::MultiDense(_)) => return None,
        None => SparseVector::default(),
    };
    let mut dense = Vec::new();
    for model in models {
        match vector(&model.vector_name()) {
            Some(vector_output::Vector::Dense(DenseVector { data: vector })) => {
                dense.push(Embedding { model: model.name.clone(), vector });
            }
            Some(vector_output::Vector::Sparse(_) | vector_output::Vector::MultiDense(_)) => return None,
            None => {}
        }
    }
    let passage = Point {
        id: passage_id(point.id.as_ref())?,
        document: id_in(payload, schema::DOCUMENT)?,
        version: *version,
        labels,
        language,
        sparse,
        dense,
    };
    Some((Tenant(id_in(payload, schema::USER)?), passage))
}

/// Converts the labels of passages that were analysed in a language.
pub fn labels_payload(labels: &Labels, language: Language) -> HashMap<String, Value> {
    let values = label_values(labels, language).into_iter().map(text_value).collect();
    HashMap::from([(schema::LABELS.to_owned(), Kind::ListValue(ListValue { values }).into())])
}

/// Converts the weights of words.
pub fn sparse_to_server(sparse: SparseVector) -> ServerSparseVector {
    ServerSparseVector { values: sparse.values, indices: sparse.indices }
}

/// Converts the id of a passage.
pub fn point_id(id: Uuid) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(id.to_string())) }
}

/// Returns the id of a passage; `None` for a number, which no passage has.
pub fn passage_id(id: Option<&PointId>) -> Option<Uuid> {
    match id?.point_id_options.as_ref()? {
        PointIdOptions::Uuid(id) => Uuid::try_parse(id).ok(),
        PointIdOptions::Num(_) => None,
    }
}

/// Converts a hit; `None` if it is not a passage.
pub fn to_hit(scored: &ScoredPoint) -> Option<Hit> {
    Some(Hit { id: passage_id(scored.id.as_ref())?, score: scored.score })
}

/// Returns a hit with its document; `None` if it is not a passage.
pub fn document_of_hit(scored: &ScoredPoint) -> Option<(Uuid, Uuid)> {
    Some((passage_id(scored.id.as_ref())?, id_in(&scored.payload, schema::DOCUMENT)?))
}

/// Returns a passage with its document; `None` if it is not a passage of the tenant.
pub fn document_of(tenant: &Tenant, point: &RetrievedPoint) -> Option<(Uuid, Uuid)> {
    let is_own = id_in(&point.payload, schema::USER)? == tenant.0;
    is_own.then_some((passage_id(point.id.as_ref())?, id_in(&point.payload, schema::DOCUMENT)?))
}

/// Returns the language of a facet; `None` if it is not the label of one.
pub fn facet_language(hit: &FacetHit) -> Option<Language> {
    match hit.value.as_ref()?.variant.as_ref()? {
        facet_value::Variant::StringValue(value) => Label::parse(value)?.language(),
        facet_value::Variant::IntegerValue(_) | facet_value::Variant::BoolValue(_) => None,
    }
}

fn id_in(payload: &HashMap<String, Value>, field: &str) -> Option<Uuid> {
    Uuid::try_parse(text_of(payload.get(field)?)?).ok()
}

fn text_of(value: &Value) -> Option<&str> {
    let Kind::StringValue(text) = value.kind.as_ref()? else { return None };
    Some(text)
}

fn named(vector: vector::Vector) -> Vector {
    Vector { vector: Some(vector), ..Vector::default() }
}

fn named_embedding(embedding: Embedding) -> (String, Vector) {
    let dense = vector::Vector::Dense(DenseVector { data: embedding.vector });
    (vector_name(&embedding.model), named(dense))
}

fn vectors_of(vectors: HashMap<String, Vector>) -> Vectors {
    Vectors { vectors_options: Some(VectorsOptions::Vectors(NamedVectors { vectors })) }
}

fn text_value(text: String) -> Value {
    Kind::StringValue(text).into()
}
