//! Divides texts into groups that are encoded together.

/// Maximum number of rows of a group, unless one text alone has more. The rows of a larger group do not fit into the cache.
const MAX_GROUP_ROWS: usize = 512;

/// Returns the indices of the texts in groups of similar length. The longest are first, so that all threads finish at about the same
/// time.
pub(super) fn group_by_length(lengths: &[usize], threads: usize) -> Vec<Vec<usize>> {
    let rows_per_thread = lengths.iter().sum::<usize>().div_ceil(threads.max(1));
    // With few texts the groups become smaller, so that every thread gets one.
    let max_rows = rows_per_thread.clamp(1, MAX_GROUP_ROWS);
    let mut order: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, length)| std::cmp::Reverse(*length));

    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut rows = 0;
    for (number, length) in order {
        match groups.last_mut() {
            Some(group) if rows + length <= max_rows => group.push(number),
            Some(_) | None => {
                groups.push(vec![number]);
                rows = 0;
            }
        }
        rows += length;
    }
    groups
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn every_text_is_in_one_group_within_the_bound(
            lengths in vec(2usize..=256, 0..200),
            threads in 1usize..9,
        ) {
            let groups = group_by_length(&lengths, threads);

            let mut all: Vec<usize> = groups.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            for group in &groups {
                let rows: usize = group.iter().map(|number| lengths[*number]).sum();
                prop_assert!(rows <= MAX_GROUP_ROWS || group.len() == 1);
            }
        }
    }

    #[test]
    fn two_texts_are_divided_between_two_threads() {
        assert_eq!(group_by_length(&[239, 239], 2), [[0], [1]]);
        assert_eq!(group_by_length(&[10, 10], 1), [[0, 1]]);
    }
}
