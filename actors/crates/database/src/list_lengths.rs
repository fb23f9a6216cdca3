//! The lengths of lists in conditions. A list of each length is another statement, and a connection keeps a hundred prepared ones: batches
//! of any size must not push the statements of other work out.

/// Up to this length lists have as many values as the next power of two; longer ones a multiple of [`LENGTH_STEP`].
const MAX_POWER_OF_TWO: usize = 64;
const LENGTH_STEP: usize = 50;

/// Returns the values of a list with the last one repeated, so that the list has one of a few lengths. The rows whose column is in the
/// list stay the same.
pub fn padded<T: Clone>(values: &[T]) -> impl Iterator<Item = T> {
    padded_to(values, padded_length(values.len()))
}

/// Returns the first values of a list with the last one repeated, so that a list that is not empty has this length.
pub fn padded_to<T: Clone>(values: &[T], length: usize) -> impl Iterator<Item = T> {
    values.iter().chain(values.last().into_iter().cycle()).take(length).cloned()
}

/// Returns the length of a list with at least this many values.
fn padded_length(length: usize) -> usize {
    match length {
        0 => 0,
        1..=MAX_POWER_OF_TWO => length.next_power_of_two(),
        _ => length.next_multiple_of(LENGTH_STEP),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The rows of a batch.
    const BATCH_ROWS: usize = 500;

    #[test]
    fn list_is_padded_with_its_last_value() {
        assert_eq!(padded(&[1, 2, 3]).collect::<Vec<_>>(), [1, 2, 3, 3]);
        assert_eq!(padded(&[7]).collect::<Vec<_>>(), [7]);
        assert_eq!(padded::<u8>(&[]).count(), 0);
        assert_eq!(padded_to(&[1, 2, 3], 5).collect::<Vec<_>>(), [1, 2, 3, 3, 3]);
        assert_eq!(padded_to::<u8>(&[], 5).count(), 0);
    }

    #[test]
    fn lists_of_a_batch_have_few_lengths() {
        let lengths: BTreeSet<usize> = (1..=BATCH_ROWS).map(padded_length).collect();

        assert_eq!(lengths.len(), 16);
        assert!((1..=BATCH_ROWS).all(|length| (length..=BATCH_ROWS).contains(&padded_length(length))));
    }
}
