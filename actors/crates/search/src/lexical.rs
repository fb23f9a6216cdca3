//! Words of passages and queries, as the index counts them: each language's stems, weighted by BM25.
//!
//! A passage is read in its own language, a query in every language of the library, so both meet in the same words. Stop
//! words are left out of queries alone: a passage that is read in the wrong language would else be the only one to hold
//! `the`, and lead every search. A word with accents counts under its plain spelling too: who types `cafe` finds `café`.

pub mod detect;
mod normalize;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use qdrant_edge::bm25_embed::{EdgeBm25, EdgeBm25Config};
use qdrant_edge::external::ordered_float::NotNan;
use qdrant_edge::{
    DisabledStemmerParams, NoStemmer, StemmingAlgorithm, StopwordsInterface, StopwordsSet, TokenizerType,
};

use crate::index::{Language, SparseVector};
pub use detect::detect;
use normalize::{Side, even};

/// Words of a passage on the average, as long passages are cut here, its title twice. Measured: 256, the engine's own
/// number, costs a point of nDCG@10 on Cranfield.
const WORDS: f64 = 140.0;

/// The same for writing without spaces, whose letters and runs of letters count one by one.
const PIECES: f64 = 400.0;

/// The words of a passage and their weights. The title counts twice.
#[must_use]
pub fn passage(title: &str, text: &str, language: Language) -> SparseVector {
    let title = even(title, Side::Passage);
    let text = format!("{title}\n{title}\n{}", even(text, Side::Passage));
    let analyzer = Analyzer::of(language);
    let counted = analyzer.exact.embed_document(&text);
    let mut weights: BTreeMap<u32, f32> = counted.indices.into_iter().zip(counted.values).collect();
    for (exact, plain) in analyzer.plain_spellings(&text) {
        let weight = weights.get(&exact).copied().unwrap_or_default();
        *weights.entry(plain).or_default() += weight;
    }
    sparse(weights)
}

/// The words asked for, as each of these languages reads them. Stop words count only where there is nothing else.
#[must_use]
pub fn query(text: &str, languages: &[Language]) -> SparseVector {
    let even = even(text, Side::Query);
    let spoken = Analyzer::of(detect(text));
    let telling: Vec<&str> = words(&even).filter(|word| !spoken.telling(word).is_empty()).collect();
    let asked = read(&telling.join(" "), languages, Analyzer::telling);
    if asked.is_empty() { read(&even, languages, Analyzer::ids) } else { asked }
}

/// The text in each of the languages; a word that several read alike counts once.
fn read(text: &str, languages: &[Language], ids: impl Fn(&Analyzer, &str) -> Vec<u32>) -> SparseVector {
    let mut weights = BTreeMap::new();
    for language in languages {
        let analyzer = Analyzer::of(*language);
        let mut own: BTreeMap<u32, f32> = ids(analyzer, text).into_iter().map(|word| (word, 1.0)).collect();
        for (exact, plain) in analyzer.plain_spellings(text) {
            // A stop word is not asked for in its plain spelling either.
            if own.contains_key(&exact) {
                own.insert(exact, 0.5);
                own.insert(plain, 0.5);
            }
        }
        for (word, weight) in own {
            let most = weights.entry(word).or_insert(weight);
            *most = weight.max(*most);
        }
    }
    sparse(weights)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn sparse(weights: BTreeMap<u32, f32>) -> SparseVector {
    let (indices, values) = weights.into_iter().unzip();
    SparseVector { indices, values }
}

/// How a language's words are read.
struct Analyzer {
    /// Every word.
    exact: EdgeBm25,
    /// Every word, accents left out.
    plain: EdgeBm25,
    /// Every word but stop words.
    telling: EdgeBm25,
}

impl Analyzer {
    fn of(language: Language) -> &'static Self {
        static BUILT: [OnceLock<Analyzer>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        #[expect(clippy::indexing_slicing, reason = "there is one place for each variant")]
        BUILT[language as usize].get_or_init(|| Self {
            exact: bm25(language, Words { plain: false, telling: false }),
            plain: bm25(language, Words { plain: true, telling: false }),
            telling: bm25(language, Words { plain: false, telling: true }),
        })
    }

    /// The numbers of a text's words, each once.
    fn ids(&self, text: &str) -> Vec<u32> {
        self.exact.embed_query(text).indices
    }

    /// The same without stop words.
    fn telling(&self, text: &str) -> Vec<u32> {
        self.telling.embed_query(text).indices
    }

    /// The words with accents, as they are written and as they are without them; each pair once.
    fn plain_spellings(&self, text: &str) -> BTreeSet<(u32, u32)> {
        let pair = |word: &str| {
            let exact = self.exact.embed_query(word).indices;
            let plain = self.plain.embed_query(word).indices;
            exact.into_iter().zip(plain).find(|(exact, plain)| exact != plain)
        };
        words(text).filter(|word| word.chars().any(accented)).filter_map(pair).collect()
    }
}

fn accented(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Which words of a text count, and how they are spelled.
#[derive(Clone, Copy)]
struct Words {
    plain: bool,
    telling: bool,
}

#[expect(clippy::expect_used, reason = "a test builds every one of them, and they depend on nothing else")]
fn bm25(language: Language, words: Words) -> EdgeBm25 {
    let name = name(language);
    let average = match language {
        Language::Chinese | Language::Japanese | Language::Korean | Language::Thai => PIECES,
        Language::Arabic | Language::Dutch | Language::English | Language::French | Language::German => WORDS,
        Language::Greek | Language::Hindi | Language::Italian | Language::Portuguese | Language::Russian => {
            WORDS
        }
        Language::Spanish
        | Language::Swedish
        | Language::Turkish
        | Language::Vietnamese
        | Language::Other => WORDS,
    };
    let config = EdgeBm25Config {
        avg_len: NotNan::new(average).expect("a number"),
        tokenizer: TokenizerType::Word,
        language: name.map(str::to_owned),
        ascii_folding: Some(words.plain),
        // Without a language the engine takes English.
        stopwords: (name.is_none() || !words.telling)
            .then(|| StopwordsInterface::Set(StopwordsSet::default())),
        stemmer: name
            .is_none()
            .then_some(StemmingAlgorithm::Disabled(DisabledStemmerParams { r#type: NoStemmer::None })),
        ..EdgeBm25Config::default()
    };
    EdgeBm25::new(config).expect("a language that the engine knows")
}

/// The engine's name of a language that it has stems or stop words of.
fn name(language: Language) -> Option<&'static str> {
    match language {
        Language::Arabic => Some("arabic"),
        Language::Dutch => Some("dutch"),
        Language::English => Some("english"),
        Language::French => Some("french"),
        Language::German => Some("german"),
        Language::Greek => Some("greek"),
        Language::Italian => Some("italian"),
        Language::Portuguese => Some("portuguese"),
        Language::Russian => Some("russian"),
        Language::Spanish => Some("spanish"),
        Language::Swedish => Some("swedish"),
        Language::Turkish => Some("turkish"),
        Language::Chinese | Language::Japanese | Language::Korean | Language::Thai => None,
        Language::Hindi | Language::Vietnamese | Language::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(query: &SparseVector, passage: &SparseVector) -> usize {
        query.indices.iter().filter(|word| passage.indices.contains(word)).count()
    }

    #[test]
    fn every_language_reads_a_text() {
        for language in Language::ALL {
            assert!(!passage("", "zebra 2026", language).is_empty(), "{language:?}");
            assert!(!query("zebra 2026", &[language]).is_empty(), "{language:?}");
        }
    }

    #[test]
    fn a_word_is_found_in_another_form_of_it() {
        let english = passage("", "The farmers were growing olives.", Language::English);
        let german = passage("", "Die Bauern pflanzten Olivenbäume.", Language::German);
        let asked = query("farmer grows olive", &[Language::English, Language::German]);
        assert_eq!(shared(&asked, &english), 3);
        assert_eq!(shared(&query("Olivenbaum", &[Language::English, Language::German]), &german), 1);
    }

    #[test]
    fn a_word_nobody_knows_is_found_in_any_language() {
        for language in Language::ALL {
            let found = passage("", "Here the zebu3fa91c0d stands.", language);
            assert!(shared(&query("zebu3fa91c0d", &[language]), &found) >= 1, "{language:?}");
        }
    }

    #[test]
    fn the_title_weighs_twice() {
        let title = passage("olive", "tree", Language::English);
        let text = passage("tree", "olive", Language::English);
        let olive = query("olive", &[Language::English]);
        let weight = |sparse: &SparseVector| {
            let at = sparse.indices.iter().position(|word| olive.indices.contains(word)).unwrap();
            sparse.values[at]
        };
        assert!(weight(&title) > weight(&text));
    }

    #[test]
    fn accents_may_be_left_out_of_a_query() {
        for (written, asked, language) in [
            ("Zürich", "zurich", Language::German),
            ("café", "cafe", Language::English),
            ("Ελλάδα café", "cafe", Language::Greek),
        ] {
            assert_eq!(shared(&query(asked, &[language]), &passage("", written, language)), 1, "{written}");
        }
    }

    #[test]
    fn stop_words_are_asked_for_only_where_there_is_nothing_else() {
        let both = [Language::English, Language::German];
        assert_eq!(query("what is the effect of these on olives", &both), query("effect olives", &both));
        let found = passage("", "Who is it?", Language::English);
        assert!(shared(&query("who is it", &both), &found) >= 3);
    }

    #[test]
    fn a_query_with_accents_finds_the_word_without() {
        let naive = passage("", "a naive person", Language::English);
        assert_eq!(shared(&query("naïve", &[Language::English]), &naive), 1);
    }

    #[test]
    fn part_of_a_chinese_sentence_is_found() {
        let sentence = passage("", "我们昨天去了东京塔参观。", Language::Chinese);
        assert_eq!(shared(&query("东京", &[Language::English, Language::Chinese]), &sentence), 1);
        assert_eq!(shared(&query("塔", &[Language::Chinese]), &sentence), 1);
        assert_eq!(shared(&query("北京", &[Language::Chinese]), &sentence), 0);
    }

    #[test]
    fn numbers_of_words_rise_and_stand_once() {
        let sparse = passage("b a c", "café cafe naïve a b 数字 2026", Language::English);
        assert!(sparse.indices.is_sorted_by(|a, b| a < b));
        assert_eq!(sparse.indices.len(), sparse.values.len());
        assert!(sparse.values.iter().all(|weight| *weight > 0.0));
    }
}
