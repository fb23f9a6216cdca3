//! The services of the protocol, served by the collections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use qdrant_client::qdrant::qdrant_server::Qdrant;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use tonic::{Request, Response, Status};

use super::collection::Collection;
use super::gate::Gate;

/// The state of a server, shared by its services.
#[derive(Clone)]
pub struct Service {
    gate: Arc<Gate>,
    collections: Arc<Mutex<HashMap<String, Arc<Collection>>>>,
}

impl Service {
    pub fn new(gate: Gate) -> Self {
        Self { gate: Arc::new(gate), collections: Arc::default() }
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    pub fn wipe(&self) {
        self.collections().clear();
    }

    pub fn collections(&self) -> MutexGuard<'_, HashMap<String, Arc<Collection>>> {
        self.collections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a collection.
    pub fn collection(&self, name: &str) -> Result<Arc<Collection>, Status> {
        let found = self.collections().get(name).cloned();
        found.ok_or_else(|| Status::not_found(format!("Not found: Collection `{name}` doesn't exist!")))
    }
}

/// Runs what blocks on a thread for it.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<Response<T>, Status> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|panicked| Status::internal(panicked.to_string()))?.map(Response::new)
}

/// Implements a service: the methods that are served, each by a method of [`Service`], and those that are not.
macro_rules! serve_methods {
    ($service:ident
        served { $($method:ident($request:ty) -> $response:ty = $served:ident;)* }
        unsupported { $($other:ident($other_request:ty) -> $other_response:ty;)* }
    ) => {
        #[tonic::async_trait]
        impl $service for $crate::service::Service {
            $(
                async fn $method(
                    &self,
                    request: tonic::Request<$request>,
                ) -> Result<tonic::Response<$response>, tonic::Status> {
                    let key = $crate::gate::Gate::key_of(request.metadata());
                    self.gate().pass(stringify!($served), key).await?;
                    let (service, request) = (self.clone(), request.into_inner());
                    $crate::service::blocking(move || service.$served(request)).await
                }
            )*
            $(
                async fn $other(
                    &self,
                    _request: tonic::Request<$other_request>,
                ) -> Result<tonic::Response<$other_response>, tonic::Status> {
                    Err(tonic::Status::unimplemented(stringify!($other)))
                }
            )*
        }
    };
}

pub(crate) use serve_methods;

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(
        &self,
        _request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        // A server answers it without a key.
        let version = self.gate.version();
        Ok(Response::new(HealthCheckReply { title: "qdrant".to_owned(), version, commit: None }))
    }
}
