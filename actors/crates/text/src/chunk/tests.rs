//! Properties of the passages of any text, and examples.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

/// Counts words, so that the examples are readable.
const WORDS: Sizing = Sizing { tokens: |text| text.split_whitespace().count(), target: 20, max: 24 };
/// Counts characters, so that almost nothing fits.
const TINY: Sizing = Sizing { tokens: |text| text.chars().count(), target: 4, max: 6 };

fn texts<'a>(text: &'a str, size: &Sizing) -> Vec<&'a str> {
    split(text, &[], size).iter().map(|piece| piece.text_in(text)).collect()
}

fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

#[test]
fn empty_text_has_no_passage_and_blank_text_one() {
    assert_eq!(split("", &[], &Sizing::default()), []);
    assert_eq!(texts(" \n", &Sizing::default()), [" \n"]);
}

#[test]
fn heading_starts_a_passage_unless_it_is_a_lone_title() {
    let (a, b) = (words(9), words(9));
    let text = format!("# Title\n\n# One\n\n{a}.\n\n# Two\n\n{b}.\n");
    assert_eq!(texts(&text, &WORDS), [format!("# Title\n\n# One\n\n{a}.\n\n"), format!("# Two\n\n{b}.\n")]);
}

#[test]
fn known_headings_start_passages() {
    let (a, b) = (words(9), words(9));
    let text = format!("é\n\nWhat is it?\n\n{a}.\n\n2. Methods\n\nthe data\n\n{b}.");
    let at = |heading: &str| text.split(heading).next().unwrap().chars().count();

    let pieces = split(&text, &[at("What"), at("2."), at("the")], &WORDS);

    let pieces: Vec<&str> = pieces.iter().map(|piece| piece.text_in(&text)).collect();
    assert_eq!(pieces, [format!("é\n\nWhat is it?\n\n{a}.\n\n"), format!("2. Methods\n\nthe data\n\n{b}.")]);
}

#[test]
fn page_of_headings_only_is_split_between_them() {
    let lines: Vec<String> = (0..20).map(|n| format!("Line {n} says {}", words(3))).collect();
    let text = lines.join("\n");
    let known: Vec<usize> = (0..20).map(|n| lines[..n].iter().map(|line| line.len() + 1).sum()).collect();

    let pieces = split(&text, &known, &WORDS);

    assert!(pieces.iter().all(|piece| piece.text_in(&text).starts_with("Line")), "{pieces:?}");
}

#[test]
fn short_last_section_joins_the_passage_before_it() {
    let text = format!("# One\n\n{}.\n\n# Two\n\nBye.", words(9));
    assert_eq!(texts(&text, &WORDS), [text.as_str()]);
}

#[test]
fn paragraphs_are_not_split_and_short_ones_are_joined() {
    let (long, short) = (words(18), words(4));
    let text = format!("{long}.\n\n{long}.\n\n{short}.\n\n{short}.\n\n{short}.");
    assert_eq!(
        texts(&text, &WORDS),
        [format!("{long}.\n\n"), format!("{long}.\n\n"), format!("{short}.\n\n{short}.\n\n{short}."),]
    );
}

#[test]
fn long_paragraph_is_split_evenly_between_sentences() {
    let sentence = format!("W{}. ", words(7));
    let text = sentence.repeat(5);
    assert_eq!(texts(&text, &WORDS), [sentence.repeat(3), sentence.repeat(2)]);
}

#[test]
fn heading_stays_with_the_start_of_a_split_paragraph() {
    let text = format!("# Heading here\n\n{}", format!("W{}. ", words(6)).repeat(6));
    assert!(texts(&text, &WORDS)[0].split_whitespace().count() > 8);
}

#[test]
fn very_long_word_is_split_between_clusters() {
    let flags = "🇳🇱".repeat(20);
    for piece in texts(&flags, &TINY) {
        assert_eq!(piece.chars().count() % 2, 0);
        assert!(piece.chars().count() <= 6);
    }
}

#[test]
fn cluster_longer_than_a_passage_is_not_split() {
    let monster = format!("a{}", "\u{301}".repeat(50));
    assert_eq!(texts(&format!("{monster} b"), &TINY), [format!("{monster} "), "b".to_owned()]);
}

#[test]
fn passages_of_prose_are_near_the_target_size() {
    let sentence = "The heron stands still in the water for an hour, waiting for the fish to come near. ";
    let text = [sentence.repeat(15), sentence.repeat(64), sentence.repeat(7)].join("\n\n");
    let sizes: Vec<_> = texts(&text, &Sizing::default()).into_iter().map(estimate).collect();
    assert!(sizes.iter().all(|size| (250..=480).contains(size)), "{sizes:?}");
}

#[test]
fn passages_do_not_cross_pages_numbered_from_one() {
    let text = "One is here.\n\nTwo is thére.\n\nFour.";
    let pieces = split_pages(text, &[0, 14, 29, 29], &[], &Sizing::default());
    let found: Vec<_> = pieces.iter().map(|piece| (piece.page, piece.text_in(text), piece.start)).collect();
    assert_eq!(
        found,
        [(Some(1), "One is here.\n\n", 0), (Some(2), "Two is thére.\n\n", 14), (Some(4), "Four.", 29)]
    );
}

proptest! {
    #[test]
    fn every_character_is_in_exactly_one_passage(
        text in "(# |[A-C]{1,3}|[a-c]{1,9}|[.!?:。]|\n|\n\n| |  |👩\u{200d}👩\u{200d}👧|🇳🇱|e\u{301}|\u{301}|\r\n|क\u{94d}त|น้ำ|自由|\u{600}|-){0,120}",
        tiny in any::<bool>(),
        headings in prop::collection::btree_set(0usize..150, 0..40),
    ) {
        let size = if tiny { TINY } else { WORDS };
        let headings: Vec<usize> = headings.into_iter().collect();
        let pieces = split(&text, &headings, &size);
        check_pieces(&text, &pieces)?;
        for piece in &pieces {
            let piece = piece.text_in(&text);
            let cuts = piece.graphemes(true).skip(1).filter(|it| !it.trim().is_empty());
            let fits = (size.tokens)(piece) <= size.max;
            prop_assert!(fits || cuts.count() == 0, "{piece:?}");
        }
    }

    #[test]
    fn any_text_can_be_split(text in any::<String>()) {
        check_pieces(&text, &split(&text, &[], &Sizing::default()))?;
        check_pieces(&text, &split(&text, &[], &TINY))?;
    }

    #[test]
    fn every_character_of_pages_is_in_one_passage(text in "([a-c]|\n\n|é|[.] |[A-C]){0,60}", mut starts in prop::collection::vec(0usize..70, 1..6), headings in prop::collection::btree_set(0usize..70, 0..10)) {
        starts.sort_unstable();
        let headings: Vec<usize> = headings.into_iter().collect();
        let pieces = split_pages(&text, &starts, &headings, &TINY);
        check_pieces(&text, &pieces)?;
        for (start, page) in starts.iter().zip(1..).skip(1) {
            let is_on_one_side = |piece: &Piece| if piece.page < Some(page) { piece.end <= *start } else { piece.start >= *start };
            prop_assert!(pieces.iter().all(is_on_one_side));
        }
    }
}

/// Checks that passages join to the text at their offsets, end at cluster boundaries, and do not begin with white space that could
/// belong to the passage before.
fn check_pieces(text: &str, pieces: &[Piece]) -> Result<(), TestCaseError> {
    let clusters: std::collections::HashSet<_> =
        text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
    let (mut chars, mut bytes) = (0, 0);
    for piece in pieces {
        prop_assert_eq!((piece.start, piece.bytes.start), (chars, bytes));
        prop_assert!(piece.end > piece.start);
        prop_assert_eq!(piece.text_in(text).chars().count(), piece.end - piece.start);
        prop_assert!(piece.page.is_some() || clusters.contains(&bytes), "split at {}", bytes);
        let visible = piece.bytes.end - piece.text_in(text).trim_start().len();
        prop_assert!(piece.page.is_some() || bytes == 0 || visible == bytes || !clusters.contains(&visible));
        (chars, bytes) = (piece.end, piece.bytes.end);
    }
    prop_assert_eq!((chars, bytes), (text.chars().count(), text.len()));
    Ok(())
}
