//! Groups of documents that fit into memory together.

/// Bytes of sources, or characters of texts, that are in memory at the same time for one batch.
const MAX_GROUP_SIZE: i64 = 1 << 20;

/// Divides items into groups of at most [`MAX_GROUP_SIZE`], in their order. A larger item is alone in its group.
pub(super) fn group_by_size<T>(items: impl IntoIterator<Item = (T, i64)>) -> Vec<Vec<T>> {
    let (mut groups, mut group, mut total) = (Vec::new(), Vec::new(), 0_i64);
    for (item, size) in items {
        if !group.is_empty() && total.saturating_add(size) > MAX_GROUP_SIZE {
            groups.push(std::mem::take(&mut group));
            total = 0;
        }
        total = total.saturating_add(size);
        group.push(item);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_bounded_by_their_size() {
        let half = MAX_GROUP_SIZE / 2;

        let groups = group_by_size([('a', half), ('b', half), ('c', 1), ('d', 2 * MAX_GROUP_SIZE), ('e', 1)]);

        assert_eq!(groups, [vec!['a', 'b'], vec!['c'], vec!['d'], vec!['e']]);
        assert!(group_by_size(Vec::<(char, i64)>::new()).is_empty());
    }
}
