//! Whether an index that was found can be relied on, from its marker and that of the database alone.

use std::time::Duration;

use entity::time::Timestamp;

use super::marker::Marker;

/// Copying a folder takes time, and its marker may be copied last: changes up to this long before the marker's time may be
/// missing from the copy.
const COPY_TAKES: Duration = Duration::from_secs(3600);

/// Why an index is compared with the database before it is relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// There was no index in the folder, so a new one was made.
    Missing,
    /// It did not open, failed to answer, or its files were changed while the service was stopped.
    Damaged,
    /// Its folder was removed or replaced while the service ran.
    Removed,
    /// Its files may have been changed while the service was stopped: their times are others, and there was no time to read them.
    Unverified,
    /// It has no marker: an older version of the service left it, or a first comparison was interrupted.
    Unmarked,
    /// It is not the index that the service left: it belongs to another installation, or to a generation before the last rebuild.
    Foreign,
    /// A copy from before the last changes was put back.
    Older,
    /// Another service on the same database maintained its own index in the meantime, so this one lacks its changes.
    Elsewhere,
    /// The database is older than the index: it was restored from a backup.
    Newer,
    /// It holds another number of passages than it should.
    Incomplete,
}

impl Doubt {
    /// The doubt in words, as the end of a sentence that begins with "the passage index".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Doubt::Missing => "was not there",
            Doubt::Damaged => "was damaged",
            Doubt::Removed => "was removed or replaced while the service ran",
            Doubt::Unverified => "has files whose times changed while the service was stopped",
            Doubt::Unmarked => "was not compared with the database yet",
            Doubt::Foreign => "is not the one that the service left",
            Doubt::Older => "is an older copy",
            Doubt::Elsewhere => "misses changes that another service made to its own",
            Doubt::Newer => "is newer than the database",
            Doubt::Incomplete => "holds another number of passages than the database expects",
        }
    }

    /// Documents that were put in since then are put in once more, though their passages are there: an old copy may hold
    /// them under an old title or filing. None where no document needs it.
    #[must_use]
    pub fn stale_since(self, found: Option<&Marker>) -> Option<Timestamp> {
        match self {
            Doubt::Missing
            | Doubt::Damaged
            | Doubt::Removed
            | Doubt::Unverified
            | Doubt::Unmarked
            | Doubt::Incomplete => None,
            Doubt::Foreign | Doubt::Older | Doubt::Elsewhere => found.map(|marker| marker.as_of - COPY_TAKES),
            Doubt::Newer => Some(Timestamp::from_millis(0)),
        }
    }
}

/// What is doubtful about an index with the marker `found` where the database says `recorded`; none where the two fit
/// together.
#[must_use]
pub fn judge(found: Option<&Marker>, recorded: Option<&Marker>) -> Option<Doubt> {
    let Some(found) = found else { return Some(Doubt::Unmarked) };
    let Some(recorded) = recorded.filter(|recorded| recorded.generation == found.generation) else {
        return Some(Doubt::Foreign);
    };
    // The folder is marked before the database, and the process may end in between.
    if found.sequence < recorded.sequence {
        Some(Doubt::Older)
    } else if found.sequence > recorded.sequence + 1 {
        Some(Doubt::Newer)
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
    fn index_with_the_marker_of_the_database_is_relied_on() {
        let recorded = marker(7);

        assert_eq!(judge(Some(&recorded), Some(&recorded)), None);
        assert_eq!(
            judge(Some(&copy_of(&recorded, 8)), Some(&recorded)),
            None,
            "ended between the two writes"
        );
    }

    #[test]
    fn any_other_marker_is_doubted() {
        let recorded = marker(7);

        assert_eq!(judge(None, Some(&recorded)), Some(Doubt::Unmarked));
        assert_eq!(judge(None, None), Some(Doubt::Unmarked));
        assert_eq!(judge(Some(&recorded), None), Some(Doubt::Foreign));
        assert_eq!(judge(Some(&marker(7)), Some(&recorded)), Some(Doubt::Foreign), "another generation");
        assert_eq!(judge(Some(&copy_of(&recorded, 6)), Some(&recorded)), Some(Doubt::Older));
        assert_eq!(judge(Some(&copy_of(&recorded, 9)), Some(&recorded)), Some(Doubt::Newer));
    }

    #[test]
    fn old_copy_is_stale_from_an_hour_before_its_marker() {
        let found = marker(3);

        assert_eq!(Doubt::Older.stale_since(Some(&found)), Some(NOON - Duration::from_secs(3600)));
        for other in [Doubt::Foreign, Doubt::Elsewhere] {
            assert_eq!(other.stale_since(Some(&found)), Doubt::Older.stale_since(Some(&found)));
        }
        assert_eq!(Doubt::Newer.stale_since(Some(&found)), Some(Timestamp::from_millis(0)));
        assert_eq!(Doubt::Missing.stale_since(None), None);
        assert_eq!(Doubt::Unmarked.stale_since(Some(&found)), None);
    }
}
