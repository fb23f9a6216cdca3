//! A buffer of items that are written together.

/// Maximum number of full batches that are kept while nothing can be written.
const MAX_UNWRITTEN_BATCHES: usize = 50;

/// Gathers items until a batch is full. Items that could not be written are put back, up to 50 batches of them.
#[derive(Debug)]
pub struct BatchBuffer<T> {
    items: Vec<T>,
    batch_size: usize,
}

impl<T> BatchBuffer<T> {
    /// An empty buffer whose batches are full at this many items, at least 1.
    pub fn new(batch_size: usize) -> Self {
        Self { items: Vec::new(), batch_size: batch_size.max(1) }
    }

    /// Adds an item. Returns whether that makes a batch full; while items wait that were put back, every further full batch counts.
    pub fn push(&mut self, item: T) -> bool {
        self.items.push(item);
        self.items.len().is_multiple_of(self.batch_size)
    }

    /// Removes all items and returns them, the oldest first.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }

    /// Puts items back that could not be written, before those that were added since. If there are too many now, the oldest are
    /// dropped; returns their number.
    pub fn put_back(&mut self, mut unwritten: Vec<T>) -> usize {
        unwritten.append(&mut self.items);
        let lost = unwritten.len().saturating_sub(self.batch_size.saturating_mul(MAX_UNWRITTEN_BATCHES));
        // Without a bound the buffer would grow for as long as the database takes no writes.
        unwritten.drain(..lost);
        self.items = unwritten;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_tells_when_a_batch_is_full() {
        let mut buffer = BatchBuffer::new(2);

        assert!(!buffer.push(1));
        assert!(buffer.push(2));
        assert_eq!(buffer.take(), [1, 2]);
        assert!(!buffer.push(3));
        assert_eq!(buffer.take(), [3]);
        assert!(buffer.take().is_empty());
    }

    #[test]
    fn unwritten_items_stay_first_and_the_oldest_are_dropped() {
        let mut buffer = BatchBuffer::new(2);
        buffer.push(200);

        assert_eq!(buffer.put_back((0..150).collect()), 51);

        assert_eq!(buffer.take(), (51..150).chain([200]).collect::<Vec<_>>());
    }
}
