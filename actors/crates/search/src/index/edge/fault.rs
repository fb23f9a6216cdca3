//! Converts errors of the engine.

use std::io;

use qdrant_edge::OperationError;

use crate::index::fault::{EngineFault, classify_cause};
use crate::index::index_error::IndexError;

/// Converts the error of an operation of the engine; `action` names what failed ([`IndexError::Engine`]).
pub fn engine_error(action: &'static str) -> impl Fn(OperationError) -> IndexError {
    move |source| IndexError::Engine { action, fault: classify(&source), source: Box::new(source) }
}

/// Converts the error of measuring the disk or the files of the index.
pub fn measurement_error(action: &'static str) -> impl Fn(io::Error) -> IndexError {
    move |source| IndexError::Engine { action, fault: EngineFault::Environment, source: Box::new(source) }
}

/// Returns the kind of an error of the engine.
pub fn classify(error: &OperationError) -> EngineFault {
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
        | OperationError::OutOfAppendableCapacity { .. } => EngineFault::InvalidRequest,
        OperationError::OutOfMemory { .. }
        | OperationError::Cancelled { .. }
        | OperationError::Timeout { .. } => EngineFault::Environment,
        // The vectors and payload indexes that searches name are created when the index is opened: one that is missing was lost.
        OperationError::VectorNameNotExists { .. }
        | OperationError::MissingMapIndexForFacet { .. }
        | OperationError::InconsistentStorage { .. }
        | OperationError::FileNotFound { .. } => EngineFault::Damage,
        OperationError::ServiceError { description, .. } => classify_cause(description),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_damage(error: OperationError) -> bool {
        engine_error("search")(error).is_damage()
    }

    #[test]
    fn refused_query_is_not_damage() {
        assert!(!is_damage(OperationError::WrongSparse));
        assert!(!is_damage(OperationError::validation_error("limit is 0")));
        assert!(!is_damage(OperationError::WrongVectorDimension { expected_dim: 4, received_dim: 5 }));
    }

    #[test]
    fn lack_of_memory_or_space_is_not_damage() {
        let no_memory = OperationError::OutOfMemory { description: String::new(), free: 0 };

        assert!(!is_damage(no_memory));
        assert!(!is_damage(OperationError::service_error_light(
            "read: Cannot allocate memory (os error 12)"
        )));
        assert!(!measurement_error("measure")(io::Error::from_raw_os_error(5)).is_damage());
    }

    #[test]
    fn failing_or_full_disk_is_not_damage() {
        for (cause, fault) in [
            ("flush: Input/output error (os error 5)", EngineFault::DiskFailure),
            ("flush: No space left on device (os error 28)", EngineFault::NoSpace),
        ] {
            let error = engine_error("commit")(OperationError::service_error_light(cause));

            assert_eq!(error.fault(), Some(fault), "{cause}");
            assert!(!error.is_damage());
        }
    }

    #[test]
    fn unreadable_or_inconsistent_files_are_damage() {
        assert!(is_damage(OperationError::service_error_light("index out of bounds")));
        assert!(is_damage(OperationError::inconsistent_storage("two points of one number")));
        assert!(is_damage(OperationError::FileNotFound { path: "segments/1/vectors".into() }));
    }
}
