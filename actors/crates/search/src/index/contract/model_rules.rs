//! The rules of indexes with the vectors of several models.

use super::{DIMENSIONS, dense_query, embedding, found_ids, id, point, tenant, word_query};
use crate::index::{
    Embedding, IndexError, IndexQuery, PassageEmbedding, PassageIndex, Point, Tenant, VectorModel,
};

/// An embedding of the model `b`.
pub fn embedding_b(vector: [f32; 3]) -> Embedding {
    Embedding { model: "b".to_owned(), vector: vector.to_vec() }
}

/// A query that finds every passage with an embedding of the model `b`.
fn query_b() -> IndexQuery {
    IndexQuery { dense: Some(embedding_b([1.0; 3])), depth: 10, ..IndexQuery::default() }
}

fn of_passage(number: u32, embedding: Embedding) -> PassageEmbedding {
    PassageEmbedding { passage: id(number.into()), embedding }
}

/// The vectors of a query are compared with those of its model alone.
pub fn vectors_of_two_models_are_searched_separately(index: &dyn PassageIndex) {
    let (a, b) = (embedding(vec![1.0; DIMENSIONS]), embedding_b([1.0; 3]));
    let passages = [vec![a.clone()], vec![b.clone()], vec![a, b]];
    let passages = (1..).zip(passages).map(|(number, dense)| Point { dense, ..point(number) });
    index.upsert(&tenant(), passages.collect()).unwrap();

    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(1), id(3)]);
    assert_eq!(found_ids(index, &tenant(), &query_b()), [id(2), id(3)]);
}

/// Words, labels and the vectors of other models stay when vectors are set, and vectors of the same model are replaced.
pub fn vectors_are_set_beside_those_of_another_model(index: &dyn PassageIndex) {
    let first = Point { dense: vec![embedding(vec![1.0; DIMENSIONS])], ..point(1) };
    index.upsert(&tenant(), vec![first, point(2)]).unwrap();
    let set = |vector| index.set_vectors(&tenant(), vec![of_passage(1, embedding_b(vector))]).unwrap();

    for vector in [[-1.0, 0.0, 0.0], [1.0, 1.0, 1.0]] {
        assert!(set(vector).is_empty());
    }

    let hits = index.search(&tenant(), &query_b()).unwrap().dense;
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(1)]);
    assert!((hits[0].score - 1.0).abs() < 1e-3, "{hits:?}");
    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(1)]);
    assert_eq!(found_ids(index, &tenant(), &word_query(1)), [id(1)]);
    assert_eq!(index.find_documents(&tenant(), &[id(1)]).unwrap()[&id(1)], id(1));
    assert_eq!(index.count().unwrap(), 2);
}

/// Passages that the index does not hold, or that are another tenant's, get no vectors, and are named.
pub fn vectors_are_set_for_passages_of_the_tenant_alone(index: &dyn PassageIndex) {
    let other = Tenant::of(id(2));
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    index.upsert(&other, vec![point(2)]).unwrap();
    let embeddings = [3, 2, 1].map(|number| of_passage(number, embedding_b([1.0; 3])));

    let missing = index.set_vectors(&tenant(), embeddings.to_vec()).unwrap();

    assert_eq!(missing, [id(3), id(2)]);
    assert_eq!(found_ids(index, &tenant(), &query_b()), [id(1)]);
    assert!(found_ids(index, &other, &query_b()).is_empty());
    assert_eq!(index.count().unwrap(), 2);
}

/// A vector of the length of another model, or of a model that the index does not have, is refused, and nothing is written.
pub fn vector_of_an_unknown_model_is_refused(index: &dyn PassageIndex) {
    index.upsert(&tenant(), vec![point(1)]).unwrap();
    let unknown = Embedding { model: "c".to_owned(), vector: vec![1.0; DIMENSIONS] };
    let long = Embedding { model: "b".to_owned(), vector: vec![1.0; DIMENSIONS] };

    for refused in [unknown, long] {
        let is_refused = |error: Option<IndexError>| match error {
            Some(IndexError::UnknownModel(model)) => refused.model == "c" && model == "c",
            Some(IndexError::Dimension { expected, actual }) => {
                refused.model == "b" && (expected, actual) == (DIMENSIONS - 1, DIMENSIONS)
            }
            _ => false,
        };
        let added = Point { dense: vec![refused.clone()], ..point(2) };
        let query = IndexQuery { dense: Some(refused.clone()), ..query_b() };

        assert!(is_refused(index.upsert(&tenant(), vec![added]).err()));
        assert!(is_refused(index.set_vectors(&tenant(), vec![of_passage(1, refused.clone())]).err()));
        assert!(is_refused(index.search(&tenant(), &query).err()));
    }
    assert_eq!(index.count().unwrap(), 1);
}

/// Passages get vectors of a model that is added, also those that were there before. Words and other vectors stay.
pub fn added_model_gets_vectors_beside_the_others(index: &dyn PassageIndex) {
    let dense = vec![embedding(vec![1.0; DIMENSIONS])];
    index.upsert(&tenant(), vec![Point { dense, ..point(1) }]).unwrap();
    let embedding_c = Embedding { model: "c".to_owned(), vector: vec![1.0; 2] };
    let query_c = IndexQuery { dense: Some(embedding_c.clone()), ..query_b() };
    assert!(matches!(index.search(&tenant(), &query_c), Err(IndexError::UnknownModel(_))));

    for _ in 0..2 {
        index.add_model(&VectorModel { name: "c".to_owned(), dimensions: 2 }).unwrap();
    }
    index.commit().unwrap();
    assert!(found_ids(index, &tenant(), &query_c).is_empty());
    assert!(index.set_vectors(&tenant(), vec![of_passage(1, embedding_c.clone())]).unwrap().is_empty());
    index.upsert(&tenant(), vec![Point { dense: vec![embedding_c], ..point(2) }]).unwrap();
    index.commit().unwrap();
    index.maintain().unwrap();

    assert_eq!(found_ids(index, &tenant(), &query_c), [id(1), id(2)]);
    assert_eq!(found_ids(index, &tenant(), &dense_query()), [id(1)]);
    assert_eq!(found_ids(index, &tenant(), &word_query(2)), [id(2)]);
}

/// The vectors of a deleted model are gone, also after the index was optimized, and the passages stay with their other vectors.
pub fn deleted_model_leaves_words_and_other_vectors(index: &dyn PassageIndex) {
    let dense = vec![embedding(vec![1.0; DIMENSIONS]), embedding_b([1.0; 3])];
    index.upsert(&tenant(), vec![Point { dense, ..point(1) }]).unwrap();

    for _ in 0..2 {
        index.delete_model("a").unwrap();
    }
    index.commit().unwrap();
    index.maintain().unwrap();

    assert!(matches!(index.search(&tenant(), &dense_query()), Err(IndexError::UnknownModel(_))));
    assert_eq!(found_ids(index, &tenant(), &query_b()), [id(1)]);
    assert_eq!(found_ids(index, &tenant(), &word_query(1)), [id(1)]);
    index.upsert(&tenant(), vec![Point { dense: vec![embedding_b([1.0; 3])], ..point(2) }]).unwrap();
    assert_eq!(found_ids(index, &tenant(), &query_b()), [id(1), id(2)]);
}
