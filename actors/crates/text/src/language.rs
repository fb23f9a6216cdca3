//! Detects the language of a text, first by its script, then with whichlang.

use whichlang::Lang;

use super::head;

/// Length of the sample. A longer one does not improve the result.
const SAMPLE_CHARS: usize = 4_000;
/// Minimum number of letters for a result; an ideograph or a syllable counts as three letters.
const MIN_WEIGHT: usize = 20;

/// Returns the ISO 639-1 code of the language of a text; `None` for short texts and unknown scripts.
///
/// Distinguishes the sixteen languages of whichlang and, by their script, Greek, Hebrew and Thai. Another language of a script that
/// several share gets the code of the most similar of them.
pub fn language(text: &str) -> Option<&'static str> {
    let sample = head(text, SAMPLE_CHARS);
    // The script decides first: it is certain where whichlang guesses, and three scripts have one common language.
    let script = Script::of(sample)?;
    match script {
        Script::Greek => Some("el"),
        Script::Hebrew => Some("he"),
        Script::Thai => Some("th"),
        Script::Latin | Script::Cyrillic | Script::Arabic | Script::Devanagari | Script::EastAsian => {
            let (code, usual_script) = code(whichlang::detect_language(sample));
            // whichlang always names one of its languages, also for a language that it does not know. A result in
            // another script than the text is wrong for certain.
            (usual_script == script).then_some(code)
        }
    }
}

fn code(lang: Lang) -> (&'static str, Script) {
    match lang {
        Lang::Ara => ("ar", Script::Arabic),
        Lang::Cmn => ("zh", Script::EastAsian),
        Lang::Deu => ("de", Script::Latin),
        Lang::Eng => ("en", Script::Latin),
        Lang::Fra => ("fr", Script::Latin),
        Lang::Hin => ("hi", Script::Devanagari),
        Lang::Ita => ("it", Script::Latin),
        Lang::Jpn => ("ja", Script::EastAsian),
        Lang::Kor => ("ko", Script::EastAsian),
        Lang::Nld => ("nl", Script::Latin),
        Lang::Por => ("pt", Script::Latin),
        Lang::Rus => ("ru", Script::Cyrillic),
        Lang::Spa => ("es", Script::Latin),
        Lang::Swe => ("sv", Script::Latin),
        Lang::Tur => ("tr", Script::Latin),
        Lang::Vie => ("vi", Script::Latin),
    }
}

/// The scripts that are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    Arabic,
    Devanagari,
    Thai,
    EastAsian,
}

impl Script {
    const ALL: [Self; 8] = [
        Self::Latin,
        Self::Greek,
        Self::Cyrillic,
        Self::Hebrew,
        Self::Arabic,
        Self::Devanagari,
        Self::Thai,
        Self::EastAsian,
    ];

    /// Returns the script of most letters of a text; `None` if there are too few letters.
    fn of(text: &str) -> Option<Self> {
        let weights = Self::ALL
            .map(|script| (text.chars().filter(|c| script.contains(*c)).count() * script.weight(), script));
        let (weight, script) = weights.into_iter().max_by_key(|(weight, _)| *weight)?;
        (weight >= MIN_WEIGHT).then_some(script)
    }

    fn contains(self, c: char) -> bool {
        match self {
            // Digits, signs and emoji belong to no script, so text without letters has no language.
            Self::Latin => c.is_ascii_alphabetic() || matches!(c, 'À'..='ɏ' | 'Ḁ'..='ỿ'),
            Self::Greek => matches!(c, 'Ͱ'..='Ͽ' | 'ἀ'..='῾'),
            Self::Cyrillic => matches!(c, 'Ѐ'..='ԯ'),
            Self::Hebrew => matches!(c, 'א'..='ת'),
            Self::Arabic => matches!(c, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}'),
            Self::Devanagari => matches!(c, '\u{900}'..='\u{97f}'),
            Self::Thai => matches!(c, '\u{e01}'..='\u{e5b}'),
            Self::EastAsian => {
                // One script for Chinese, Japanese and Korean: Japanese mixes kana with ideographs, and
                // whichlang tells the three apart.
                matches!(c, 'ぁ'..='ヿ' | '㐀'..='鿿' | '가'..='힣' | '\u{20000}'..='\u{323af}')
            }
        }
    }

    fn weight(self) -> usize {
        match self {
            // An ideograph or a syllable says about as much as three letters, so a short Chinese title is enough.
            Self::EastAsian => 3,
            Self::Latin
            | Self::Greek
            | Self::Cyrillic
            | Self::Hebrew
            | Self::Arabic
            | Self::Devanagari
            | Self::Thai => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_languages_are_detected() {
        for (code, text) in [
            ("en", "All human beings are born free and equal in dignity and rights."),
            ("de", "Alle Menschen sind frei und gleich an Würde und Rechten geboren."),
            ("fr", "Tous les êtres humains naissent libres et égaux en dignité et en droits."),
            ("es", "Todos los seres humanos nacen libres e iguales en dignidad y derechos."),
            ("nl", "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren."),
            ("ru", "Все люди рождаются свободными и равными в своем достоинстве и правах."),
            ("el", "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια."),
            ("he", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם."),
            ("th", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ"),
            ("zh", "人人生而自由，在尊严和权利上一律平等。"),
            ("ja", "すべての人間は、生まれながらにして自由であり、平等である。"),
            ("ko", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다."),
        ] {
            assert_eq!(language(text), Some(code), "{text}");
        }
    }

    #[test]
    fn short_text_has_no_language() {
        for text in ["", "Hello", "1234567890 1234567890 1234567890", "— … —", "🇳🇱 😀"] {
            assert_eq!(language(text), None);
        }
    }

    #[test]
    fn unknown_scripts_have_no_language() {
        assert_eq!(language("Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ"), None);
    }
}
