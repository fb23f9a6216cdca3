//! Laws that hold for citations of every answer, and cases that models write.

use proptest::prelude::*;

use super::*;

const QUAGGA: &str = "The quagga of Artis died on the twelfth of August 1883. It was the last of its kind.";
const DODO: &str = "The dodo was fat.\nNobody knew why [3] it was.";

fn quotes(cited: &CitedAnswer) -> Vec<(usize, &str, bool)> {
    cited.citations.iter().map(|c| (c.passage, c.quote.as_str(), c.verified)).collect()
}

#[test]
fn quotation_before_a_marker_is_verified() {
    let cited = cite("It died. \"the QUAGGA of\n Artis died\" [1].", &[QUAGGA]);

    assert_eq!(cited.text, "It died. \"the QUAGGA of\n Artis died\" [1].");
    assert_eq!(quotes(&cited), [(0, "The quagga of Artis died", true)]);
    assert_eq!(cited.citations[0].range, 0..24);
}

/// Covers the threat table (row I3).
#[test]
fn invented_quotation_gets_the_nearest_sentence() {
    let cited = cite("\"It was the first of its kind\" [1]", &[QUAGGA]);

    assert_eq!(quotes(&cited), [(0, "It was the last of its kind.", false)]);
}

#[test]
fn marker_without_quotation_gets_the_nearest_sentence() {
    let cited = cite("Its kind ended with it [1].", &[QUAGGA]);

    assert_eq!(quotes(&cited), [(0, "It was the last of its kind.", false)]);
}

#[test]
fn markers_without_passage_are_removed_and_others_renumbered() {
    for (said, text) in [
        ("Out of reach [42], within reach [2].", "Out of reach, within reach [1]."),
        ("Zero [0] and [1].", "Zero and [1]."),
        ("Together [1][1].", "Together [1][1]."),
        ("First [2], then [1], then [2].", "First [1], then [2], then [1]."),
        ("Both [2, 1] and [1,9].", "Both [1][2] and [2]."),
        ("Wide 【2】 and 【1†page】.", "Wide [1] and [2]."),
        ("A foot[^1] and [007].", "A foot[1] and."),
        ("Nested [[9]1] and [[1]2].", "Nested and [[1]2]."),
        ("Not [one], [1a] or [].", "Not [one], [1a] or []."),
        ("Arabic [٣] and huge [99999999999999999999999].", "Arabic and huge."),
        ("A range [1-2], [1–2] and [2 - 2].", "A range [1][2], [1][2] and [2]."),
        ("Beyond [1-7], in 1999 [1998-2003], full ［2］.", "Beyond [1][2], in 1999 [1998-2003], full [2]."),
        ("Left over [1,[9]2].", "Left over."),
        ("Named [Passage 2] and [sources 1, 2].", "Named [1] and [2][1]."),
        ("Named [Passage two] and [Sourced 1].", "Named [Passage two] and [Sourced 1]."),
        ("On a page [2, p. 14], [1; pp. 3–5] or [9, page 2].", "On a page [1], [2] or."),
        ("Not a page [1, p. x] or [2 pages].", "Not a page [1, p. x] or [2 pages]."),
        ("[7]", ""),
        ("No marker at all.", "No marker at all."),
    ] {
        assert_eq!(cite(said, &[QUAGGA, DODO]).text, text, "{said}");
    }
}

#[test]
fn each_distinct_quotation_is_one_citation() {
    let cited = cite(
        "\"died on the twelfth\" [1]. \"last of its kind\" [1]. \"Died on the twelfth\" [1]!",
        &[QUAGGA],
    );

    assert_eq!(
        cited.text,
        "\"died on the twelfth\" [1]. \"last of its kind\" [2]. \"Died on the twelfth\" [1]!"
    );
    assert_eq!(quotes(&cited), [(0, "died on the twelfth", true), (0, "last of its kind", true)]);
}

#[test]
fn claim_without_quotation_shares_no_verified_citation() {
    let cited = cite("\"last of its kind\" [1]. It came from Mars [1].", &[QUAGGA]);

    assert_eq!(cited.text, "\"last of its kind\" [1]. It came from Mars [2].");
    let verified: Vec<bool> = cited.citations.iter().map(|citation| citation.verified).collect();
    assert_eq!(verified, [true, false]);
}

#[test]
fn answer_of_markers_only_is_empty() {
    for (answer, empty) in
        [("[1-2]", true), ("[1], [2].", true), ("[9]", true), ("42 [1].", false), ("Yes.", false)]
    {
        assert_eq!(cite(answer, &[QUAGGA, DODO]).is_empty(), empty, "{answer}");
    }
}

#[test]
fn sentence_without_words_is_not_nearest() {
    for (passage, quote) in [("[99]\n\nNobody counted to 98.", "Nobody counted to 98."), ("[98] [99]", "")] {
        assert_eq!(quotes(&cite("There were 99 [1].", &[passage])), [(0, quote, false)], "{passage}");
    }
}

#[test]
fn number_in_brackets_inside_a_quotation_is_no_marker() {
    let cited = cite("“Nobody knew why [3] it was.” [2]", &[QUAGGA, DODO, QUAGGA]);

    assert_eq!(cited.text, "“Nobody knew why it was.” [1]");
    assert_eq!(quotes(&cited), [(1, "Nobody knew why [3] it was.", true)]);
}

#[test]
fn quotation_may_contain_quotation_marks() {
    let passage = "He said \"no\" loudly, and „ja“ too.";
    for said in
        ["\"He said \"no\" loudly\" [1]", "“He said \"no\" loudly” [1]", "„He said \"no\" loudly“ [1]"]
    {
        assert_eq!(quotes(&cite(said, &[passage])), [(0, "He said \"no\" loudly", true)], "{said}");
    }
}

#[test]
fn adjacent_markers_each_verify_their_own_quotation() {
    let cited = cite("\"The dodo was fat.\" [1][2]", &[QUAGGA, DODO]);

    assert_eq!(cited.citations.iter().map(|c| c.verified).collect::<Vec<_>>(), [false, true]);
}

/// Covers the threat table (row I1).
#[test]
fn text_of_an_answer_is_not_changed() {
    for said in [
        "A `vector<int>` has a[i] and `std::map<K, V>::iterator` [1].",
        "See ![x](https://a.example/?q) <img src=x onerror=y> [1](https://a.example)\n[r]: https://a.example\n2 < 3 [1]",
        "if (a<b && c</d/) { return !arr[0x1]; } // [1]",
        "  indented\n\n\tand spaced  out [1].",
    ] {
        assert_eq!(cite(said, &[QUAGGA]).text, said.trim(), "{said}");
    }
}

/// Makes texts equal that differ in white space and case only.
fn fold(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase().replace('ς', "σ")
}

fn markers(text: &str) -> Vec<usize> {
    let after_bracket = text.split('[').skip(1);
    let numbers = after_bracket.filter_map(|rest| rest.split_once(']').map(|(inner, _)| inner));
    let numeric = numbers.filter(|inner| !inner.is_empty() && inner.chars().all(char::is_numeric));
    numeric.map(|inner| inner.parse().unwrap_or(usize::MAX)).collect()
}

proptest! {
    #[test]
    fn markers_citations_and_quotes_agree_for_any_answer(
        said in "(\\[|\\]|\\[[0-9]{1,2}\\]|\\]\\(|!\\[|<|[0-9]|\"|“|”|The dodo|the  quagga|İ|ß|ς|e\u{301}| |\n|\\.|,|【|】|†|٣|[^a-z]){0,60}",
        passages in proptest::collection::vec("(The dodo|the quagga| |\n|\\.|İ|ß|Σ|é|\"|\\[2\\]|[a-z]){0,40}", 0..4),
    ) {
        let texts: Vec<&str> = passages.iter().map(String::as_str).collect();
        let cited = cite(&said, &texts);

        let marked = markers(&cited.text);
        prop_assert!(marked.iter().all(|n| (1..=cited.citations.len()).contains(n)), "{:?}", cited);
        let mut firsts = marked.clone();
        let mut seen = std::collections::HashSet::new();
        firsts.retain(|n| seen.insert(*n));
        prop_assert_eq!(firsts, (1..=cited.citations.len()).collect::<Vec<_>>());
        for citation in &cited.citations {
            let text: String = texts[citation.passage].chars().skip(citation.range.start).take(citation.range.len()).collect();
            prop_assert_eq!(&text, &citation.quote);
            prop_assert!(!citation.verified || !citation.quote.trim().is_empty());
        }
    }

    #[test]
    fn text_without_brackets_is_not_changed(said in "[^\\[\\]【】［］]{0,60}") {
        prop_assert_eq!(cite(&said, &[QUAGGA]).text, said.trim());
    }

    #[test]
    fn text_quoted_from_a_passage_is_found_in_it(text in "[a-zA-ZäÄßİΣς ]{1,60}", start in 0usize..60, length in 1usize..60) {
        let quotation: String = text.chars().skip(start).take(length).collect();
        prop_assume!(!quotation.trim().is_empty());

        let cited = cite(&format!("\"{}\" [1]", quotation.replace(' ', "\n ")), &[&text]);

        prop_assert!(cited.citations[0].verified);
        prop_assert_eq!(fold(&cited.citations[0].quote), fold(&quotation));
    }
}
