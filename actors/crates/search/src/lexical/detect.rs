//! Detects the language of a text: by its script, and for the Latin script by its letter sequences.

use whichlang::Lang;

use crate::index::Language;

/// Length of the beginning of a text that is examined. More text does not change the result.
const MAX_SAMPLE_CHARS: usize = 4_000;

/// With fewer Latin letters the language cannot be detected.
const MIN_LATIN_LETTERS: usize = 24;

/// Detects the language of a text; English if it has no letters, or too few.
#[must_use]
pub fn detect_language(text: &str) -> Language {
    let counts = ScriptCounts::of(text);
    if counts.east_asian() > counts.letters / 4 {
        return counts.east_asian_language();
    }
    let all = [
        counts.thai,
        counts.greek,
        counts.cyrillic,
        counts.arabic,
        counts.devanagari,
        counts.latin,
        counts.other,
    ];
    match all.into_iter().max() {
        None | Some(0) => Language::English,
        Some(most) if most == counts.latin => detect_latin(text, counts.latin),
        Some(most) if most == counts.cyrillic => Language::Russian,
        Some(most) if most == counts.arabic => Language::Arabic,
        Some(most) if most == counts.greek => Language::Greek,
        Some(most) if most == counts.devanagari => Language::Hindi,
        Some(most) if most == counts.thai => Language::Thai,
        Some(_) => Language::Other,
    }
}

/// Numbers of letters by their script.
#[derive(Default)]
struct ScriptCounts {
    letters: usize,
    han: usize,
    kana: usize,
    hangul: usize,
    thai: usize,
    greek: usize,
    cyrillic: usize,
    arabic: usize,
    devanagari: usize,
    latin: usize,
    other: usize,
}

impl ScriptCounts {
    fn of(text: &str) -> Self {
        let mut counts = Self::default();
        for letter in text.chars().take(MAX_SAMPLE_CHARS).filter(|c| c.is_alphabetic()) {
            counts.letters += 1;
            *counts.script(letter) += 1;
        }
        counts
    }

    fn script(&mut self, letter: char) -> &mut usize {
        match letter {
            'A'..='Z' | 'a'..='z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => &mut self.latin,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => &mut self.greek,
            '\u{400}'..='\u{52f}' => &mut self.cyrillic,
            '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => &mut self.arabic,
            '\u{900}'..='\u{97f}' => &mut self.devanagari,
            '\u{e00}'..='\u{e7f}' => &mut self.thai,
            '\u{3040}'..='\u{30ff}' => &mut self.kana,
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => &mut self.hangul,
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' => &mut self.han,
            _ => &mut self.other,
        }
    }

    /// East Asian letters, each of which carries as much meaning as several Latin ones.
    fn east_asian(&self) -> usize {
        self.han + self.kana + self.hangul
    }

    fn east_asian_language(&self) -> Language {
        if self.hangul > self.east_asian() / 2 {
            Language::Korean
        // Japanese mixes kana with Han letters; Chinese has no kana.
        } else if self.kana > self.east_asian() / 10 {
            Language::Japanese
        } else {
            Language::Chinese
        }
    }
}

fn detect_latin(text: &str, letters: usize) -> Language {
    if letters < MIN_LATIN_LETTERS {
        return Language::English;
    }
    let start: String = text.chars().take(MAX_SAMPLE_CHARS).collect();
    match whichlang::detect_language(&start) {
        Lang::Deu => Language::German,
        Lang::Fra => Language::French,
        Lang::Ita => Language::Italian,
        Lang::Nld => Language::Dutch,
        Lang::Por => Language::Portuguese,
        Lang::Spa => Language::Spanish,
        Lang::Swe => Language::Swedish,
        Lang::Tur => Language::Turkish,
        Lang::Vie => Language::Vietnamese,
        // Languages of other scripts are ruled out.
        Lang::Eng | Lang::Ara | Lang::Cmn | Lang::Hin | Lang::Jpn | Lang::Kor | Lang::Rus => {
            Language::English
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_of_a_sentence_is_detected() {
        let sentences = [
            ("The quick brown fox jumps over the lazy dog while nobody is watching it.", Language::English),
            (
                "Der schnelle braune Fuchs springt über den faulen Hund, während niemand zusieht.",
                Language::German,
            ),
            (
                "Le renard brun saute par-dessus le chien paresseux pendant que personne ne regarde.",
                Language::French,
            ),
            ("El zorro marrón salta sobre el perro perezoso mientras nadie está mirando.", Language::Spanish),
            ("Kahverengi tilki, kimse bakmazken tembel köpeğin üzerinden atlıyor.", Language::Turkish),
            (
                "Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng khi không ai nhìn thấy.",
                Language::Vietnamese,
            ),
            ("Быстрая коричневая лиса прыгает через ленивую собаку.", Language::Russian),
            ("Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.", Language::Greek),
            ("الثعلب البني السريع يقفز فوق الكلب الكسول.", Language::Arabic),
            ("तेज भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है।", Language::Hindi),
            ("สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ", Language::Thai),
            ("敏捷的棕色狐狸跳过了懒狗。", Language::Chinese),
            ("素早い茶色の狐がのろまな犬を飛び越える。", Language::Japanese),
            ("빠른 갈색 여우가 게으른 개를 뛰어넘는다.", Language::Korean),
            ("השועל החום המהיר קופץ מעל הכלב העצלן.", Language::Other),
        ];
        for (text, language) in sentences {
            assert_eq!(detect_language(text), language, "{text}");
        }
    }

    #[test]
    fn short_text_counts_as_english() {
        for text in ["", "42", "Los", "Ärger"] {
            assert_eq!(detect_language(text), Language::English);
        }
    }

    #[test]
    fn chinese_text_with_some_english_is_chinese() {
        assert_eq!(
            detect_language("我们用 Rust 写了一个新的搜索引擎 search engine，它很快。"),
            Language::Chinese
        );
    }
}
