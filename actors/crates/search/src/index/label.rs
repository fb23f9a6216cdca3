//! The labels of a passage, by which searches are filtered: values of one payload field, such as `lang:en`.
//!
//! All kinds of labels share the field, because the engine holds 5 MiB in memory for each field with an index, whatever is in it. To
//! add a kind, add a variant of [`Label`], its prefix, and a line in [`Label::value`] and in [`Label::parse`]; then store it in
//! [`label_values`], and match it in `filter::matching` of each engine.

use uuid::Uuid;
use values::kind::ContentType;

use super::language::Language;
use super::passage::{Labels, Source};

/// Prefix of the labels of a [`Source`].
const SOURCE: &str = "source";
/// Prefix of the labels of a [`Language`].
const LANGUAGE: &str = "lang";
/// Prefix of the labels of a feed.
const FEED: &str = "feed";
/// Prefix of the labels of a [`ContentType`].
const CONTENT_TYPE: &str = "type";

/// A label of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The part of the library: bookmarks or feeds.
    Source(Source),
    /// The language in which the words were analysed.
    Language(Language),
    /// The feed of the document.
    Feed(Uuid),
    /// The type of the document.
    ContentType(ContentType),
}

impl Label {
    /// Returns the text that stands for the label in the payload and in filters.
    pub fn value(self) -> String {
        match self {
            Label::Source(source) => format!("{SOURCE}:{}", source_name(source)),
            Label::Language(language) => format!("{LANGUAGE}:{}", language.code()),
            Label::Feed(id) => format!("{FEED}:{id}"),
            Label::ContentType(kind) => format!("{CONTENT_TYPE}:{}", kind.name()),
        }
    }

    /// Parses what [`Label::value`] returned; `None` for anything else.
    pub fn parse(value: &str) -> Option<Self> {
        let (prefix, rest) = value.split_once(':')?;
        match prefix {
            SOURCE => parse_source(rest).map(Label::Source),
            LANGUAGE => Language::from_code(rest).map(Label::Language),
            FEED => Uuid::try_parse(rest).ok().map(Label::Feed),
            CONTENT_TYPE => rest.parse::<ContentType>().ok().map(Label::ContentType),
            _ => None,
        }
    }

    /// Returns the language that the label names; `None` for a label of another kind.
    pub fn language(self) -> Option<Language> {
        if let Label::Language(language) = self { Some(language) } else { None }
    }
}

/// Returns the values of all labels of passages that were analysed in a language. The field of the payload is written as a whole, so no
/// former one stays behind, and none may be left out.
pub fn label_values(labels: &Labels, language: Language) -> Vec<String> {
    let Labels { source, feed, content_type } = *labels;
    let all = [Label::Source(source), Label::Language(language), Label::ContentType(content_type)]
        .into_iter()
        .chain(feed.map(Label::Feed));
    all.map(Label::value).collect()
}

/// Parses the labels of a passage, and the language in which it was analysed, from what [`label_values`] returned. `None` if one that
/// every passage has is missing.
pub fn parse_labels<'a>(values: impl Iterator<Item = &'a str>) -> Option<(Labels, Language)> {
    let (mut source, mut language, mut feed, mut content_type) = (None, None, None, None);
    for label in values.filter_map(Label::parse) {
        match label {
            Label::Source(value) => source = Some(value),
            Label::Language(value) => language = Some(value),
            Label::Feed(value) => feed = Some(value),
            Label::ContentType(value) => content_type = Some(value),
        }
    }
    Some((Labels { source: source?, feed, content_type: content_type? }, language?))
}

/// Returns the name that stands for a part of the library in its label.
fn source_name(source: Source) -> &'static str {
    match source {
        Source::Bookmarks => "bookmarks",
        Source::Feeds => "feeds",
    }
}

/// Parses what [`source_name`] returned; `None` for anything else.
fn parse_source(name: &str) -> Option<Source> {
    [Source::Bookmarks, Source::Feeds].into_iter().find(|source| source_name(*source) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Uuid = Uuid::from_u128(51);

    #[test]
    fn values_have_the_kind_before_a_colon() {
        for (label, value) in [
            (Label::Source(Source::Bookmarks), "source:bookmarks"),
            (Label::Language(Language::Other), "lang:und"),
            (Label::Feed(ID), "feed:00000000-0000-0000-0000-000000000033"),
            (Label::ContentType(ContentType::Pdf), "type:pdf"),
        ] {
            assert_eq!(label.value(), value);
        }
    }

    #[test]
    fn every_label_is_parsed_from_its_value() {
        let languages = Language::ALL.map(Label::Language);
        let others = [
            Label::Source(Source::Bookmarks),
            Label::Source(Source::Feeds),
            Label::Feed(ID),
            Label::ContentType(ContentType::Article),
            Label::ContentType(ContentType::Note),
        ];
        for label in languages.into_iter().chain(others) {
            assert_eq!(Label::parse(&label.value()), Some(label));
        }
    }

    #[test]
    fn labels_of_a_passage_are_parsed_from_their_values() {
        for feed in [None, Some(ID)] {
            let labels = Labels { source: Source::Feeds, feed, content_type: ContentType::Pdf };
            let values = label_values(&labels, Language::Thai);
            let parse = |values: &[String]| parse_labels(values.iter().map(String::as_str));

            assert_eq!(parse(&values), Some((labels, Language::Thai)));
            assert_eq!(parse(&values[1..]), None, "without a source");
        }
    }

    #[test]
    fn text_that_is_no_label_is_refused() {
        for value in [
            "",
            "en",
            "lang:",
            "lang:tlh",
            "lang:en:en",
            "feed:en",
            "type",
            "type:book",
            "source:notes",
            "tag:en",
        ] {
            assert_eq!(Label::parse(value), None, "{value}");
        }
    }

    #[test]
    fn labels_of_languages_alone_name_a_language() {
        assert_eq!(Label::Language(Language::Thai).language(), Some(Language::Thai));
        for label in [Label::Source(Source::Feeds), Label::Feed(ID), Label::ContentType(ContentType::Pdf)] {
            assert_eq!(label.language(), None);
        }
    }
}
