//! The server answers the client of Qdrant, and refuses what Carrel must not send.

use std::collections::HashMap;

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    Condition, CreateCollection, DeletePoints, FacetCounts, Filter, HnswConfigDiff, PointsSelector,
    SparseVectorConfig, SparseVectorParams, UpdateCollection, Value, VectorParamsMap, VectorsConfig,
};
use qdrant_client::{Qdrant, QdrantError};
use tonic::Code;

use super::{ServerOptions, TestQdrant};

const NAME: &str = "passages";

fn client(server: &TestQdrant, key: Option<&str>) -> Qdrant {
    Qdrant::from_url(&server.url()).api_key(key).skip_compatibility_check().build().unwrap()
}

async fn create(client: &Qdrant) -> Result<(), QdrantError> {
    let words = HashMap::from([("bm25".to_owned(), SparseVectorParams::default())]);
    let request = CreateCollection {
        collection_name: NAME.to_owned(),
        vectors_config: Some(VectorsConfig { config: Some(Config::ParamsMap(VectorParamsMap::default())) }),
        sparse_vectors_config: Some(SparseVectorConfig { map: words }),
        hnsw_config: Some(HnswConfigDiff { m: Some(0), payload_m: Some(0), ..HnswConfigDiff::default() }),
        ..CreateCollection::default()
    };
    client.create_collection(request).await.map(|_| ())
}

fn code_of<T>(answer: Result<T, QdrantError>) -> Option<Code> {
    if let Err(QdrantError::ResponseError { status }) = answer { Some(status.code()) } else { None }
}

#[tokio::test]
async fn request_without_the_user_is_refused() {
    let server = TestQdrant::start().unwrap();
    let client = client(&server, None);
    create(&client).await.unwrap();
    let document = Filter::must([Condition::matches("doc", "a".to_owned())]);
    let selected = PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(document)) };
    let delete = DeletePoints {
        collection_name: NAME.to_owned(),
        wait: Some(true),
        points: Some(selected),
        ..DeletePoints::default()
    };
    let facet = FacetCounts {
        collection_name: NAME.to_owned(),
        key: "labels".to_owned(),
        // The field has no index.
        filter: Some(Filter::must([Condition::matches("user", "a".to_owned())])),
        ..FacetCounts::default()
    };

    let refused = Some(Code::InvalidArgument);
    assert_eq!(code_of(client.delete_points(delete).await), refused);
    assert_eq!(code_of(client.facet(facet).await), refused);
}

#[tokio::test]
async fn collections_and_keys_are_told_apart() {
    let options = ServerOptions { key: Some("right".to_owned()), ..ServerOptions::default() };
    let server = TestQdrant::with_options(options).unwrap();
    let (right, wrong) = (client(&server, Some("right")), client(&server, Some("wrong")));

    assert_eq!(code_of(create(&wrong).await), Some(Code::Unauthenticated));
    assert_eq!(code_of(right.collection_info(NAME).await), Some(Code::NotFound));
    create(&right).await.unwrap();
    assert_eq!(code_of(create(&right).await), Some(Code::AlreadyExists));
}

#[tokio::test]
async fn metadata_of_a_collection_is_merged() {
    let server = TestQdrant::start().unwrap();
    let client = client(&server, None);
    create(&client).await.unwrap();
    for (field, number) in [("a", 1), ("b", 2), ("a", 3)] {
        let value = Value { kind: Some(Kind::IntegerValue(number)) };
        let update = UpdateCollection {
            collection_name: NAME.to_owned(),
            metadata: HashMap::from([(field.to_owned(), value)]),
            ..UpdateCollection::default()
        };
        client.update_collection(update).await.unwrap();
    }

    let info = client.collection_info(NAME).await.unwrap().result.unwrap();

    let metadata = info.config.unwrap().metadata;
    let number = |field: &str| metadata[field].kind.clone();
    assert_eq!([number("a"), number("b")], [3, 2].map(|number| Some(Kind::IntegerValue(number))));
}
