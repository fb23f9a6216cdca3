//! The number of edits between two words: letters that are inserted, left out or replaced, and neighbouring ones that are swapped. No
//! letter is edited twice (optimal string alignment).

/// Maximum number of letters of a word that is compared: those of a machine word.
pub const MAX_COMPARED_CHARS: usize = 64;

/// Number of letters whose places are looked up in a table: those of Latin-1.
const TABLE_LETTERS: usize = 256;

/// A word that is compared with many others, by the bit-parallel algorithm of Hyyrö (2003).
pub struct ComparedWord {
    /// The places of each letter of the table, one bit for each.
    table: [u64; TABLE_LETTERS],
    /// The places of each other letter.
    others: Vec<(char, u64)>,
    length: usize,
}

impl ComparedWord {
    /// Prepares a word; `None` for one without letters, and for one of more than [`MAX_COMPARED_CHARS`] letters.
    pub fn new(word: &str) -> Option<Self> {
        let length = word.chars().count();
        if !(1..=MAX_COMPARED_CHARS).contains(&length) {
            return None;
        }
        let mut compared = Self { table: [0; TABLE_LETTERS], others: Vec::new(), length };
        for (place, letter) in word.chars().enumerate() {
            compared.add(letter, 1 << place);
        }
        Some(compared)
    }

    /// Adds a place of a letter.
    fn add(&mut self, letter: char, place: u64) {
        if let Some(places) = table_index(letter).and_then(|at| self.table.get_mut(at)) {
            *places |= place;
        } else if let Some((_, places)) = self.others.iter_mut().find(|(other, _)| *other == letter) {
            *places |= place;
        } else {
            self.others.push((letter, place));
        }
    }

    fn places(&self, letter: char) -> u64 {
        match table_index(letter).and_then(|at| self.table.get(at)) {
            Some(places) => *places,
            None => self.others.iter().find(|(other, _)| *other == letter).map_or(0, |(_, places)| *places),
        }
    }

    /// Returns the number of edits that make this word the other one.
    pub fn edits_to(&self, other: &str) -> usize {
        let last = 1_u64 << (self.length - 1);
        // The columns of the matrix of distances: whether a distance is one more, or one less, than the one above it.
        let (mut more, mut less) = (u64::MAX, 0_u64);
        let (mut diagonal, mut before) = (0_u64, 0_u64);
        let mut edits = self.length;
        for letter in other.chars() {
            let places = self.places(letter);
            let swapped = ((!diagonal & places) << 1) & before;
            diagonal = ((places & more).wrapping_add(more) ^ more) | places | less | swapped;
            let right_more = less | !(diagonal | more);
            let right_less = diagonal & more;
            if right_more & last != 0 {
                edits += 1;
            }
            if right_less & last != 0 {
                edits -= 1;
            }
            let (right_more, right_less) = ((right_more << 1) | 1, right_less << 1);
            more = right_less | !(diagonal | right_more);
            less = right_more & diagonal;
            before = places;
        }
        edits
    }
}

/// Returns where the table has a letter; `None` for letters that it does not have.
fn table_index(letter: char) -> Option<usize> {
    u8::try_from(letter).ok().map(usize::from)
}

#[cfg(test)]
mod tests {
    use std::cmp::min;

    use proptest::prelude::*;

    use super::*;

    fn edits(a: &str, b: &str) -> usize {
        ComparedWord::new(a).unwrap().edits_to(b)
    }

    /// Computes the distance by its definition.
    fn edits_by_definition(a: &[char], b: &[char]) -> usize {
        let mut matrix = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                matrix[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let replaced = matrix[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let mut best = min(replaced, 1 + min(matrix[i - 1][j], matrix[i][j - 1]));
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = min(best, matrix[i - 2][j - 2] + 1);
                    }
                    best
                };
            }
        }
        matrix[a.len()][b.len()]
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in [
            ("heron", "heron", 0),
            ("heron", "herron", 1),
            ("heron", "hern", 1),
            ("heron", "heran", 1),
            ("heron", "hreon", 1),
            ("penicilin", "penicillin", 1),
            ("semelweis", "semmelweis", 1),
            ("heron", "", 5),
            ("ca", "abc", 3),
            ("цапля", "цалпя", 1),
        ] {
            assert_eq!(edits(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn words_of_other_lengths_are_not_compared() {
        assert!(ComparedWord::new("").is_none());
        assert!(ComparedWord::new(&"a".repeat(MAX_COMPARED_CHARS + 1)).is_none());
        let longest = "a".repeat(MAX_COMPARED_CHARS);
        assert_eq!(edits(&longest, &longest), 0);
        assert_eq!(edits(&longest, "b"), MAX_COMPARED_CHARS);
    }

    proptest! {
        #[test]
        fn edits_are_those_of_the_definition(a in "[abcéж]{1,12}", b in "[abcéж]{0,12}") {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            prop_assert_eq!(edits(&a, &b), edits_by_definition(&letters(&a), &letters(&b)));
        }

        #[test]
        fn swaps_and_long_words_are_counted(a in "[ab]{1,64}", b in "[ab]{0,70}") {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            prop_assert_eq!(edits(&a, &b), edits_by_definition(&letters(&a), &letters(&b)));
        }
    }
}
