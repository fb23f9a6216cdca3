//! Which language a text is in: by its letters first, then, among the Latin ones, by its letter sequences.

use whichlang::Lang;

use crate::index::Language;

/// More text than this tells no more.
const ENOUGH: usize = 4_000;

/// Fewer Latin letters than this cannot be told apart.
const TOO_FEW: usize = 24;

/// The language of a text; English for one without letters or with too few to tell.
#[must_use]
pub fn detect(text: &str) -> Language {
    let seen = Seen::of(text);
    if seen.east() > seen.letters / 4 {
        return seen.eastern();
    }
    let most = [seen.thai, seen.greek, seen.cyrillic, seen.arabic, seen.devanagari, seen.latin, seen.other];
    match most.into_iter().max() {
        None | Some(0) => Language::English,
        Some(most) if most == seen.latin => latin(text, seen.latin),
        Some(most) if most == seen.cyrillic => Language::Russian,
        Some(most) if most == seen.arabic => Language::Arabic,
        Some(most) if most == seen.greek => Language::Greek,
        Some(most) if most == seen.devanagari => Language::Hindi,
        Some(most) if most == seen.thai => Language::Thai,
        Some(_) => Language::Other,
    }
}

/// How many letters of each script.
#[derive(Default)]
struct Seen {
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

impl Seen {
    fn of(text: &str) -> Self {
        let mut seen = Self::default();
        for letter in text.chars().take(ENOUGH).filter(|c| c.is_alphabetic()) {
            seen.letters += 1;
            *seen.script(letter) += 1;
        }
        seen
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

    /// Letters of East Asia. Each says as much as several Latin ones.
    fn east(&self) -> usize {
        self.han + self.kana + self.hangul
    }

    fn eastern(&self) -> Language {
        if self.hangul > self.east() / 2 {
            Language::Korean
        } else if self.kana > self.east() / 10 {
            Language::Japanese
        } else {
            Language::Chinese
        }
    }
}

fn latin(text: &str, letters: usize) -> Language {
    if letters < TOO_FEW {
        return Language::English;
    }
    let start: String = text.chars().take(ENOUGH).collect();
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
        // Those with other letters cannot be it.
        Lang::Eng | Lang::Ara | Lang::Cmn | Lang::Hin | Lang::Jpn | Lang::Kor | Lang::Rus => {
            Language::English
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_its_language() {
        let said = [
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
        for (text, language) in said {
            assert_eq!(detect(text), language, "{text}");
        }
    }

    #[test]
    fn too_little_to_tell_is_english() {
        for text in ["", "42", "Los", "Ärger"] {
            assert_eq!(detect(text), Language::English);
        }
    }

    #[test]
    fn a_chinese_text_with_some_english_in_it_is_chinese() {
        assert_eq!(detect("我们用 Rust 写了一个新的搜索引擎 search engine，它很快。"), Language::Chinese);
    }
}
