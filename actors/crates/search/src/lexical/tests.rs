//! Tests of the analysis of passages and queries together.

use proptest::prelude::*;

use super::stem::word_id;
use super::*;
use crate::index::{Language, SparseVector};

/// Returns the ids of the words of a query together.
fn analyze_query(text: &str, languages: &[Language]) -> SparseVector {
    merge_terms(&query_terms(text, languages))
}

fn count_shared(query: &SparseVector, passage: &SparseVector) -> usize {
    query.indices.iter().filter(|word| passage.indices.contains(word)).count()
}

#[test]
fn every_language_analyses_a_text() {
    for language in Language::ALL {
        assert!(!analyze_passage("", "zebra 2026", language).is_empty(), "{language:?}");
        assert!(!analyze_query("zebra 2026", &[language]).is_empty(), "{language:?}");
    }
}

#[test]
fn word_is_found_in_another_form() {
    let english = analyze_passage("", "The farmers were growing olives.", Language::English);
    let german = analyze_passage("", "Die Bauern pflanzten Olivenbäume.", Language::German);
    let asked = analyze_query("farmer grows olive", &[Language::English, Language::German]);
    assert_eq!(count_shared(&asked, &english), 3);
    assert_eq!(
        count_shared(&analyze_query("Olivenbaum", &[Language::English, Language::German]), &german),
        1
    );
}

#[test]
fn unknown_word_is_found_in_any_language() {
    for language in Language::ALL {
        let found = analyze_passage("", "Here the zebu3fa91c0d stands.", language);
        assert!(count_shared(&analyze_query("zebu3fa91c0d", &[language]), &found) >= 1, "{language:?}");
    }
}

#[test]
fn title_weighs_more_than_text() {
    let title = analyze_passage("olive", "tree", Language::English);
    let text = analyze_passage("tree", "olive", Language::English);
    let olive = analyze_query("olive", &[Language::English]);
    let weight = |sparse: &SparseVector| {
        let at = sparse.indices.iter().position(|word| olive.indices.contains(word)).unwrap();
        sparse.values[at]
    };
    assert!(weight(&title) > weight(&text));
}

#[test]
fn query_without_accents_finds_the_word() {
    for (written, asked, language) in [
        ("Zürich", "zurich", Language::German),
        ("café", "cafe", Language::English),
        ("Ελλάδα café", "cafe", Language::Greek),
    ] {
        assert_eq!(
            count_shared(&analyze_query(asked, &[language]), &analyze_passage("", written, language)),
            1,
            "{written}"
        );
    }
}

fn texts(query: &str, languages: &[Language]) -> Vec<String> {
    query_terms(query, languages).into_iter().map(|term| term.text).collect()
}

#[test]
fn part_of_a_query_without_other_words_keeps_its_stop_words() {
    let languages = [Language::English];
    let terms = |parts: &[&str]| -> Vec<String> {
        let terms = terms_of_parts(parts.iter().copied(), &languages);
        terms.into_iter().map(|term| term.text).collect()
    };
    assert_eq!(terms(&["olives who is it", "who is it"]), ["olives", "who", "is", "it"]);
    assert_eq!(terms(&["olives of Crete", "olives"]), ["olives", "Crete"]);
}

#[test]
fn stop_words_count_only_in_a_query_of_stop_words() {
    let both = [Language::English, Language::German];
    assert_eq!(texts("what is the effect of these on olives", &both), ["effect", "olives"]);
    let found = analyze_passage("", "Who is it?", Language::English);
    assert!(count_shared(&analyze_query("who is it", &both), &found) >= 3);
}

#[test]
fn terms_are_the_words_of_a_query_each_once() {
    let all = [Language::English];
    assert_eq!(texts("Heron and heron, CVE-2021", &all), ["Heron", "CVE", "2021"]);
    assert_eq!(texts("meeting 2024-06-06, 2024-06-13", &all), ["meeting", "2024-06-06", "2024-06-13"]);
    assert_eq!(texts("2024-06-06 or 2024.06.06", &all), ["2024-06-06"]);
    assert_eq!(texts("2024 06 06", &all), ["2024", "06"]);
    assert_eq!(texts("", &all), [""; 0]);
    assert_eq!(texts("heron", &[]), [""; 0]);
}

#[test]
fn date_weighs_more_than_its_scattered_parts() {
    let asked = analyze_query("2023-11-11", &[Language::English]);
    // The words of a text weigh about the same.
    let score = |text: &str| -> f32 {
        let found = analyze_passage("", text, Language::English);
        let pairs = asked.indices.iter().zip(&asked.values);
        pairs.filter(|(id, _)| found.indices.contains(id)).map(|(_, factor)| *factor).sum()
    };

    for exact in ["Invoice 2023-11-11", "Invoice 2023/11/11"] {
        assert!(score(exact) >= 1.0, "{exact}");
    }
    for scattered in ["Invoice 2023-11-23", "Invoice 2023-12-11", "In 2023 there were 11"] {
        assert!((0.05..0.3).contains(&score(scattered)), "{scattered}");
    }
    let terms = query_terms("2023-11-11", &[Language::English]);
    let scattered = analyze_passage("", "Invoice 2023-11-23", Language::English);
    assert!(terms.len() == 1 && terms[0].is_number_in_parts());
    assert_eq!(count_shared(&terms[0].sparse, &scattered), 0);
    let excluded = analyze_as_written(["2023-11-11"], &[Language::English]);
    assert_eq!(count_shared(&excluded, &scattered), 2);
}

#[test]
fn query_has_the_ids_of_its_terms() {
    let languages = [Language::English, Language::German, Language::Chinese];
    for query in ["the grey heron", "LM 385P naïve Müller", "東京 heron", "of the"] {
        let whole = analyze_query(query, &languages);
        let mut ids: Vec<u32> =
            query_terms(query, &languages).into_iter().flat_map(|term| term.sparse.indices).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(whole.indices, ids, "{query}");
        assert!(whole.values.iter().all(|factor| *factor > 0.0 && *factor <= 1.0), "{query}");
    }
}

#[test]
fn stem_of_one_language_finds_no_word_of_another() {
    for (asked, written) in [("bee", "The being."), ("number", "Comfortably Numb")] {
        let found = analyze_passage("", written, Language::English);
        assert_eq!(count_shared(&analyze_query(asked, &Language::ALL), &found), 0, "{asked}");
    }
}

#[test]
fn word_is_found_in_either_spelling_in_each_language() {
    for (language, one, other) in [
        (Language::Arabic, "أحمد", "احمد"),
        (Language::Arabic, "٢٠٢٤", "2024"),
        (Language::Chinese, "ＡＢＣ", "abc"),
        (Language::Dutch, "reünie", "reunie"),
        (Language::Dutch, "coördinatie", "coordinatie"),
        (Language::English, "façade", "facade"),
        (Language::English, "Müller", "Mueller"),
        (Language::French, "élève", "eleve"),
        (Language::French, "cœur", "coeur"),
        (Language::German, "Straße", "strasse"),
        (Language::German, "Müller", "Mueller"),
        (Language::Greek, "Αθήνα", "αθηνα"),
        (Language::Greek, "ΕΛΛΑΣ", "ελλάς"),
        (Language::Hindi, "ज़मीन", "जमीन"),
        (Language::Italian, "città", "citta"),
        (Language::Japanese, "ｶﾞｲﾄﾞ", "ガイド"),
        (Language::Korean, "\u{1109}\u{1165}\u{110b}\u{116e}\u{11af}", "서울"),
        (Language::Portuguese, "coração", "coracao"),
        (Language::Russian, "ёлка", "елка"),
        (Language::Spanish, "niño", "nino"),
        (Language::Swedish, "smörgås", "smorgas"),
        (Language::Swedish, "Ångström", "aangstroem"),
        (Language::Thai, "ก่อน", "กอน"),
        (Language::Turkish, "ışık", "isik"),
        (Language::Turkish, "İzmir", "izmir"),
        (Language::Vietnamese, "đường", "duong"),
        (Language::Other, "Łódź", "lodz"),
    ] {
        for (asked, written) in [(one, other), (other, one)] {
            let found = analyze_passage("", written, language);
            assert!(count_shared(&analyze_query(asked, &[language]), &found) >= 1, "{asked} {written}");
        }
    }
}

#[test]
fn code_is_found_as_a_whole_in_other_spellings() {
    for (asked, written, whole) in [
        ("LM385", "LM 385P", "lm385"),
        ("LM 385P", "LM385", "lm385"),
        ("lm-385", "LM385", "lm385"),
        ("bwv578", "BWV 578", "bwv578"),
        ("BWV 578", "bwv578", "bwv578"),
        ("OSullivan", "O'Sullivan", "osullivan"),
        ("O\u{2019}Sullivan", "OSullivan", "osullivan"),
        ("9E3779B1", "0x9E3779B1UL", "9e3779b1"),
        ("0x9E3779B1UL", "9E3779B1", "9e3779b1"),
        ("cve 2021 44228", "CVE-2021-44228", "cve202144228"),
        ("email", "e-mail", "email"),
        ("e-mail", "emails", "email"),
        ("web site", "website", "website"),
        ("too many requests", "TooManyRequests", "toomanyrequests"),
        ("C++", "in c++.", "c++"),
        ("c#", "C#", "c#"),
        (".net", "on .NET 8", ".net"),
    ] {
        let id = word_id(Language::English, whole);
        let found = analyze_passage("", written, Language::English);
        assert!(found.indices.contains(&id), "{written}");
        assert!(analyze_query(asked, &[Language::English]).indices.contains(&id), "{asked}");
    }
}

#[test]
fn parts_of_a_code_find_it_but_it_finds_no_part() {
    let found = analyze_passage("", "The LM385 and O'Sullivan say TooManyRequests.", Language::English);
    for asked in ["lm", "385", "sullivan", "requests"] {
        assert_eq!(count_shared(&analyze_query(asked, &[Language::English]), &found), 1, "{asked}");
    }
    let okapi = analyze_passage("", "The okapi stands here.", Language::English);
    assert_eq!(count_shared(&analyze_query("okapi3fa91c0d", &Language::ALL), &okapi), 0);
}

/// Returns the score of a passage by the words of a query, without the frequencies of words.
fn score(query: &SparseVector, passage: &SparseVector) -> f32 {
    let factor = |id: &u32| query.indices.iter().position(|at| at == id).map_or(0.0, |at| query.values[at]);
    passage.indices.iter().zip(&passage.values).map(|(id, weight)| factor(id) * weight).sum()
}

#[test]
fn beginning_of_a_code_finds_it_with_less_weight() {
    for (asked, exact, longer) in [
        ("LM3", "an LM3 here", "an LM385 here"),
        ("LM3", "an LM3 here", "an LM 385P here"),
        ("lm38", "an LM38 here", "an LM-385 here"),
        ("BWV5", "the BWV 5 here", "the BWV 578 here"),
        ("1n41", "a 1N41 here", "a 1N4148 here"),
        ("9e3779b", "the 9E3779B here", "the 0x9E3779B1 here"),
    ] {
        let query = analyze_query(asked, &[Language::English, Language::German]);
        let [exact, longer] =
            [exact, longer].map(|text| score(&query, &analyze_passage("", text, Language::English)));
        assert!(longer > 0.0 && longer < exact / 3.0, "{asked}: {longer} {exact}");
    }
}

#[test]
fn beginning_of_a_code_finds_no_other_code() {
    let query = analyze_query("LM38", &[Language::English]);
    for text in ["LM358", "LM3", "XLM385", "38", "LMS", "May 2024"] {
        assert_eq!(score(&query, &analyze_passage("", text, Language::English)), 0.0, "{text}");
    }
    let query = analyze_query("may2", &[Language::English]);
    assert_eq!(score(&query, &analyze_passage("", "in May 2024", Language::English)), 0.0);
}

#[test]
fn words_as_written_find_nothing_that_they_imply() {
    let languages = [Language::English, Language::German];
    for (asked, written, language, is_found) in [
        ("Bahn", "Die Autobahn", Language::German, false),
        ("Bahn", "Die Bahnen", Language::German, true),
        ("Müller", "Mueller", Language::German, true),
        ("cafe", "a café", Language::English, true),
        ("C++", "vitamin C", Language::English, false),
        ("C++", "in c++.", Language::English, true),
        ("LM385P", "the LM385", Language::English, false),
        ("LM3", "the LM385", Language::English, false),
        ("Datenschutz", "Die Datenschutzgrundverordnung", Language::German, false),
        ("lm385", "an LM 385P", Language::English, true),
    ] {
        let found = analyze_passage("", written, language);
        let shared = count_shared(&analyze_as_written([asked], &languages), &found);
        assert_eq!(shared > 0, is_found, "{asked} {written}");
    }
}

#[test]
fn last_word_of_a_compound_finds_it_with_less_weight() {
    let found = analyze_passage("", "Olivenbäume und ein Baum", Language::German);
    let compound = analyze_passage("", "Olivenbäume und ein Strauch", Language::German);
    let query = analyze_query("Baum", &[Language::German]);
    assert!(score(&query, &compound) > 0.0);
    assert!(score(&query, &compound) < score(&query, &found) / 2.0);
}

#[test]
fn first_word_of_a_compound_weighs_less_than_the_last() {
    let languages = [Language::English, Language::German];
    let of = |query: &str, text: &str| {
        score(&analyze_query(query, &languages), &analyze_passage("", text, Language::German))
    };
    let text = "Die Versicherungsgrundverordnung gilt.";
    let [first, last] = ["Versicherung", "Verordnung"].map(|query| of(query, text));
    assert!(first > 0.0 && first < last, "{first} {last}");
    assert!(last < of("Verordnung", "Die Verordnung gilt.") / 2.0);
    assert!(of("Datenschutz", "Die Datenschutzgrundverordnung gilt.") > 0.0);
    assert!(of("Kranken", "Das Krankenhaus am See.") > 0.0);
    assert_eq!(of("Mini", "Der Ministerpräsident"), 0.0);
}

proptest! {
    #[test]
    fn passage_has_all_ids_of_each_of_its_words(word in "[A-Za-z0-9äöüéñçłøżа-я]{1,12}(-[A-Za-z0-9]{1,6})?") {
        for language in Language::ALL {
            let found = analyze_passage("", &format!("Before. {word}, after"), language);
            let asked = analyze_query(&word, &[language]);
            let shared = count_shared(&asked, &found);
            prop_assert!(shared >= 1);
            // A word is no end of a compound by itself.
            if ![Language::Dutch, Language::German, Language::Swedish].contains(&language) {
                prop_assert_eq!(shared, asked.indices.len());
            }
        }
    }

    #[test]
    fn any_text_can_be_analysed(text in any::<String>()) {
        for language in Language::ALL {
            let _ = analyze_passage(&text, &text, language);
            let _ = analyze_query(&text, &[language]);
        }
    }
}

#[test]
fn query_with_accents_finds_the_word_without() {
    let naive = analyze_passage("", "a naive person", Language::English);
    assert_eq!(count_shared(&analyze_query("naïve", &[Language::English]), &naive), 1);
}

#[test]
fn part_of_a_chinese_sentence_is_found() {
    let sentence = analyze_passage("", "我们昨天去了东京塔参观。", Language::Chinese);
    assert_eq!(count_shared(&analyze_query("东京", &[Language::English, Language::Chinese]), &sentence), 1);
    assert_eq!(count_shared(&analyze_query("塔", &[Language::Chinese]), &sentence), 1);
    assert_eq!(count_shared(&analyze_query("北京", &[Language::Chinese]), &sentence), 0);
}

#[test]
fn word_ids_ascend_and_are_unique() {
    let sparse = analyze_passage("b a c", "café cafe naïve a b 数字 2026", Language::English);
    assert!(sparse.indices.is_sorted_by(|a, b| a < b));
    assert_eq!(sparse.indices.len(), sparse.values.len());
    assert!(sparse.values.iter().all(|weight| *weight > 0.0));
}

/// Returns whether a passage has an id of each word of a phrase.
fn has_words_of(phrase: &str, text: &str, language: Language) -> bool {
    let passage = analyze_passage("", text, language);
    let words = phrase_words(phrase, &Language::ALL);
    !words.is_empty() && words.iter().all(|word| count_shared(&word.sparse, &passage) > 0)
}

#[test]
fn passage_has_the_words_of_each_phrase_in_it() {
    for (phrase, text, language) in [
        ("to be or not to be", "To be, or not to be, that is the question.", Language::English),
        ("die hard", "Gestern lief Die Hard im Kino.", Language::German),
        ("creme brulee", "Une crème brûlée au café.", Language::French),
        ("Große Straße", "die grosse strasse", Language::German),
        ("東京塔", "昨日東京塔に行った。", Language::Japanese),
        ("ทะเล", "เราไปทะเลกัน", Language::Thai),
        ("2024-06-06", "on 2024 06 06 at noon", Language::English),
        (".NET core", "the net core of it", Language::English),
        ("modern C++", "Modern C++17 code", Language::English),
    ] {
        assert!(WordSequence::of(text).contains(&WordSequence::of(phrase)), "{phrase}");
        assert!(has_words_of(phrase, text, language), "{phrase}");
    }
    assert!(!has_words_of("night heron", "a grey heron", Language::English));
}

proptest! {
    #[test]
    fn phrase_of_any_words_has_ids_of_its_passage(
        words in prop::collection::vec("[A-Za-z0-9äöüßéñçłøа-я]{1,10}|[一-龥]{1,4}", 1..6),
    ) {
        let phrase = words.join(" ");
        let text = format!("Before. {phrase}, after");
        for language in Language::ALL {
            prop_assert!(has_words_of(&phrase, &text, language));
        }
    }
}
