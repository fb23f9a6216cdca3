//! Requests about points.

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::points_update_operation::Operation;
use qdrant_client::qdrant::{
    BatchResult, ClearPayloadPoints, CountPoints, CountResponse, CountResult, CreateFieldIndexCollection,
    CreateVectorNameRequest, DeleteFieldIndexCollection, DeletePayloadPoints, DeletePointVectors,
    DeletePoints, DeleteVectorNameRequest, DiscoverBatchPoints, DiscoverBatchResponse, DiscoverPoints,
    DiscoverResponse, FacetCounts, FacetHit, FacetResponse, FacetValue, GetPoints, GetResponse,
    PointsOperationResponse, QueryBatchPoints, QueryBatchResponse, QueryGroupsResponse, QueryPointGroups,
    QueryPoints, QueryResponse, RecommendBatchPoints, RecommendBatchResponse, RecommendGroupsResponse,
    RecommendPointGroups, RecommendPoints, RecommendResponse, ScrollPoints, ScrollResponse,
    SearchBatchPoints, SearchBatchResponse, SearchGroupsResponse, SearchMatrixOffsetsResponse,
    SearchMatrixPairsResponse, SearchMatrixPoints, SearchPointGroups, SearchPoints, SearchResponse,
    SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse, UpdatePointVectors, UpdateResult, UpdateStatus,
    UpsertPoints, facet_value,
};
use qdrant_edge::{
    ConditionalInsertOperation, CountRequest, FacetRequest, FacetValue as EngineFacetValue, PayloadOps,
    PointInsertOperations, PointOperations, QueryBatchRequest, RetrieveRequest, ScrollRequest, SetPayloadOp,
    UpdateOperation, UpdateVectorsOp, VectorOperations,
};
use tonic::Status;

use super::convert::filter::filter_to_engine;
use super::convert::point::{
    id_from_engine, id_to_engine, ids_to_engine, point_to_engine, record_from_engine, scored_from_engine,
    vector_selector, vectors_to_engine,
};
use super::convert::query::query_to_engine;
use super::convert::value::{field_path, payload_selector, payload_to_engine};
use super::convert::{engine_status, invalid};
use super::request_rules::{require_user, require_user_of_query, require_wait};
use super::service::{Service, serve_methods};

serve_methods! { Points
    served {
        upsert(UpsertPoints) -> PointsOperationResponse = upsert_points;
        delete(DeletePoints) -> PointsOperationResponse = delete_points;
        get(GetPoints) -> GetResponse = get_points;
        create_field_index(CreateFieldIndexCollection) -> PointsOperationResponse = create_index;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse = add_vector_name;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse = remove_vector_name;
        update_vectors(UpdatePointVectors) -> PointsOperationResponse = update_point_vectors;
        scroll(ScrollPoints) -> ScrollResponse = scroll_points;
        count(CountPoints) -> CountResponse = count_points;
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse = update_points_batch;
        query_batch(QueryBatchPoints) -> QueryBatchResponse = query_points_batch;
        facet(FacetCounts) -> FacetResponse = facet_points;
    }
    unsupported {
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        set_payload(SetPayloadPoints) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        query(QueryPoints) -> QueryResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

/// Number of values of a facet, and of points of a page, where the request does not say.
const DEFAULT_LIMIT: usize = 10;

fn completed() -> UpdateResult {
    UpdateResult { operation_id: None, status: UpdateStatus::Completed.into() }
}

fn operation_response() -> PointsOperationResponse {
    PointsOperationResponse { result: Some(completed()), ..PointsOperationResponse::default() }
}

impl Service {
    fn upsert_points(&self, request: UpsertPoints) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        let collection = self.collection(&request.collection_name)?;
        require_user(&collection, request.update_filter.as_ref())?;
        let points: Result<Vec<_>, Status> = request.points.into_iter().map(point_to_engine).collect();
        let insert = ConditionalInsertOperation {
            points_op: PointInsertOperations::PointsList(points?),
            condition: filter_to_engine(request.update_filter.unwrap_or_default())?,
            update_mode: None,
        };
        collection
            .update(UpdateOperation::PointOperation(PointOperations::UpsertPointsConditional(insert)))?;
        Ok(operation_response())
    }

    fn delete_points(&self, request: DeletePoints) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        let collection = self.collection(&request.collection_name)?;
        let delete = match request.points.and_then(|points| points.points_selector_one_of) {
            // Ids without a user are deleted after the comparison with the database.
            Some(PointsSelectorOneOf::Points(points)) => {
                PointOperations::DeletePoints { ids: ids_to_engine(points.ids)? }
            }
            Some(PointsSelectorOneOf::Filter(filter)) => {
                require_user(&collection, Some(&filter))?;
                PointOperations::DeletePointsByFilter(filter_to_engine(filter)?)
            }
            None => return Err(invalid("no points are selected")),
        };
        collection.update(UpdateOperation::PointOperation(delete))?;
        Ok(operation_response())
    }

    fn get_points(&self, request: GetPoints) -> Result<GetResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        let retrieve = RetrieveRequest {
            point_ids: ids_to_engine(request.ids)?,
            with_payload: Some(payload_selector(request.with_payload, true)?),
            with_vector: Some(vector_selector(request.with_vectors)),
        };
        let records = collection.shard().retrieve(retrieve).map_err(engine_status)?;
        let result = records.into_iter().map(record_from_engine).collect();
        Ok(GetResponse { result, ..GetResponse::default() })
    }

    fn create_index(&self, request: CreateFieldIndexCollection) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        self.collection(&request.collection_name)?.create_field_index(request)?;
        Ok(operation_response())
    }

    fn add_vector_name(&self, request: CreateVectorNameRequest) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        self.collection(&request.collection_name)?.create_vector_name(request)?;
        Ok(operation_response())
    }

    fn remove_vector_name(
        &self,
        request: DeleteVectorNameRequest,
    ) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        self.collection(&request.collection_name)?.delete_vector_name(request.vector_name)?;
        Ok(operation_response())
    }

    fn update_point_vectors(&self, request: UpdatePointVectors) -> Result<PointsOperationResponse, Status> {
        require_wait(request.wait)?;
        let collection = self.collection(&request.collection_name)?;
        require_user(&collection, request.update_filter.as_ref())?;
        let points: Result<Vec<_>, Status> = request.points.into_iter().map(vectors_to_engine).collect();
        let update = UpdateVectorsOp {
            points: points?,
            update_filter: request.update_filter.map(filter_to_engine).transpose()?,
        };
        collection.update(UpdateOperation::VectorOperation(VectorOperations::UpdateVectors(update)))?;
        Ok(operation_response())
    }

    fn scroll_points(&self, request: ScrollPoints) -> Result<ScrollResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        if request.filter.is_some() {
            return Err(invalid("pages are read for the comparison alone, without a filter"));
        }
        let limit = request.limit.map_or(Some(DEFAULT_LIMIT), |limit| usize::try_from(limit).ok());
        let scroll = ScrollRequest {
            offset: request.offset.map(|id| id_to_engine(Some(id))).transpose()?,
            limit,
            with_payload: Some(payload_selector(request.with_payload, true)?),
            with_vector: vector_selector(request.with_vectors),
            ..ScrollRequest::new()
        };
        let (records, next) = collection.shard().scroll(scroll).map_err(engine_status)?;
        Ok(ScrollResponse {
            next_page_offset: next.map(id_from_engine),
            result: records.into_iter().map(record_from_engine).collect(),
            ..ScrollResponse::default()
        })
    }

    fn count_points(&self, request: CountPoints) -> Result<CountResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        let filter = request.filter.map(filter_to_engine).transpose()?;
        let count = CountRequest { filter, exact: request.exact.unwrap_or(true) };
        let count = collection.shard().count(count).map_err(engine_status)?;
        let count = u64::try_from(count).map_err(|_| invalid("too many points"))?;
        Ok(CountResponse { result: Some(CountResult { count }), ..CountResponse::default() })
    }

    fn update_points_batch(&self, request: UpdateBatchPoints) -> Result<UpdateBatchResponse, Status> {
        require_wait(request.wait)?;
        let collection = self.collection(&request.collection_name)?;
        let mut result = Vec::new();
        for operation in request.operations {
            let Some(Operation::SetPayload(set)) = operation.operation else {
                return Err(invalid("an operation of another kind"));
            };
            let selected = set.points_selector.and_then(|points| points.points_selector_one_of);
            let Some(PointsSelectorOneOf::Filter(filter)) = selected else {
                return Err(invalid("labels are set by a filter"));
            };
            require_user(&collection, Some(&filter))?;
            let set = SetPayloadOp {
                payload: payload_to_engine(set.payload),
                points: None,
                filter: Some(filter_to_engine(filter)?),
                key: None,
            };
            collection.update(UpdateOperation::PayloadOperation(PayloadOps::SetPayload(set)))?;
            result.push(completed());
        }
        Ok(UpdateBatchResponse { result, ..UpdateBatchResponse::default() })
    }

    fn query_points_batch(&self, request: QueryBatchPoints) -> Result<QueryBatchResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        let mut queries = Vec::new();
        for query in request.query_points {
            if query.collection_name != request.collection_name {
                return Err(invalid("a query of a batch names another collection"));
            }
            require_user_of_query(&collection, &query)?;
            queries.push(query_to_engine(query)?);
        }
        let found = collection.shard().query_batch(QueryBatchRequest::new(queries)).map_err(engine_status)?;
        let result = found
            .into_iter()
            .map(|hits| BatchResult { result: hits.into_iter().map(scored_from_engine).collect() });
        Ok(QueryBatchResponse { result: result.collect(), ..QueryBatchResponse::default() })
    }

    fn facet_points(&self, request: FacetCounts) -> Result<FacetResponse, Status> {
        let collection = self.collection(&request.collection_name)?;
        require_user(&collection, request.filter.as_ref())?;
        let limit = request.limit.map_or(Ok(DEFAULT_LIMIT), usize::try_from);
        let facet = FacetRequest {
            limit: limit.map_err(|_| invalid("the limit is too high"))?,
            filter: request.filter.map(filter_to_engine).transpose()?,
            exact: request.exact.unwrap_or(false),
            ..FacetRequest::new(field_path(&request.key))
        };
        let found = collection.shard().facet(facet).map_err(engine_status)?;
        let hits = found.hits.into_iter().filter_map(|hit| {
            let value = match hit.value {
                EngineFacetValue::Keyword(keyword) => facet_value::Variant::StringValue(keyword),
                EngineFacetValue::Int(number) => facet_value::Variant::IntegerValue(number),
                EngineFacetValue::Bool(is_true) => facet_value::Variant::BoolValue(is_true),
                EngineFacetValue::Uuid(_) => return None,
            };
            let value = Some(FacetValue { variant: Some(value) });
            Some(FacetHit { value, count: u64::try_from(hit.count).ok()? })
        });
        Ok(FacetResponse { hits: hits.collect(), ..FacetResponse::default() })
    }
}
