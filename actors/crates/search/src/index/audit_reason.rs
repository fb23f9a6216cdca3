//! Why an index must be compared with the database, as far as its marker and that of the database tell.

use std::time::Duration;

use values::time::Timestamp;

use super::marker::Marker;

/// Copying a folder takes time, and its marker may be copied last: changes up to this long before the marker's time may be
/// missing from the copy.
const MAX_COPY_TIME: Duration = Duration::from_secs(3600);

/// Why an index is compared with the database before searches rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditReason {
    /// The folder held no index, so a new one was created.
    Missing,
    /// It did not open, failed to answer, or its files were changed while the server was stopped.
    Damaged,
    /// Its folder was removed or replaced while the server ran.
    Removed,
    /// Its files may have been changed while the server was stopped: their times differ, and there was no time to read them.
    Unverified,
    /// It has no marker: an older version of the server wrote it, or a first comparison was interrupted.
    NoMarker,
    /// It is not the index that the server left, but one of another installation, or of a generation before the last rebuild.
    Foreign,
    /// A copy from before the last changes was restored.
    OlderCopy,
    /// Another server on the same database maintained its own index in the meantime, so this one lacks its changes.
    MaintainedElsewhere,
    /// The database is older than the index: it was restored from a backup.
    NewerThanDatabase,
    /// It holds another number of passages than the database expects.
    CountMismatch,
}

impl AuditReason {
    /// Returns the reason as the end of a sentence that begins with "the passage index".
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            AuditReason::Missing => "was missing",
            AuditReason::Damaged => "was damaged",
            AuditReason::Removed => "was removed or replaced while the server ran",
            AuditReason::Unverified => "has files that were changed while the server was stopped",
            AuditReason::NoMarker => "has not been compared with the database yet",
            AuditReason::Foreign => "is not the one that the server used last",
            AuditReason::OlderCopy => "is an older copy",
            AuditReason::MaintainedElsewhere => "lacks changes that another server made to its own index",
            AuditReason::NewerThanDatabase => "is newer than the database",
            AuditReason::CountMismatch => "has another number of passages than the database expects",
        }
    }

    /// Documents that were indexed since this time are indexed once more although their passages exist, because an old copy may hold
    /// them with an old title or old labels. `None` if no document needs it.
    #[must_use]
    pub fn stale_since(self, found: Option<&Marker>) -> Option<Timestamp> {
        match self {
            AuditReason::Missing
            | AuditReason::Damaged
            | AuditReason::Removed
            | AuditReason::Unverified
            | AuditReason::NoMarker
            | AuditReason::CountMismatch => None,
            AuditReason::Foreign | AuditReason::OlderCopy | AuditReason::MaintainedElsewhere => {
                found.map(|marker| marker.as_of - MAX_COPY_TIME)
            }
            // Any passage may have labels from after the backup.
            AuditReason::NewerThanDatabase => Some(Timestamp::from_millis(0)),
        }
    }
}

/// Compares the marker that was found in an index with the one that the database recorded. `None` when the two fit together.
#[must_use]
pub fn compare_markers(found: Option<&Marker>, recorded: Option<&Marker>) -> Option<AuditReason> {
    let Some(found) = found else { return Some(AuditReason::NoMarker) };
    let Some(recorded) = recorded.filter(|recorded| recorded.generation == found.generation) else {
        return Some(AuditReason::Foreign);
    };
    // The folder is marked before the database, and the process may end in between: then it is one ahead.
    if found.sequence < recorded.sequence {
        Some(AuditReason::OlderCopy)
    } else if found.sequence > recorded.sequence + 1 {
        Some(AuditReason::NewerThanDatabase)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn marker(sequence: u64) -> Marker {
        Marker { sequence, ..Marker::first(NOON) }
    }

    fn copy_of(marker: &Marker, sequence: u64) -> Marker {
        Marker { sequence, ..marker.clone() }
    }

    #[test]
    fn marker_of_the_database_needs_no_audit() {
        let recorded = marker(7);

        assert_eq!(compare_markers(Some(&recorded), Some(&recorded)), None);
        assert_eq!(
            compare_markers(Some(&copy_of(&recorded, 8)), Some(&recorded)),
            None,
            "the process ended between the two writes"
        );
    }

    #[test]
    fn any_other_marker_needs_an_audit() {
        let recorded = marker(7);

        assert_eq!(compare_markers(None, Some(&recorded)), Some(AuditReason::NoMarker));
        assert_eq!(compare_markers(None, None), Some(AuditReason::NoMarker));
        assert_eq!(compare_markers(Some(&recorded), None), Some(AuditReason::Foreign));
        assert_eq!(
            compare_markers(Some(&marker(7)), Some(&recorded)),
            Some(AuditReason::Foreign),
            "another generation"
        );
        assert_eq!(
            compare_markers(Some(&copy_of(&recorded, 6)), Some(&recorded)),
            Some(AuditReason::OlderCopy)
        );
        assert_eq!(
            compare_markers(Some(&copy_of(&recorded, 9)), Some(&recorded)),
            Some(AuditReason::NewerThanDatabase)
        );
    }

    #[test]
    fn old_copy_is_stale_from_an_hour_before_its_marker() {
        let found = marker(3);

        assert_eq!(AuditReason::OlderCopy.stale_since(Some(&found)), Some(NOON - Duration::from_secs(3600)));
        for other in [AuditReason::Foreign, AuditReason::MaintainedElsewhere] {
            assert_eq!(other.stale_since(Some(&found)), AuditReason::OlderCopy.stale_since(Some(&found)));
        }
        assert_eq!(AuditReason::NewerThanDatabase.stale_since(Some(&found)), Some(Timestamp::from_millis(0)));
        assert_eq!(AuditReason::Missing.stale_since(None), None);
        assert_eq!(AuditReason::NoMarker.stale_since(Some(&found)), None);
    }
}
