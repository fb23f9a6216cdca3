//! Spelling made even before words are told apart, the same for passages and queries: compatible forms are one (a ligature,
//! a full-width digit), invisible characters are gone, and writing without spaces is cut into short runs of letters, so
//! that a word is found inside a sentence whatever stands around it.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// What the text is: a passage is cut every way a query may ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Text that is searched.
    Passage,
    /// Text that is asked for.
    Query,
}

/// The text in even spelling, to be split at whatever is neither letter nor digit.
pub fn even(text: &str, side: Side) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let text: Cow<str> = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfkc().collect()),
    };
    let even = |c| !invisible(c) && width(c).is_none() && same(c) == c;
    if text.chars().all(even) { text } else { Cow::Owned(cut(&text, side)) }
}

/// How many letters of a script without spaces are looked up together; none for scripts with spaces, and for marks.
pub fn width(letter: char) -> Option<usize> {
    let width = match letter {
        // Chinese, Japanese; and Korean, whose words carry endings.
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' => 2,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => 2,
        // Thai, Lao; Tibetan; Burmese; Khmer: their letters say less.
        '\u{e01}'..='\u{eff}' | '\u{f40}'..='\u{fbc}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' => {
            3
        }
        _ => return None,
    };
    letter.is_alphabetic().then_some(width)
}

/// Characters that change how a word looks or breaks, not which word it is.
fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        // Tone marks of Thai and Lao, which would split their runs.
        || matches!(c, '\u{e47}'..='\u{e4c}' | '\u{ec8}'..='\u{ecc}')
}

/// The letter that is mostly written in a letter's place.
fn same(c: char) -> char {
    match c {
        'ё' => 'е',
        'Ё' => 'Е',
        _ => c,
    }
}

fn cut(text: &str, side: Side) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut run: Vec<char> = Vec::new();
    let mut wide = None;
    for c in text.chars().filter(|c| !invisible(*c)).map(same) {
        let now = width(c);
        if now != wide {
            write_run(&mut out, &run, wide, side);
            run.clear();
            wide = now;
        }
        match now {
            Some(_) => run.push(c),
            None => out.push(c),
        }
    }
    write_run(&mut out, &run, wide, side);
    out
}

/// A query asks for the longest pieces that there are; a passage has those, and those one shorter for queries of one
/// letter less.
fn write_run(out: &mut String, run: &[char], width: Option<usize>, side: Side) {
    let Some(width) = width else { return };
    let longest = width.min(run.len());
    let shortest = match side {
        Side::Passage => width.saturating_sub(1).min(longest),
        Side::Query => longest,
    };
    out.push(' ');
    for length in shortest..=longest {
        for piece in run.windows(length.max(1)) {
            out.extend(piece);
            out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str, side: Side) -> Vec<String> {
        even(text, side)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|p| !p.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn writing_with_spaces_stays_as_it_is() {
        for text in ["plain words, 3 of them", "Straße über Äcker", "Быстрая лиса"] {
            assert!(matches!(even(text, Side::Passage), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn ligatures_wide_letters_and_soft_hyphens_are_evened_out() {
        assert_eq!(
            pieces("ﬁnance Ｒｕｓｔ２ Donau\u{ad}dampf", Side::Query),
            ["finance", "Rust2", "Donaudampf"]
        );
    }

    #[test]
    fn yo_is_written_as_ye() {
        assert_eq!(pieces("ёлка Ёж", Side::Query), ["елка", "Еж"]);
    }

    #[test]
    fn a_query_without_spaces_asks_for_pairs_of_letters() {
        assert_eq!(pieces("东京塔", Side::Query), ["东京", "京塔"]);
        assert_eq!(pieces("猫", Side::Query), ["猫"]);
    }

    #[test]
    fn a_passage_without_spaces_has_its_letters_and_their_pairs() {
        assert_eq!(pieces("猫在 home", Side::Passage), ["猫", "在", "猫在", "home"]);
    }

    #[test]
    fn letters_beside_foreign_words_are_cut_off_from_them() {
        assert_eq!(pieces("用Rust写", Side::Query), ["用", "Rust", "写"]);
    }

    proptest! {
        #[test]
        fn what_stands_in_a_passage_is_found_in_it(before in "[一-龥]{0,6}", word in "[一-龥]{1,5}", after in "[一-龥]{0,6}") {
            let passage = pieces(&format!("{before}{word}{after}"), Side::Passage);
            for piece in pieces(&word, Side::Query) {
                prop_assert!(passage.contains(&piece));
            }
        }

        #[test]
        fn any_text_can_be_evened_out(text in any::<String>()) {
            even(&text, Side::Passage);
            even(&text, Side::Query);
        }
    }
}
