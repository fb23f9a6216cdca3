//! The engine's errors by what they tell of the index.

use std::io;

use qdrant_edge::OperationError;

use crate::index::fault::is_outside;
use crate::index::{EngineFault, IndexError};

/// Tells a failed operation of the engine.
pub fn failed(doing: &'static str) -> impl Fn(OperationError) -> IndexError {
    move |source| IndexError::Engine { doing, fault: fault_of(&source), source: Box::new(source) }
}

/// Tells that the disk or the files of the index could not be measured.
pub fn not_measured(doing: &'static str) -> impl Fn(io::Error) -> IndexError {
    move |source| IndexError::Engine { doing, fault: EngineFault::Outside, source: Box::new(source) }
}

/// What a failed operation tells of the index.
pub fn fault_of(error: &OperationError) -> EngineFault {
    match error {
        OperationError::WrongVectorDimension { .. }
        | OperationError::MalformedVectorBlob { .. }
        | OperationError::MalformedPayloadBlob { .. }
        | OperationError::PointIdError { .. }
        | OperationError::TypeError { .. }
        | OperationError::TypeInferenceError { .. }
        | OperationError::ValidationError { .. }
        | OperationError::WrongSparse
        | OperationError::WrongMulti
        | OperationError::MissingRangeIndexForOrderBy { .. }
        | OperationError::VariableTypeError { .. }
        | OperationError::NonFiniteNumber { .. }
        | OperationError::OutOfAppendableCapacity { .. } => EngineFault::Refused,
        OperationError::OutOfMemory { .. }
        | OperationError::Cancelled { .. }
        | OperationError::Timeout { .. } => EngineFault::Outside,
        // The vectors and look-ups that searches name are made when the index is opened: one that is missing was lost.
        OperationError::VectorNameNotExists { .. }
        | OperationError::MissingMapIndexForFacet { .. }
        | OperationError::InconsistentStorage { .. }
        | OperationError::FileNotFound { .. } => EngineFault::Damage,
        OperationError::ServiceError { description, .. } => {
            if is_outside(description) {
                EngineFault::Outside
            } else {
                EngineFault::Damage
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_damage(error: OperationError) -> bool {
        failed("search")(error).is_damage()
    }

    #[test]
    fn query_that_the_engine_refuses_is_no_damage() {
        assert!(!is_damage(OperationError::WrongSparse));
        assert!(!is_damage(OperationError::validation_error("limit is 0")));
        assert!(!is_damage(OperationError::WrongVectorDimension { expected_dim: 4, received_dim: 5 }));
    }

    #[test]
    fn want_of_memory_or_room_is_no_damage() {
        let no_memory = OperationError::OutOfMemory { description: String::new(), free: 0 };

        assert!(!is_damage(no_memory));
        assert!(!is_damage(OperationError::service_error_light(
            "read: Cannot allocate memory (os error 12)"
        )));
        assert!(!not_measured("measure")(io::Error::from_raw_os_error(5)).is_damage());
    }

    #[test]
    fn unreadable_or_contradictory_files_are_damage() {
        assert!(is_damage(OperationError::service_error_light("index out of bounds")));
        assert!(is_damage(OperationError::inconsistent_storage("two points of one number")));
        assert!(is_damage(OperationError::FileNotFound { path: "segments/1/vectors".into() }));
    }
}
