//! Whether the passage index is complete. The repair sets it; search and `/readyz` read it.

use serde::{Deserialize, Serialize};

/// The completeness of the index: whether it contains everything that it should. `/readyz` reports it, and `carrel doctor` reads it
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Completeness {
    /// Nothing is known to be missing.
    #[default]
    Complete,
    /// It is being compared with the database.
    Checking,
    /// It has lost passages or vectors, which are being restored.
    Rebuilding {
        /// Documents whose passages or vectors are not restored yet.
        documents_left: u64,
        /// Documents that were to be restored at the start of the rebuild, or more if more were found since.
        documents_total: u64,
    },
    /// Another server on the same database maintains its own index; this one is not updated.
    MaintainedElsewhere,
    /// There is no index, because its disk has no space for one. It is made when there is space.
    Unavailable,
}

impl Completeness {
    /// Returns the number of documents that are still to be restored, as far as is known.
    #[must_use]
    pub fn documents_left(self) -> u64 {
        match self {
            Completeness::Complete
            | Completeness::Checking
            | Completeness::MaintainedElsewhere
            | Completeness::Unavailable => 0,
            Completeness::Rebuilding { documents_left, .. } => documents_left,
        }
    }

    /// Returns the state of a rebuild that still has this many documents to restore. The total stays, or grows if `left` is
    /// larger. Without documents left the index is complete.
    #[must_use]
    pub fn with_documents_left(self, left: u64) -> Self {
        let total = match self {
            Completeness::Complete
            | Completeness::Checking
            | Completeness::MaintainedElsewhere
            | Completeness::Unavailable => left,
            Completeness::Rebuilding { documents_total, .. } => documents_total.max(left),
        };
        match left {
            0 => Completeness::Complete,
            left => Completeness::Rebuilding { documents_left: left, documents_total: total },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebuild_counts_down_and_ends_complete() {
        let begun = Completeness::Checking.with_documents_left(4);
        let half = begun.with_documents_left(2);
        let more = half.with_documents_left(7);

        assert_eq!(begun, Completeness::Rebuilding { documents_left: 4, documents_total: 4 });
        assert_eq!(half, Completeness::Rebuilding { documents_left: 2, documents_total: 4 });
        assert_eq!(more, Completeness::Rebuilding { documents_left: 7, documents_total: 7 });
        assert_eq!(more.with_documents_left(0), Completeness::Complete);
    }

    #[test]
    fn completeness_is_serialized_as_one_object() {
        let json = |state: Completeness| serde_json::to_value(state).unwrap();

        assert_eq!(json(Completeness::Complete), serde_json::json!({ "state": "complete" }));
        assert_eq!(json(Completeness::Unavailable), serde_json::json!({ "state": "unavailable" }));
        assert_eq!(
            json(Completeness::MaintainedElsewhere),
            serde_json::json!({ "state": "maintainedElsewhere" })
        );
        assert_eq!(
            json(Completeness::Rebuilding { documents_left: 1, documents_total: 3 }),
            serde_json::json!({ "state": "rebuilding", "documentsLeft": 1, "documentsTotal": 3 })
        );
    }
}
