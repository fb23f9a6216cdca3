//! The languages in which passages can be analysed. The index stores one with every passage, so that a query can be analysed in the
//! same ones.

/// A language with special rules: stems, stop words, or writing without spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "most variants are named after their only language")]
pub enum Language {
    Arabic,
    /// Chinese, simplified or traditional.
    Chinese,
    Dutch,
    /// English, and text that is too short to tell.
    English,
    French,
    German,
    Greek,
    Hindi,
    Italian,
    Japanese,
    Korean,
    Portuguese,
    /// Russian, and other languages in Cyrillic letters.
    Russian,
    Spanish,
    Swedish,
    Thai,
    Turkish,
    Vietnamese,
    /// Any other language: words are indexed as they are written.
    Other,
}

impl Language {
    /// Every language, in the order of the variants.
    pub const ALL: [Self; 19] = [
        Self::Arabic,
        Self::Chinese,
        Self::Dutch,
        Self::English,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hindi,
        Self::Italian,
        Self::Japanese,
        Self::Korean,
        Self::Portuguese,
        Self::Russian,
        Self::Spanish,
        Self::Swedish,
        Self::Thai,
        Self::Turkish,
        Self::Vietnamese,
        Self::Other,
    ];

    /// Returns whether its texts are split into n-grams: it is written without spaces or, as Korean, has words with many endings.
    #[must_use]
    pub fn is_split_into_ngrams(self) -> bool {
        matches!(self, Self::Chinese | Self::Japanese | Self::Korean | Self::Thai)
    }

    /// Returns the code that the index stores: two letters of ISO 639, or `und` for any other language.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Arabic => "ar",
            Self::Chinese => "zh",
            Self::Dutch => "nl",
            Self::English => "en",
            Self::French => "fr",
            Self::German => "de",
            Self::Greek => "el",
            Self::Hindi => "hi",
            Self::Italian => "it",
            Self::Japanese => "ja",
            Self::Korean => "ko",
            Self::Portuguese => "pt",
            Self::Russian => "ru",
            Self::Spanish => "es",
            Self::Swedish => "sv",
            Self::Thai => "th",
            Self::Turkish => "tr",
            Self::Vietnamese => "vi",
            Self::Other => "und",
        }
    }

    /// Returns the language of a stored code; `None` for a code that [`Language::code`] never returns.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_parsed_from_its_code() {
        for language in Language::ALL {
            assert_eq!(Language::from_code(language.code()), Some(language));
        }
        assert_eq!(Language::from_code("tlh"), None);
    }
}
