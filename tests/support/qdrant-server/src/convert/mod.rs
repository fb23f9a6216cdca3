//! Converts between the messages of the protocol and the types of the engine.

pub mod filter;
pub mod point;
pub mod query;
pub mod value;

use qdrant_edge::OperationError;
use tonic::Status;

/// The error for a request that the server refuses.
pub fn invalid(message: &str) -> Status {
    Status::invalid_argument(message)
}

/// Converts an error of the engine.
pub fn engine_status(error: OperationError) -> Status {
    let is_refused = matches!(
        error,
        OperationError::WrongVectorDimension { .. }
            | OperationError::VectorNameNotExists { .. }
            | OperationError::ValidationError { .. }
    );
    let message = format!("Wrong input: {error}");
    if is_refused { Status::invalid_argument(message) } else { Status::internal(error.to_string()) }
}
