//! Gathers items until there are enough of them; the actor's interval takes what is left.

/// A batch of at most `most` items.
#[derive(Debug)]
pub struct Batch<T> {
    items: Vec<T>,
    most: usize,
}

impl<T> Batch<T> {
    /// Full at this many.
    pub fn of(most: usize) -> Self {
        Self { items: Vec::new(), most: most.max(1) }
    }

    /// Adds one; the whole batch, once it is full.
    pub fn push(&mut self, item: T) -> Option<Vec<T>> {
        self.items.push(item);
        (self.items.len() >= self.most).then(|| self.take())
    }

    /// What has been gathered, leaving nothing.
    pub fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_handed_over_when_it_is_full_and_begins_anew() {
        let mut batch = Batch::of(2);

        assert_eq!(batch.push(1), None);
        assert_eq!(batch.push(2), Some(vec![1, 2]));
        assert_eq!(batch.push(3), None);
        assert_eq!(batch.take(), [3]);
        assert!(batch.take().is_empty());
    }
}
