//! The words of a URL: of the name of its host and of its path.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Maximum length of a part of a path, in characters. Longer ones are hashes, tokens and encoded data, which users do not search for.
const MAX_SEGMENT_CHARS: usize = 40;

/// Maximum number of words of a URL.
const MAX_URL_WORDS: usize = 64;

/// Endings of files of web pages, which say nothing of their content.
const PAGE_ENDINGS: [&str; 7] = ["html", "htm", "xhtml", "php", "pdf", "asp", "aspx"];

/// Second-level domains below the domain of a country, under which names are registered (`example.co.uk`).
const SECOND_LEVEL_SUFFIXES: [&str; 9] = ["ac", "co", "com", "edu", "gov", "net", "ne", "or", "org"];

/// Minimum length of the name before such a domain. Shorter ones are names themselves (`t.co`).
const COUNTRY_CODE_CHARS: usize = 2;

/// Returns the words of a URL in their order, as they are written: the labels of its host without `www` and without the public suffix,
/// and the parts of its path, percent-decoded. A label with hyphens is given both in parts and as one word (`rust`, `lang`, `rustlang`).
/// The query, the fragment, port, user and scheme give no words, nor does an address in place of a host name. At most 64 words; none
/// for a text that is no URL.
#[must_use]
pub fn url_words(url: &str) -> Vec<String> {
    let Some((_, rest)) = url.split_once("://") else { return Vec::new() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut words = host_words(authority);
    for segment in path.split('/') {
        // What is no percent-encoding stays as it is, and bytes that are no text separate words.
        words.extend(path_words(&percent_decode_str(segment).decode_utf8_lossy()));
    }
    words.truncate(MAX_URL_WORDS);
    words
}

/// Returns the text of a query with the words of each URL in its place ([`url_words()`]): a scheme, a public suffix and the parameters of a
/// link are in no document. A URL without words stays as it is written.
pub fn with_url_words(query: &str) -> Cow<'_, str> {
    let words_of = |part: &str| match scheme_before(part) {
        Some(scheme) => url_words(&[scheme, part].concat()),
        None => Vec::new(),
    };
    if !query.split_whitespace().any(|part| scheme_before(part).is_some()) {
        return Cow::Borrowed(query);
    }
    let parts = query.split_whitespace().map(|part| match words_of(part) {
        words if words.is_empty() => part.to_owned(),
        words => words.join(" "),
    });
    Cow::Owned(parts.collect::<Vec<_>>().join(" "))
}

/// Returns what a part of a query without spaces lacks to be a URL: nothing if it begins with a scheme, and a scheme if it begins as many
/// hosts do. `None` for other words.
fn scheme_before(part: &str) -> Option<&'static str> {
    let begins_with =
        |start: &str| part.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    if begins_with("https://") || begins_with("http://") {
        return Some("");
    }
    begins_with("www.").then_some("https://")
}

/// Returns the words of the host of a URL, which may stand between a user and a port.
fn host_words(authority: &str) -> Vec<String> {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
    let is_address = host.starts_with('[') || host.split('.').all(is_number);
    if is_address {
        return Vec::new();
    }
    let mut labels: Vec<&str> = host.split('.').collect();
    drop_public_suffix(&mut labels);
    let labels = labels.into_iter().filter(|label| !label.eq_ignore_ascii_case("www"));
    labels.flat_map(label_words).collect()
}

/// Removes the labels of a host below which names are registered. A host of one label has none.
fn drop_public_suffix(labels: &mut Vec<&str>) {
    if labels.len() < 2 {
        return;
    }
    let is_country = labels.pop().is_some_and(|suffix| suffix.len() == COUNTRY_CODE_CHARS);
    let has_second_level =
        |label: &&str| SECOND_LEVEL_SUFFIXES.iter().any(|one| one.eq_ignore_ascii_case(label));
    if is_country && labels.len() > 1 && labels.last().is_some_and(has_second_level) {
        labels.pop();
    }
}

/// Returns the parts of a label of a host, and the whole of several parts.
fn label_words(label: &str) -> Vec<String> {
    let mut words = split_words(label);
    if words.len() > 1 {
        words.push(words.concat());
    }
    words
}

/// Returns the words of one part of a path.
fn path_words(segment: &str) -> Vec<String> {
    if segment.chars().count() > MAX_SEGMENT_CHARS && !has_separators(segment) {
        return Vec::new();
    }
    let name = match segment.rsplit_once('.') {
        Some((name, ending)) if PAGE_ENDINGS.iter().any(|one| one.eq_ignore_ascii_case(ending)) => name,
        Some(_) | None => segment,
    };
    let is_short = |word: &String| word.chars().count() <= MAX_SEGMENT_CHARS;
    split_words(name).into_iter().filter(is_short).collect()
}

/// Returns whether words stand apart in a part of a path, as in the address of an article (`how-to-bake-bread`).
fn has_separators(segment: &str) -> bool {
    segment.contains(['-', '_', '+', ' '])
}

fn split_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn is_number(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_those_of_host_and_path() {
        for (url, expected) in [
            ("https://blog.rust-lang.org/2024/async-fn.html", "blog rust lang rustlang 2024 async fn"),
            ("https://www.example.co.uk/Bread_and+butter", "example Bread and butter"),
            ("http://user:key@docs.example.com:8080/a?b=c#d", "docs example a"),
            ("https://t.co/x", "t x"),
            ("https://co.uk/x", "co x"),
            ("https://localhost/reeds", "localhost reeds"),
            ("https://127.0.0.1/reeds", "reeds"),
            ("https://[::1]:80/reeds", "reeds"),
            ("https://fr.example.org/caf%C3%A9/100%25", "fr example café 100"),
            ("https://example.org/report.v2.PDF", "example report v2"),
            ("https://example.org", "example"),
            ("https://example.org/%ff%zz", "example zz"),
        ] {
            assert_eq!(url_words(url), expected.split(' ').collect::<Vec<_>>(), "{url}");
        }
    }

    #[test]
    fn long_parts_of_a_path_give_no_words_unless_they_have_several() {
        let hash = "0123456789abcdef".repeat(3);
        assert_eq!(url_words(&format!("https://example.org/{hash}")), ["example"]);
        let address = "how-to-bake-bread-in-a-cold-kitchen-without-an-oven";
        assert_eq!(url_words(&format!("https://example.org/{address}")).len(), 1 + 11);
        assert_eq!(url_words(&format!("https://example.org/a-{hash}")), ["example", "a"]);
    }

    #[test]
    fn texts_that_are_no_urls_give_no_words() {
        for text in ["", "heron", "mailto:heron@example.org", "://"] {
            assert_eq!(url_words(text), [""; 0], "{text}");
        }
        assert_eq!(url_words(&format!("https://example.org/{}", "a/".repeat(500))).len(), MAX_URL_WORDS);
    }

    #[test]
    fn urls_of_a_query_become_their_words() {
        for (query, expected) in [
            ("https://marsh.example/how-godwits-fly.html?utm_source=feed#top", "marsh how godwits fly"),
            ("HTTP://www.rust-lang.org", "rust lang rustlang"),
            ("www.marsh.example/godwits", "marsh godwits"),
            ("godwits  at https://marsh.example", "godwits at marsh"),
            ("https://127.0.0.1/", "https://127.0.0.1/"),
            ("https://", "https://"),
        ] {
            assert_eq!(with_url_words(query), expected, "{query}");
        }
        for query in ["", "two  spaces", "marsh.example", "what is https", "wwwide web", "a://b"] {
            assert!(matches!(with_url_words(query), Cow::Borrowed(same) if same == query), "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_query_without_a_scheme_is_unchanged(query in "[a-zA-Z0-9 :/.é-]{0,40}") {
            prop_assume!(!query.to_lowercase().contains("http") && !query.to_lowercase().contains("www"));
            let searched = with_url_words(&query).into_owned();
            prop_assert_eq!(searched, query);
        }

        #[test]
        fn words_of_any_url_are_letters_and_digits(rest in "\\PC{0,80}") {
            for word in url_words(&format!("https://{rest}")) {
                prop_assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric));
            }
        }
    }
}
