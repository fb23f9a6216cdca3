//! A buffer of items that are written together.

use std::collections::VecDeque;

/// Gathers items that are written in batches. Items that could not be written are put back. Their bytes are bounded: beyond the bound the
/// oldest items are dropped.
#[derive(Debug)]
pub struct BatchBuffer<T> {
    items: VecDeque<T>,
    bytes: usize,
    max_bytes: usize,
    bytes_of: fn(&T) -> usize,
}

impl<T> BatchBuffer<T> {
    /// An empty buffer of items that take up at most this many bytes. `bytes_of` returns those of an item, the same each time.
    pub fn new(max_bytes: usize, bytes_of: fn(&T) -> usize) -> Self {
        Self { items: VecDeque::new(), bytes: 0, max_bytes, bytes_of }
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether it has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds an item. Returns the number of the oldest items that were dropped because of it.
    pub fn push(&mut self, item: T) -> usize {
        self.bytes = self.bytes.saturating_add((self.bytes_of)(&item));
        self.items.push_back(item);
        self.drop_oldest()
    }

    /// Removes items and returns them, the oldest first: at most this many.
    pub fn take(&mut self, max_items: usize) -> Vec<T> {
        let count = max_items.min(self.items.len());
        let taken: Vec<T> = self.items.drain(..count).collect();
        let bytes: usize = taken.iter().map(self.bytes_of).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        taken
    }

    /// Puts items back that could not be written, before those that were added since. If there are too many now, the oldest are
    /// dropped; returns their number.
    pub fn put_back(&mut self, unwritten: Vec<T>) -> usize {
        for item in unwritten.into_iter().rev() {
            self.bytes = self.bytes.saturating_add((self.bytes_of)(&item));
            self.items.push_front(item);
        }
        self.drop_oldest()
    }

    /// Drops the oldest items until the bytes are within the bound. Without it the buffer would grow for as long as nothing can be written.
    fn drop_oldest(&mut self) -> usize {
        let mut dropped = 0;
        while self.bytes > self.max_bytes
            && let Some(oldest) = self.items.pop_front()
        {
            self.bytes = self.bytes.saturating_sub((self.bytes_of)(&oldest));
            dropped += 1;
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer_of(items: impl IntoIterator<Item = usize>) -> BatchBuffer<usize> {
        // Each item takes up as many bytes as its number.
        let mut buffer = BatchBuffer::new(100, |item| *item);
        for item in items {
            assert_eq!(buffer.push(item), 0);
        }
        buffer
    }

    #[test]
    fn items_are_taken_the_oldest_first() {
        let mut buffer = buffer_of([1, 2, 3]);

        assert_eq!(buffer.take(2), [1, 2]);
        assert_eq!((buffer.take(2), buffer.len()), (vec![3], 0));
        assert!(buffer.is_empty() && buffer.take(2).is_empty());
    }

    #[test]
    fn unwritten_items_stay_first_and_the_oldest_are_dropped() {
        let mut buffer = buffer_of([10, 20, 30]);
        let unwritten = buffer.take(2);
        assert_eq!(buffer.push(50), 0);

        assert_eq!(buffer.put_back(unwritten), 1);

        assert_eq!(buffer.take(9), [20, 30, 50]);
    }

    #[test]
    fn new_item_drops_as_many_as_it_needs() {
        let mut buffer = buffer_of([10, 20, 30, 40]);

        assert_eq!(buffer.push(25), 2);

        assert_eq!(buffer.take(9), [30, 40, 25]);
        assert_eq!(buffer.push(100), 0);
        assert_eq!(buffer.push(1), 1);
    }
}
