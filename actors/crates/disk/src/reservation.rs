//! Space that a writer has announced. Without announcements many concurrent writers could pass the floor between two measurements.

use std::io;

use super::disk_space::DiskSpace;

/// Number of bytes that a writer of unknown length announces at a time.
const STEP_BYTES: u64 = 4 << 20;

impl DiskSpace {
    /// Announces a file of this length, or a first part of a file of unknown length.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when the disk would fall below its floor, with what others have announced.
    pub fn reserve(&self, length: Option<u64>) -> io::Result<DiskReservation> {
        let mut reservation = DiskReservation::new(self.clone());
        match length {
            Some(bytes) => reservation.require_exactly(bytes)?,
            None => reservation.require(1)?,
        }
        Ok(reservation)
    }
}

/// Announced bytes that are not written yet. They are withdrawn when this is dropped.
#[derive(Debug)]
pub struct DiskReservation {
    disk: DiskSpace,
    left_bytes: u64,
}

impl DiskReservation {
    fn new(disk: DiskSpace) -> Self {
        Self { disk, left_bytes: 0 }
    }

    /// Ensures that this many bytes are announced, and announces more if necessary. Call it before they are written.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when a disk is or would be below its floor.
    pub fn require(&mut self, bytes: u64) -> io::Result<()> {
        let missing = bytes.saturating_sub(self.left_bytes);
        // Near the floor a whole step may not fit although these bytes do.
        let is_announced = missing == 0 || self.announce(missing.max(STEP_BYTES)) || self.announce(missing);
        self.require_room(is_announced)
    }

    /// Announces all bytes of a writer of known length.
    fn require_exactly(&mut self, bytes: u64) -> io::Result<()> {
        let is_announced = self.announce(bytes);
        self.require_room(is_announced)
    }

    /// Records that announced bytes are on the disk, where the next measurement finds them. Call it after the write.
    pub fn record_written(&mut self, bytes: u64) {
        // Only announced bytes are counted.
        let written = bytes.min(self.left_bytes);
        self.left_bytes -= written;
        if let Some(disk) = self.disk.target() {
            disk.free_space().record_written(written);
        }
    }

    fn announce(&mut self, bytes: u64) -> bool {
        let is_announced = self.disk.target().is_none_or(|disk| disk.announce(bytes));
        if is_announced {
            self.left_bytes = self.left_bytes.saturating_add(bytes);
        }
        is_announced
    }

    fn require_room(&self, is_announced: bool) -> io::Result<()> {
        // The level too, because other processes may have filled a disk since, also one that is not the target.
        if is_announced && self.disk.has_room() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }
}

impl Drop for DiskReservation {
    fn drop(&mut self) {
        if let Some(disk) = self.disk.target() {
            disk.free_space().withdraw(self.left_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::free_space::OVERHEAD_BYTES;
    use super::*;

    /// Returns a disk with a floor of 1 byte and this measured free space.
    fn disk(folder: &tempfile::TempDir, free_bytes: u64) -> DiskSpace {
        let disk = DiskSpace::new(vec![folder.path().to_owned()], 1);
        disk.target().unwrap().free_space().set_free(Some(free_bytes + 1 + OVERHEAD_BYTES), 0);
        disk
    }

    #[test]
    fn writer_of_unknown_length_announces_step_by_step() {
        let folder = tempfile::tempdir().unwrap();
        let mut reservation = disk(&folder, 3 * STEP_BYTES).reserve(None).unwrap();
        assert_eq!(reservation.left_bytes, STEP_BYTES);

        reservation.record_written(STEP_BYTES - 1);
        reservation.require(2).unwrap();

        assert_eq!(reservation.left_bytes, STEP_BYTES + 1);
    }

    #[test]
    fn last_step_is_as_long_as_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut reservation = disk(&folder, STEP_BYTES + 2).reserve(None).unwrap();
        reservation.record_written(STEP_BYTES);

        reservation.require(2).unwrap();

        assert_eq!(reservation.left_bytes, 2);
        assert_eq!(reservation.require(3).unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn announced_bytes_are_withdrawn_with_their_writer() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder, 10 * STEP_BYTES);
        let mut first = disk.reserve(Some(6 * STEP_BYTES)).unwrap();
        first.record_written(STEP_BYTES);
        assert!(disk.reserve(Some(6 * STEP_BYTES)).is_err());

        drop(first);

        disk.reserve(Some(6 * STEP_BYTES)).unwrap();
        assert!(disk.reserve(Some(10 * STEP_BYTES)).is_err(), "what was written is free again");
    }
}
