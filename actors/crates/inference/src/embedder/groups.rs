//! Which texts go through the encoder together.

/// Rows of a group at most, unless one text alone has more: past this a group's rows leave the cache.
const ROWS: usize = 512;

/// Numbers of the texts, in groups of similar length, the longest first so that the lanes end together.
pub(super) fn groups(lengths: &[usize], lanes: usize) -> Vec<Vec<usize>> {
    let fair = lengths.iter().sum::<usize>().div_ceil(lanes.max(1));
    let most = fair.clamp(1, ROWS);
    let mut order: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, length)| std::cmp::Reverse(*length));

    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut rows = 0;
    for (number, length) in order {
        match groups.last_mut() {
            Some(group) if rows + length <= most => group.push(number),
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
        fn each_text_is_in_one_group_and_no_group_is_too_long(
            lengths in vec(2usize..=256, 0..200),
            lanes in 1usize..9,
        ) {
            let groups = groups(&lengths, lanes);

            let mut all: Vec<usize> = groups.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            for group in &groups {
                let rows: usize = group.iter().map(|number| lengths[*number]).sum();
                prop_assert!(rows <= ROWS || group.len() == 1);
            }
        }
    }

    #[test]
    fn two_texts_are_shared_by_two_lanes() {
        assert_eq!(groups(&[239, 239], 2), [[0], [1]]);
        assert_eq!(groups(&[10, 10], 1), [[0, 1]]);
    }
}
