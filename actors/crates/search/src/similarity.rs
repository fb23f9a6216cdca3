//! Compares sets, such as those of the words of two texts.

use std::collections::HashSet;
use std::hash::Hash;

use crate::counts::to_f32;

/// Returns the Jaccard similarity of two sets, from 0 to 1: the share of all their elements that both have. 1 for two empty sets.
#[must_use]
pub fn jaccard<T: Eq + Hash>(one: &HashSet<T>, other: &HashSet<T>) -> f32 {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    if all == 0 { 1.0 } else { to_f32(shared) / to_f32(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_the_share_of_common_elements() {
        for (one, other, similarity) in [
            ("abc", "abc", 1.0),
            ("abcd", "abcde", 0.8),
            ("ab", "bc", 1.0 / 3.0),
            ("a", "b", 0.0),
            ("a", "", 0.0),
            ("", "", 1.0),
        ] {
            let (one, other): (HashSet<char>, HashSet<char>) =
                (one.chars().collect(), other.chars().collect());
            let found = jaccard(&one, &other);
            assert!((found - similarity).abs() < 1e-6, "{one:?} {other:?}: {found}");
        }
    }
}
