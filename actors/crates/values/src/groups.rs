//! Items divided into groups: by their owners, or so that each group fits into memory.

use std::collections::BTreeMap;

use super::id::UserId;

/// The upper bounds of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupBounds {
    /// Number of items, at least one.
    pub max_items: usize,
    /// Sum of the sizes of the items, in the unit of the caller. An item that is larger is alone in its group.
    pub max_size: u64,
}

/// Divides items, each with its size, into groups within these bounds. Their order stays. No group is empty.
pub fn group_by_size<T>(items: impl IntoIterator<Item = (T, u64)>, bounds: GroupBounds) -> Vec<Vec<T>> {
    let GroupBounds { max_items, max_size } = bounds;
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut group_size = 0_u64;
    for (item, size) in items {
        group_size = group_size.saturating_add(size);
        match groups.last_mut() {
            Some(group) if group.len() < max_items && group_size <= max_size => group.push(item),
            Some(_) | None => {
                group_size = size;
                groups.push(vec![item]);
            }
        }
    }
    groups
}

/// Groups items by the users who own them. The items of a user keep their order.
pub fn group_by_user<T>(items: impl IntoIterator<Item = (UserId, T)>) -> BTreeMap<UserId, Vec<T>> {
    let mut by_user: BTreeMap<UserId, Vec<T>> = BTreeMap::new();
    for (user, item) in items {
        by_user.entry(user).or_default().push(item);
    }
    by_user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_within_their_bounds() {
        let bounds = GroupBounds { max_items: 3, max_size: 8 };
        let sizes = [1, 7, 1, 16, 2, 0, 0, 0, u64::MAX, 1];

        let groups = group_by_size(sizes.map(|size| (size, size)), bounds);

        let expected = [vec![1, 7], vec![1], vec![16], vec![2, 0, 0], vec![0], vec![u64::MAX], vec![1]];
        assert_eq!(groups, expected);
        assert!(group_by_size(Vec::<(char, u64)>::new(), bounds).is_empty());
    }

    #[test]
    fn items_of_a_user_keep_their_order() {
        let [first, second] = [1, 2].map(|number| UserId(uuid::Uuid::from_u128(number)));

        let groups = group_by_user([(second, 'a'), (first, 'b'), (second, 'c')]);

        assert_eq!(groups, BTreeMap::from([(first, vec!['b']), (second, vec!['a', 'c'])]));
    }
}
