//! What an answer must contain, by the question word: "who" asks for a name, "when" for a date, "how many" for a number.
//!
//! It covers English, German, French and Spanish. A question in another language expects nothing in particular.

use std::collections::HashSet;

use text::chunk::sentences;
use unicode_segmentation::UnicodeSegmentation;

/// Names of numbers in lower case, without those that are other words as well.
const NUMBER_NAMES: [&str; 68] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen",
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand",
    "million", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "zwanzig", "dreißig", "vierzig", "fünfzig", "hundert", "tausend", "deux", "trois", "quatre", "cinq",
    "sept", "huit", "dix", "onze", "douze", "quinze", "vingt", "trente", "cent", "mille", "dos", "tres",
    "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "doce", "quince", "veinte", "treinta",
    "cien",
];

/// What a question word asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerType {
    /// A word with a capital letter.
    Name,
    /// Two such words in a row, for questions in German, which writes all nouns with a capital letter.
    FullName,
    /// A year or the name of a month.
    Date,
    /// Digits, or the name of a number.
    Number,
}

/// Question words in lower case.
const QUESTION_WORDS: [(&str, AnswerType); 46] = [
    ("who", AnswerType::Name),
    ("whom", AnswerType::Name),
    ("whose", AnswerType::Name),
    ("qui", AnswerType::Name),
    ("quién", AnswerType::Name),
    ("quiénes", AnswerType::Name),
    ("quien", AnswerType::Name),
    ("quienes", AnswerType::Name),
    ("wer", AnswerType::FullName),
    ("wem", AnswerType::FullName),
    ("wen", AnswerType::FullName),
    ("when", AnswerType::Date),
    ("what year", AnswerType::Date),
    ("which year", AnswerType::Date),
    ("what date", AnswerType::Date),
    ("wann", AnswerType::Date),
    ("welchem jahr", AnswerType::Date),
    ("quand", AnswerType::Date),
    ("quelle année", AnswerType::Date),
    ("cuándo", AnswerType::Date),
    ("cuando", AnswerType::Date),
    ("qué año", AnswerType::Date),
    ("how many", AnswerType::Number),
    ("how much", AnswerType::Number),
    ("how long", AnswerType::Number),
    ("how old", AnswerType::Number),
    ("how far", AnswerType::Number),
    ("how high", AnswerType::Number),
    ("how tall", AnswerType::Number),
    ("how often", AnswerType::Number),
    ("wie viele", AnswerType::Number),
    ("wie viel", AnswerType::Number),
    ("wieviel", AnswerType::Number),
    ("wieviele", AnswerType::Number),
    ("wie lange", AnswerType::Number),
    ("wie alt", AnswerType::Number),
    ("wie weit", AnswerType::Number),
    ("wie hoch", AnswerType::Number),
    ("wie oft", AnswerType::Number),
    ("combien", AnswerType::Number),
    ("cuánto", AnswerType::Number),
    ("cuánta", AnswerType::Number),
    ("cuántos", AnswerType::Number),
    ("cuántas", AnswerType::Number),
    ("cuantos", AnswerType::Number),
    ("cuantas", AnswerType::Number),
];

/// Names of months, in the case in which the languages write them: "may" is a verb in English, "May" a month.
const MONTHS: [&str; 46] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Januar",
    "Februar",
    "März",
    "Mai",
    "Juni",
    "Juli",
    "Oktober",
    "Dezember",
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "setiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "Jänner",
];

/// German words that begin a sentence before a noun, in lower case. They are not part of a name.
const GERMAN_DETERMINERS: [&str; 24] = [
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "diese",
    "dieser", "dieses", "im", "am", "in", "mit", "nach", "bei", "für", "vor", "auf",
];

/// What the answer to a question is expected to contain.
#[derive(Debug)]
pub(super) struct ExpectedAnswer {
    answer_type: AnswerType,
    /// The words of the question in lower case. What the question says itself does not answer it.
    question_words: HashSet<String>,
}

impl ExpectedAnswer {
    /// Returns what the question asks for by its question word, which is one of its first two words; `None` if it asks for
    /// nothing in particular.
    pub fn of(question: &str) -> Option<Self> {
        // The question is the last sentence of what the user wrote.
        let last = sentences(question).last().and_then(|range| question.get(range)).unwrap_or_default();
        let words: Vec<String> = last.unicode_words().map(str::to_lowercase).collect();
        let begins = |from: &[String], pattern: &str| {
            pattern.split(' ').enumerate().all(|(at, word)| from.get(at).is_some_and(|own| own == word))
        };
        let answer_type = (0..2).find_map(|skipped| {
            let from = words.get(skipped..)?;
            let asked = QUESTION_WORDS.iter().find(|(pattern, _)| begins(from, pattern));
            asked.map(|(_, answer_type)| *answer_type)
        })?;
        let question_words = question.unicode_words().map(str::to_lowercase).collect();
        Some(Self { answer_type, question_words })
    }

    /// Returns whether the sentence contains something of this type that the question does not say itself.
    pub fn is_in(&self, sentence: &str) -> bool {
        let words: Vec<&str> = sentence.unicode_words().collect();
        match self.answer_type {
            // The first word has a capital letter in any case.
            AnswerType::Name => words.iter().skip(1).any(|word| self.is_name(word)),
            AnswerType::FullName => words.windows(2).any(|pair| pair.iter().all(|word| self.is_name(word))),
            AnswerType::Date => words.iter().any(|word| is_date(word) && self.is_new(word)),
            AnswerType::Number => words.iter().any(|word| is_number(word) && self.is_new(word)),
        }
    }

    fn is_name(&self, word: &str) -> bool {
        // Words in capitals only are abbreviations more often than names, and "I" is neither.
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().any(char::is_lowercase)
            && !GERMAN_DETERMINERS.contains(&word.to_lowercase().as_str())
            && self.is_new(word)
    }

    fn is_new(&self, word: &str) -> bool {
        !self.question_words.contains(&word.to_lowercase())
    }
}

/// Returns whether a word is the name of a month, or contains a year from 1000 to 2999.
fn is_date(word: &str) -> bool {
    let is_year = |digits: &str| digits.len() == 4 && digits.starts_with(['1', '2']);
    MONTHS.contains(&word) || word.split(|c: char| !c.is_ascii_digit()).any(is_year)
}

/// Returns whether a word contains digits, or is the name of a number from two on: that of one is an article too.
fn is_number(word: &str) -> bool {
    word.contains(char::is_numeric) || NUMBER_NAMES.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_expected(question: &str, sentence: &str) -> bool {
        ExpectedAnswer::of(question).is_some_and(|expected| expected.is_in(sentence))
    }

    #[test]
    fn question_word_expects_an_answer_of_its_type() {
        for (question, with, without) in [
            ("Who found the xz backdoor?", "It was found by Andres Freund.", "It was found by accident."),
            (
                "Wer fand die Hintertür?",
                "Andres Freund bemerkte sie.",
                "Der Entwickler bemerkte die Verzögerung.",
            ),
            (
                "Qui a trouvé la faille ?",
                "La faille a été vue par Andres.",
                "La faille a été vue par hasard.",
            ),
            ("¿Quién la encontró?", "La encontró Andres.", "La encontró un ingeniero."),
            ("When did the quagga die?", "It died in August.", "It may have died of age."),
            ("In what year did it die?", "It died on 12.08.1883.", "It died after 12 days."),
            ("Wann starb es?", "Es starb im März.", "Es starb am Abend."),
            ("Quand est-il mort ?", "Il est mort en 1883.", "Il est mort le soir."),
            ("How many legs has it?", "It has 4 of them.", "It has a few of them."),
            ("Many came. How many?", "There were 40.", "There were some."),
            ("How many are allowed?", "At most ten are.", "Once more, a few are."),
            ("Wie viele Beine hat es?", "Es hat 4.", "Es hat einige."),
            ("¿Cuántas patas tiene?", "Tiene 4.", "Tiene algunas."),
        ] {
            assert!(is_expected(question, with), "{question} {with}");
            assert!(!is_expected(question, without), "{question} {without}");
        }
    }

    #[test]
    fn words_of_the_question_do_not_answer_it() {
        assert!(!is_expected("Who was Andres Freund?", "They spoke of Andres Freund."));
        assert!(!is_expected("How many came in 2023?", "Many came in 2023."));
    }

    #[test]
    fn other_questions_expect_nothing_in_particular() {
        for question in ["Why do zebras have stripes?", "Was it the one who died?", "?", ""] {
            assert!(ExpectedAnswer::of(question).is_none(), "{question}");
        }
    }
}
