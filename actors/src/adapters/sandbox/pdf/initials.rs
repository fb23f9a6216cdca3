//! The large first letter of a chapter goes to the word that it begins.

use super::words::Word;

/// How much larger than the text such a letter is at least.
const LARGE: f64 = 1.8;

/// Words in the order of painting, each initial with its word. `size` is that of most of the text.
pub fn join(words: Vec<Word>, size: f64) -> Vec<Word> {
    let (initials, mut words): (Vec<Word>, Vec<Word>) =
        words.into_iter().partition(|word| is_initial(word, size));
    for initial in initials {
        match begun(&words, &initial, size).and_then(|at| words.get_mut(at)) {
            Some(word) => put_before(word, initial, size),
            None => put_back(&mut words, initial),
        }
    }
    words
}

fn is_initial(word: &Word, size: f64) -> bool {
    let mut chars = word.chars();
    let capital = chars.next().is_some_and(|c| c.is_alphabetic() && !c.is_lowercase());
    capital && chars.next().is_none() && word.size > LARGE * size
}

/// The word that the letter begins: the first one of the uppermost line to its right, where it reaches down over
/// another line at least.
fn begun(words: &[Word], initial: &Word, size: f64) -> Option<usize> {
    let room = initial.x1 - 0.3 * size..initial.x1 + 1.5 * size;
    let height = initial.top - 0.3 * size..initial.y + 0.5 * size;
    let beside = |word: &&(usize, &Word)| {
        room.contains(&word.1.x0) && height.contains(&word.1.y) && word.1.size < initial.size / LARGE
    };
    let words: Vec<(usize, &Word)> = words.iter().enumerate().collect();
    let beside: Vec<&(usize, &Word)> = words.iter().filter(beside).collect();
    let first = beside.iter().min_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
    let reaches = beside.iter().any(|other| other.1.y - first.1.y > 0.7 * size);
    reaches.then_some(first.0)
}

fn put_before(word: &mut Word, mut initial: Word, size: f64) {
    let apart = word.x0 - initial.x1 > 0.45 * size && initial.chars().all(|c| matches!(c, 'A' | 'I' | 'O'));
    for glyph in &mut initial.glyphs {
        (glyph.y, glyph.size) = (word.y, word.size);
        if apart {
            glyph.text.push(' ');
        }
    }
    word.x0 = word.x0.min(initial.x0);
    word.glyphs.splice(0..0, initial.glyphs);
}

/// A large letter that begins no word goes before what stands below it.
fn put_back(words: &mut Vec<Word>, initial: Word) {
    let at = words.iter().position(|word| word.y > initial.y).unwrap_or(words.len());
    words.insert(at, initial);
}

#[cfg(test)]
mod tests {
    use super::super::words::{self, tests::painted};
    use super::*;

    #[test]
    fn an_initial_over_two_lines_begins_the_upper_one() {
        let mut page = words::words(painted("O", 0.0, 20.0, 30.0));
        page.extend(words::words(painted("nce upon", 16.0, 8.0, 10.0)));
        page.extend(words::words(painted("a time", 16.0, 20.0, 10.0)));

        let first: Vec<String> = join(page, 10.0).iter().map(|word| word.chars().collect()).collect();

        assert_eq!(first, ["Once", "upon", "a", "time"]);
    }

    #[test]
    fn a_large_letter_alone_stays() {
        let mut page = words::words(painted("B", 0.0, 20.0, 30.0));
        page.extend(words::words(painted("Bees", 0.0, 60.0, 10.0)));

        assert_eq!(join(page, 10.0).len(), 2);
    }
}
