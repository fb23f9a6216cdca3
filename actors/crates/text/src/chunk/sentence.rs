//! Where sentences end.
//!
//! Rules of our own after UAX #29, with abbreviations, initials, ordinals and decimals. The sentence bounds of
//! unicode-segmentation know no abbreviations and take time quadratic in the distance to the next letter.
//! A missed end costs little (two sentences stay together), a wrong one parts a thought: in doubt, no end.

/// Abbreviations that a capital or a number may follow within a sentence, in lower case.
const ABBREVIATIONS: &[&str] = &[
    "adj", "al", "approx", "apr", "aug", "av", "bijv", "bzgl", "bzw", "ca", "capt", "cf", "col", "cpl",
    "dec", "dept", "dez", "dhr", "dr", "dra", "ed", "eds", "eig", "evtl", "exkl", "feb", "gen", "ggf", "gov",
    "hon", "hr", "hrsg", "inkl", "jan", "jr", "jul", "jun", "lt", "mevr", "mlle", "mme", "mr", "mrs", "ms",
    "mt", "nov", "oct", "okt", "prof", "ref", "refs", "rep", "resp", "rev", "sen", "sep", "sept", "sgt",
    "sog", "sr", "sra", "srta", "st", "ste", "vgl", "vs", "zzgl",
];

/// Abbreviations only where a number follows.
const NUMBERED: &[&str] = &[
    "abb", "abs", "art", "bd", "ch", "chap", "eq", "eqs", "fig", "figs", "kap", "mar", "no", "nos", "nr",
    "núm", "p", "pág", "pp", "sec", "str", "tab", "vol", "vols",
];

/// The longest word that is looked up above, in bytes, and more than enough for initials.
const LONGEST: usize = 16;

/// Where sentences begin, but for the first: byte offsets, rising, behind the white space.
pub(super) fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(from..)?;
            let at = from + rest.find(is_terminal)?;
            let (before, after) = text.split_at_checked(at)?;
            let tail = after.trim_start_matches(is_terminal).trim_start_matches(is_closing);
            let terminals = after.get(..after.len() - tail.len())?;
            let next = tail.trim_start();
            from = text.len() - next.len();
            if next.is_empty() {
                return None;
            }
            if is_end(before, terminals, tail.len() > next.len(), next) {
                return Some(from);
            }
        }
    })
}

/// Whether a line ends as a sentence does.
pub(super) fn is_ended(line: &str) -> bool {
    line.trim_end_matches(is_closing).ends_with(is_terminal)
}

/// Whether a sentence ends with `terminals`, between `before` and `next`.
fn is_end(before: &str, terminals: &str, spaced: bool, next: &str) -> bool {
    if terminals.contains(is_wide) {
        return spaced || !next.starts_with(char::is_numeric);
    }
    let Some(first) = next.chars().find(|c| !is_opening(*c)) else { return spaced };
    spaced && !first.is_lowercase() && !(terminals.starts_with('.') && is_abbreviated(before, first))
}

/// Whether the full stop behind `before` belongs to its last word; `next` is what the following word begins with.
fn is_abbreviated(before: &str, next: char) -> bool {
    let word = last_word(before);
    let lower = word.to_lowercase();
    let is_one_letter = word.chars().nth(1).is_none() && word.chars().any(char::is_alphabetic);
    let is_ordinal = word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let has_inner_stop = word.contains('.') && word.chars().any(char::is_alphabetic);
    is_one_letter
        || is_ordinal
        || has_inner_stop
        || ABBREVIATIONS.contains(&lower.as_str())
        || next.is_numeric() && NUMBERED.contains(&lower.as_str())
}

/// The run of letters, digits and inner full stops at the end, or empty where it is longer than any abbreviation.
fn last_word(before: &str) -> &str {
    let rest = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '.');
    let word = before.get(rest.len()..).unwrap_or_default();
    if word.len() > LONGEST { "" } else { word.trim_start_matches('.') }
}

fn is_terminal(c: char) -> bool {
    matches!(c, '.' | '!' | '?') || !c.is_ascii() && "…‼⁇⁈⁉։؟۔।॥።፧។၊။".contains(c) || is_wide(c)
}

/// Ends a sentence without a space behind it.
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
    fn sentences_end_with_their_stops_and_quotes() {
        assert_eq!(
            sentences("It rained. “Why?” She left!  (He stayed.) Then… Silence. 2 of 3 agreed."),
            ["It rained.", "“Why?”", "She left!", "(He stayed.)", "Then…", "Silence.", "2 of 3 agreed."]
        );
    }

    #[test]
    fn abbreviations_initials_and_numbers_end_nothing() {
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
    fn a_word_that_is_an_abbreviation_before_numbers_ends_a_sentence_elsewhere() {
        assert_eq!(
            sentences("He said no. She left in 1999. Then he ate a fig. Good."),
            ["He said no.", "She left in 1999.", "Then he ate a fig.", "Good."]
        );
    }

    #[test]
    fn other_scripts_have_sentences_too() {
        assert_eq!(
            sentences("人人生而自由。「他们赋有理性。」很好！"),
            ["人人生而自由。", "「他们赋有理性。」", "很好！"]
        );
        assert_eq!(sentences("सब स्वतंत्र हैं। सब समान हैं।"), ["सब स्वतंत्र हैं।", "सब समान हैं।"]);
        assert_eq!(sentences("هل أنت هنا؟ نعم."), ["هل أنت هنا؟", "نعم."]);
    }

    proptest! {
        #[test]
        fn sentences_begin_behind_white_space_and_in_order(text in "([.!?。]|[a-c]|[A-C]|[\"”(»]| |\n|é|1){0,40}") {
            let mut last = 0;
            for at in starts(&text) {
                prop_assert!(at > last && at < text.len());
                prop_assert!(!text[at..].starts_with(char::is_whitespace));
                last = at;
            }
        }
    }
}
