//! Gathers items until there are enough of them; the actor's interval takes what is left.

/// A batch that is full at `most` items. What could not be written comes back and waits, up to [`KEPT`] times as much.
#[derive(Debug)]
pub struct Batch<T> {
    items: Vec<T>,
    most: usize,
}

/// So many full batches are kept while nothing can be written.
pub const KEPT: usize = 50;

impl<T> Batch<T> {
    /// Full at this many.
    pub fn of(most: usize) -> Self {
        Self { items: Vec::new(), most: most.max(1) }
    }

    /// Adds one; whether the batch is full with it, or full once more.
    pub fn push(&mut self, item: T) -> bool {
        self.items.push(item);
        self.items.len().is_multiple_of(self.most)
    }

    /// What has been gathered, leaving nothing.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }

    /// Puts back what could not be written, before what came since. Where that is too much the oldest are lost; how many.
    pub fn put_back(&mut self, mut unwritten: Vec<T>) -> usize {
        unwritten.append(&mut self.items);
        let lost = unwritten.len().saturating_sub(self.most.saturating_mul(KEPT));
        unwritten.drain(..lost);
        self.items = unwritten;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_says_when_it_is_full_and_begins_anew() {
        let mut batch = Batch::of(2);

        assert!(!batch.push(1));
        assert!(batch.push(2));
        assert_eq!(batch.take(), [1, 2]);
        assert!(!batch.push(3));
        assert_eq!(batch.take(), [3]);
        assert!(batch.take().is_empty());
    }

    #[test]
    fn what_could_not_be_written_stands_before_what_came_since_and_the_oldest_are_lost_first() {
        let mut batch = Batch::of(2);
        batch.push(200);

        assert_eq!(batch.put_back((0..150).collect()), 51);

        assert_eq!(batch.take(), (51..150).chain([200]).collect::<Vec<_>>());
    }
}
