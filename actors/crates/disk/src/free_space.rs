//! The free space of a disk, and the part of it that writers have announced.

/// Additional bytes for a file: file system metadata, and the rows of SQLite about it.
pub const OVERHEAD_BYTES: u64 = 1 << 20;

/// The free space of a disk at the last measurement, and its use since.
#[derive(Debug, Default)]
pub struct FreeSpace {
    /// Bytes free for writers; `None` if the measurement failed.
    free_bytes: Option<u64>,
    /// Bytes announced by writers and not written yet.
    announced_bytes: u64,
    /// Bytes written since the last measurement began. They are counted after the write, so a measurement that begins later includes
    /// them.
    written_bytes: u64,
}

impl FreeSpace {
    /// Returns the bytes that were free at the last measurement; `None` if it failed.
    pub fn free_bytes(&self) -> Option<u64> {
        self.free_bytes
    }

    /// Returns the bytes written since the last measurement. Read it when a measurement begins, and pass it to [`Self::set_free`].
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Sets the result of a measurement; `None` if it failed. `written_before` are the written bytes when it began.
    pub fn set_free(&mut self, free_bytes: Option<u64>, written_before: u64) {
        self.free_bytes = free_bytes;
        // What was written while the disk was measured may or may not be in the result. It stays counted, which errs towards less
        // room.
        self.written_bytes = self.written_bytes.saturating_sub(written_before);
    }

    /// Returns whether the disk was measured, and has room for these bytes in addition to all announced bytes and the floor.
    pub fn has_room_for(&self, bytes: u64, min_free_bytes: u64) -> bool {
        let required = [self.announced_bytes, self.written_bytes, bytes, min_free_bytes, OVERHEAD_BYTES];
        let required = required.into_iter().fold(0, u64::saturating_add);
        self.free_bytes.is_some_and(|free_bytes| free_bytes >= required)
    }

    /// Announces bytes if there is room for them or the free space is unknown. Returns whether they were announced.
    pub fn announce(&mut self, bytes: u64, min_free_bytes: u64) -> bool {
        // A disk that cannot be measured counts as one with space, as in `DiskSpace::level`.
        let is_announced = self.free_bytes.is_none() || self.has_room_for(bytes, min_free_bytes);
        if is_announced {
            self.announced_bytes = self.announced_bytes.saturating_add(bytes);
        }
        is_announced
    }

    /// Records that announced bytes were written.
    pub fn record_written(&mut self, bytes: u64) {
        self.withdraw(bytes);
        self.written_bytes = self.written_bytes.saturating_add(bytes);
    }

    /// Withdraws announced bytes that will not be written.
    pub fn withdraw(&mut self, bytes: u64) {
        self.announced_bytes = self.announced_bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Returns a disk with this free space in addition to the overhead.
    fn free_space(free_bytes: u64) -> FreeSpace {
        let mut free_space = FreeSpace::default();
        free_space.set_free(Some(free_bytes + OVERHEAD_BYTES), 0);
        free_space
    }

    #[test]
    fn announced_bytes_fit_together_above_the_floor() {
        let mut free_space = free_space(100 * MIB);

        assert!(free_space.announce(60 * MIB, 16 * MIB));
        assert!(!free_space.announce(24 * MIB + 1, 16 * MIB));
        assert!(free_space.announce(24 * MIB, 16 * MIB));
        assert!(!free_space.announce(1, 16 * MIB));
    }

    #[test]
    fn withdrawn_bytes_may_be_announced_by_others() {
        let mut free_space = free_space(100 * MIB);
        assert!(free_space.announce(80 * MIB, 0));

        free_space.withdraw(80 * MIB);

        assert!(free_space.announce(100 * MIB, 0));
    }

    #[test]
    fn written_bytes_count_until_they_are_measured() {
        let mut free_space = free_space(100 * MIB);
        assert!(free_space.announce(60 * MIB, 0));
        free_space.record_written(40 * MIB);
        assert!(!free_space.has_room_for(40 * MIB + 1, 0));

        let before = free_space.written_bytes();
        // While the disk is measured.
        free_space.record_written(20 * MIB);
        free_space.set_free(Some(60 * MIB + OVERHEAD_BYTES), before);

        // The measurement may have seen the last 20 MiB or not.
        assert!(free_space.has_room_for(40 * MIB, 0) && !free_space.has_room_for(40 * MIB + 1, 0));
        free_space.set_free(Some(40 * MIB + OVERHEAD_BYTES), free_space.written_bytes());
        assert!(free_space.has_room_for(40 * MIB, 0));
    }

    #[test]
    fn bytes_are_announced_on_a_disk_that_cannot_be_measured() {
        let mut free_space = FreeSpace::default();

        assert!(free_space.announce(u64::MAX, 16 * MIB));
        assert!(!free_space.has_room_for(1, 0));
    }
}
