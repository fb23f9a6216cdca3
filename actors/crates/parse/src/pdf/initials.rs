//! Joins the large initial letter of a chapter to its word.

use super::words::Word;

/// The minimum size of an initial, as a multiple of the text's size.
const MIN_SIZE_RATIO: f64 = 1.8;
/// Bounds the time for a page: one with more large letters has no initials.
const MAX_INITIALS: usize = 100;

/// Returns the words in the order of painting, with each initial joined to its word. A large letter without a word is kept where it was
/// painted, because it may be the first word of a title. `size` is the font height of most of the text.
pub fn join(mut words: Vec<Word>, size: f64) -> Vec<Word> {
    let mut joined = Vec::new();
    for (at, initial) in initials(&words, size) {
        let Some(word) = initialed_word(&words, &initial, size).and_then(|begun| words.get_mut(begun)) else {
            continue;
        };
        put_before(word, initial, size);
        joined.push(at);
    }
    // Initials are removed at the end, because the indices of `words` must stay valid until then.
    let mut places = 0..;
    words.retain(|_| places.next().is_none_or(|at| !joined.contains(&at)));
    words
}

/// Returns the words that may be initials, with their indices.
fn initials(words: &[Word], size: f64) -> Vec<(usize, Word)> {
    let large = words.iter().enumerate().filter(|(_, word)| is_initial(word, size));
    let found: Vec<_> = large.take(MAX_INITIALS + 1).map(|(at, word)| (at, word.clone())).collect();
    // Each initial is compared with all words of the page.
    if found.len() > MAX_INITIALS { Vec::new() } else { found }
}

fn is_initial(word: &Word, size: f64) -> bool {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(|c| c.is_alphabetic() && !c.is_lowercase());
    capital && chars.next().is_none() && word.size > MIN_SIZE_RATIO * size
}

/// Returns the index of the word that the initial begins: the first word of the uppermost line to its right, if the initial extends
/// over another line at least.
fn initialed_word(words: &[Word], initial: &Word, size: f64) -> Option<usize> {
    let room = initial.x1 - 0.3 * size..initial.x1 + 1.5 * size;
    let height = initial.top - 0.3 * size..initial.y + 0.5 * size;
    let beside = |word: &(usize, &Word)| {
        let small = word.1.size < initial.size / MIN_SIZE_RATIO && !is_initial(word.1, size);
        room.contains(&word.1.x0) && height.contains(&word.1.y) && small
    };
    let beside: Vec<(usize, &Word)> = words.iter().enumerate().filter(beside).collect();
    let first = beside.iter().min_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let reaches = beside.iter().any(|other| other.1.y - first.1.y > 0.7 * size);
    reaches.then_some(first.0)
}

fn put_before(word: &mut Word, mut initial: Word, size: f64) {
    // `A`, `I` and `O` may be words of their own. Then the gap to the text is wider.
    let apart = word.x0 - initial.x1 > 0.45 * size && initial.chars().all(|c| matches!(c, 'A' | 'I' | 'O'));
    for glyph in &mut initial.glyphs {
        // The initial takes the line and size of its word: with its own, it would make the line a heading.
        (glyph.y, glyph.size) = (word.y, word.size);
        if apart {
            glyph.text.push(' ');
        }
    }
    word.x0 = word.x0.min(initial.x0);
    word.glyphs.splice(0..0, initial.glyphs);
}

#[cfg(test)]
mod tests {
    use super::super::words::{self, tests::painted};
    use super::*;

    #[test]
    fn initial_over_two_lines_joins_the_upper_one() {
        let mut page = words::words(painted("O", 0.0, 20.0, 30.0));
        page.extend(words::words(painted("nce upon", 16.0, 8.0, 10.0)));
        page.extend(words::words(painted("a time", 16.0, 20.0, 10.0)));

        let first: Vec<String> = join(page, 10.0).iter().map(|word| word.chars().collect()).collect();

        assert_eq!(first, ["Once", "upon", "a", "time"]);
    }

    #[test]
    fn lone_large_letter_is_kept() {
        let mut page = words::words(painted("B", 0.0, 20.0, 30.0));
        page.extend(words::words(painted("Bees", 0.0, 60.0, 10.0)));

        assert_eq!(join(page, 10.0).len(), 2);
    }

    #[test]
    fn title_keeps_a_first_word_of_one_letter() {
        let mut page = words::words(painted("A title of I", 0.0, 20.0, 30.0));
        page.extend(words::words(painted("and some text", 0.0, 60.0, 10.0)));

        let found: Vec<String> = join(page, 10.0).iter().map(|word| word.chars().collect()).collect();

        assert_eq!(found, ["A", "title", "of", "I", "and", "some", "text"]);
    }
}
