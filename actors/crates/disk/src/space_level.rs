//! The levels of free space, and what the passage index needs.

/// Space that must be free before passages are added to the index or changed: the engine writes through mapped files, where a
/// full disk ends the process instead of failing the write.
pub const MIN_FREE_TO_ADD_BYTES: u64 = 16 << 20;
/// Space that must be free before passages are removed or writes are synced, which takes far less and frees space.
pub const MIN_FREE_TO_DELETE_BYTES: u64 = 8 << 20;

/// The free space of the fullest disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceLevel {
    /// Less than [`MIN_FREE_TO_DELETE_BYTES`]: not even passages may be removed from the index.
    Full,
    /// The floor or less: only work that deletes may run.
    BelowFloor,
    /// More than the floor: all work may run.
    AboveFloor,
}

impl SpaceLevel {
    /// Returns the level whose discriminant is this number.
    pub(super) fn from_number(number: u8) -> Self {
        let levels = [Self::Full, Self::BelowFloor, Self::AboveFloor];
        levels.into_iter().find(|level| *level as u8 == number).unwrap_or(Self::AboveFloor)
    }
}
