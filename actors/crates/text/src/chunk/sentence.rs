//! Finds the ends of sentences.
//!
//! The rules extend UAX #29 with abbreviations, initials, ordinals, decimals and note marks (`.[1]`). The sentence boundaries of unicode-segmentation ignore
//! abbreviations and take quadratic time in the distance to the next letter. In doubt a sentence does not end, because a missed end (two
//! sentences stay together) is less harmful than a false one.

use super::note;

/// Abbreviations in lower case that may be followed by a capital letter or a number within a sentence.
const ABBREVIATIONS: &[&str] = &[
    "adj", "al", "approx", "apr", "aug", "av", "bijv", "bzgl", "bzw", "ca", "capt", "cf", "col", "cpl",
    "dec", "dept", "dez", "dhr", "dr", "dra", "ed", "eds", "eig", "evtl", "exkl", "feb", "gen", "ggf", "gov",
    "hon", "hr", "hrsg", "inkl", "jan", "jr", "jul", "jun", "lt", "mevr", "mlle", "mme", "mr", "mrs", "ms",
    "mt", "nov", "oct", "okt", "prof", "ref", "refs", "rep", "resp", "rev", "sen", "sep", "sept", "sgt",
    "sog", "sr", "sra", "srta", "st", "ste", "vgl", "vs", "zzgl",
];

/// Words that are abbreviations only before a number.
const ABBREVIATIONS_BEFORE_NUMBERS: &[&str] = &[
    "abb", "abs", "art", "bd", "ch", "chap", "eq", "eqs", "fig", "figs", "kap", "mar", "no", "nos", "nr",
    "núm", "p", "pág", "pp", "sec", "str", "tab", "vol", "vols",
];

/// Maximum length of a word that is looked up above; more than enough for initials.
const MAX_ABBREVIATION_BYTES: usize = 16;

/// Returns the ascending byte offsets at which sentences begin, after the white space, without the first.
pub(super) fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(from..)?;
            let at = from + rest.find(is_terminal)?;
            let (before, after) = text.split_at_checked(at)?;
            // Several marks end a sentence once (`?!`, `...`), and closing quotation marks and brackets
            // after them belong to it.
            let closed = after.trim_start_matches(is_terminal).trim_start_matches(is_closing);
            let terminals = after.get(..after.len() - closed.len())?;
            let tail = note::after_all(closed);
            let next = tail.trim_start();
            from = text.len() - next.len();
            if next.is_empty() {
                return None;
            }
            let has_note = tail.len() < closed.len();
            if is_end(before, terminals, tail.len() > next.len(), next) && (!has_note || begins_word(next)) {
                return Some(from);
            }
        }
    })
}

/// Returns a sentence without the note marks that follow its end.
pub(super) fn without_notes(sentence: &str) -> &str {
    let rest = note::before_all(sentence);
    if ends_sentence(rest) { rest } else { sentence }
}

/// Returns whether a text begins with a word. After a stop and a mark, an operator continues a line of code: `a.[0] + 1`.
fn begins_word(text: &str) -> bool {
    text.chars().find(|c| !is_opening(*c)).is_some_and(char::is_alphanumeric)
}

/// Returns whether a line ends with the end of a sentence.
pub(super) fn ends_sentence(line: &str) -> bool {
    line.trim_end_matches(is_closing).ends_with(is_terminal)
}

/// Returns whether a sentence ends with `terminals`, between `before` and `next`.
fn is_end(before: &str, terminals: &str, spaced: bool, next: &str) -> bool {
    // East Asian full stops need no space after them. Only a number may follow without a new sentence,
    // as in a full-width decimal.
    if terminals.contains(is_wide) {
        return spaced || !next.starts_with(char::is_numeric);
    }
    // The first letter after opening quotation marks decides: a lower case letter continues the sentence.
    let Some(first) = next.chars().find(|c| !is_opening(*c)) else { return spaced };
    spaced && !first.is_lowercase() && !(terminals.starts_with('.') && is_abbreviated(before, first))
}

/// Returns whether the full stop after `before` belongs to its last word; `next` is the first character of the following word.
fn is_abbreviated(before: &str, next: char) -> bool {
    let word = last_word(before);
    let lower = word.to_lowercase();
    let is_one_letter = word.chars().nth(1).is_none() && word.chars().any(char::is_alphabetic);
    // `3. Mai`: in German and other languages a short number with a full stop is an ordinal. A year such
    // as 1999 ends a sentence.
    let is_ordinal = word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    // Such as `e.g` and `U.S`, which no list could hold completely.
    let has_inner_stop = word.contains('.') && word.chars().any(char::is_alphabetic);
    is_one_letter
        || is_ordinal
        || has_inner_stop
        || ABBREVIATIONS.contains(&lower.as_str())
        || next.is_numeric() && ABBREVIATIONS_BEFORE_NUMBERS.contains(&lower.as_str())
}

/// Returns the letters, digits and inner full stops at the end, or an empty string if they are longer than any abbreviation.
fn last_word(before: &str) -> &str {
    let rest = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '.');
    let word = before.get(rest.len()..).unwrap_or_default();
    if word.len() > MAX_ABBREVIATION_BYTES { "" } else { word.trim_start_matches('.') }
}

fn is_terminal(c: char) -> bool {
    // ASCII is decided first, because this runs for each character of a text.
    matches!(c, '.' | '!' | '?') || !c.is_ascii() && "…‼⁇⁈⁉։؟۔।॥።፧។၊။".contains(c) || is_wide(c)
}

/// Returns whether a character ends a sentence without a following space.
fn is_wide(c: char) -> bool {
    matches!(c, '。' | '．' | '！' | '？' | '｡' | '︒')
}

fn is_closing(c: char) -> bool {
    "\"')]}»”’“‘」』）】》〉".contains(c)
}

fn is_opening(c: char) -> bool {
    "\"'([{«„‚“‘»「『（【《〈¿¡".contains(c)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a test may panic")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let ends = starts(text).chain([text.len()]);
        ends.scan(0, |from, to| Some(text[std::mem::replace(from, to)..to].trim_end())).collect()
    }

    #[test]
    fn sentence_includes_its_stops_and_quotes() {
        assert_eq!(
            sentences("It rained. “Why?” She left!  (He stayed.) Then… Silence. 2 of 3 agreed."),
            ["It rained.", "“Why?”", "She left!", "(He stayed.)", "Then…", "Silence.", "2 of 3 agreed."]
        );
    }

    #[test]
    fn abbreviations_and_numbers_do_not_end_a_sentence() {
        for text in [
            "Dr. Smith met Prof. J. R. R. Tolkien vs. St. John.",
            "Use a list, e.g. Apples, i.e. Fruit.",
            "Das gilt z. B. Für alle am 3. Mai bzw. Juni.",
            "It costs 3.14 or 1.000.000 at www.example.com/a.B?c.",
            "See Fig. 3, No. 7 and pp. 12.",
            "The U.S. Army came at 5 p.m. Sharp.",
            "“Why?” he asked. and went on",
        ] {
            assert_eq!(sentences(text), [text]);
        }
    }

    #[test]
    fn abbreviation_before_numbers_may_end_a_sentence() {
        assert_eq!(
            sentences("He said no. She left in 1999. Then he ate a fig. Good."),
            ["He said no.", "She left in 1999.", "Then he ate a fig.", "Good."]
        );
    }

    #[test]
    fn sentences_of_other_scripts_are_found() {
        assert_eq!(
            sentences("人人生而自由。「他们赋有理性。」很好！"),
            ["人人生而自由。", "「他们赋有理性。」", "很好！"]
        );
        assert_eq!(sentences("सब स्वतंत्र हैं। सब समान हैं।"), ["सब स्वतंत्र हैं।", "सब समान हैं।"]);
        assert_eq!(sentences("هل أنت هنا؟ نعم."), ["هل أنت هنا؟", "نعم."]);
    }

    #[test]
    fn note_marks_belong_to_the_sentence_before_them() {
        assert_eq!(
            sentences(
                "Okapis live there.[1][2] It was found.[a] “It is shy.”[note 3] They eat![citation needed] Is it?[4]"
            ),
            [
                "Okapis live there.[1][2]",
                "It was found.[a]",
                "“It is shy.”[note 3]",
                "They eat![citation needed]",
                "Is it?[4]"
            ]
        );
        assert_eq!(sentences("人人生而自由。[1]他们赋有理性。"), ["人人生而自由。[1]", "他们赋有理性。"]);
        for text in
            ["let x = a.[0] + B.[1];", "A line.[1]Another one", "It ends.[1] and goes on", "One.[Two] Three"]
        {
            assert_eq!(sentences(text), [text]);
        }
    }

    #[test]
    fn note_marks_are_cut_only_behind_the_end_of_a_sentence() {
        for (sentence, without) in [
            ("Okapis live there.[1][23]", "Okapis live there."),
            ("“It is shy.”[note 3]", "“It is shy.”"),
            ("It is written a[12].[b]", "It is written a[12]."),
            ("It is written a[12].", "It is written a[12]."),
            ("It is written a[12]", "It is written a[12]"),
            ("[1][2]", "[1][2]"),
            ("It is.[2024]", "It is.[2024]"),
        ] {
            assert_eq!(without_notes(sentence), without);
        }
    }

    proptest! {
        #[test]
        fn sentence_starts_ascend_and_follow_white_space(text in "([.!?。]|[a-c]|[A-C]|[\"”(»]| |\n|é|1|\\[1\\]){0,40}") {
            let mut last = 0;
            for at in starts(&text) {
                prop_assert!(at > last && at < text.len());
                prop_assert!(!text[at..].starts_with(char::is_whitespace));
                last = at;
            }
        }
    }
}
