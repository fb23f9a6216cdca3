//! Requests about collections.

use std::sync::Arc;

use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::{
    ChangeAliases, CollectionClusterInfoRequest, CollectionClusterInfoResponse, CollectionDescription,
    CollectionExists, CollectionExistsRequest, CollectionExistsResponse, CollectionOperationResponse,
    CreateCollection, CreateShardKeyRequest, CreateShardKeyResponse, DeleteCollection, DeleteShardKeyRequest,
    DeleteShardKeyResponse, GetCollectionInfoRequest, GetCollectionInfoResponse, ListAliasesRequest,
    ListAliasesResponse, ListCollectionAliasesRequest, ListCollectionsRequest, ListCollectionsResponse,
    ListShardKeysRequest, ListShardKeysResponse, UpdateCollection, UpdateCollectionClusterSetupRequest,
    UpdateCollectionClusterSetupResponse,
};
use tonic::Status;

use super::collection::Collection;
use super::service::{Service, serve_methods};

serve_methods! { Collections
    served {
        get(GetCollectionInfoRequest) -> GetCollectionInfoResponse = collection_info;
        list(ListCollectionsRequest) -> ListCollectionsResponse = list_collections;
        create(CreateCollection) -> CollectionOperationResponse = create_collection;
        update(UpdateCollection) -> CollectionOperationResponse = update_collection;
        delete(DeleteCollection) -> CollectionOperationResponse = delete_collection;
        collection_exists(CollectionExistsRequest) -> CollectionExistsResponse = has_collection;
    }
    unsupported {
        update_aliases(ChangeAliases) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

const DONE: CollectionOperationResponse = CollectionOperationResponse { result: true, time: 0.0 };

impl Service {
    fn collection_info(
        &self,
        request: GetCollectionInfoRequest,
    ) -> Result<GetCollectionInfoResponse, Status> {
        let info = self.collection(&request.collection_name)?.info()?;
        Ok(GetCollectionInfoResponse { result: Some(info), time: 0.0 })
    }

    fn list_collections(&self, _request: ListCollectionsRequest) -> Result<ListCollectionsResponse, Status> {
        let collections = self.collections();
        let collections = collections.keys().map(|name| CollectionDescription { name: name.clone() });
        Ok(ListCollectionsResponse { collections: collections.collect(), time: 0.0 })
    }

    fn create_collection(&self, request: CreateCollection) -> Result<CollectionOperationResponse, Status> {
        let mut collections = self.collections();
        let name = request.collection_name.clone();
        if collections.contains_key(&name) {
            return Err(Status::already_exists(format!("Wrong input: Collection `{name}` already exists!")));
        }
        collections.insert(name, Arc::new(Collection::create(request)?));
        Ok(DONE)
    }

    fn update_collection(&self, request: UpdateCollection) -> Result<CollectionOperationResponse, Status> {
        self.collection(&request.collection_name)?.add_metadata(request.metadata);
        Ok(DONE)
    }

    fn delete_collection(&self, request: DeleteCollection) -> Result<CollectionOperationResponse, Status> {
        let result = self.collections().remove(&request.collection_name).is_some();
        Ok(CollectionOperationResponse { result, time: 0.0 })
    }

    fn has_collection(&self, request: CollectionExistsRequest) -> Result<CollectionExistsResponse, Status> {
        let exists = self.collections().contains_key(&request.collection_name);
        Ok(CollectionExistsResponse { result: Some(CollectionExists { exists }), time: 0.0 })
    }
}
