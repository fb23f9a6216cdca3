//! Tests of the catalogues: the languages have the same keys and values, each key is used, each used key exists, and templates have no
//! words of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::FILES;

/// Beginnings of keys that are put together while the program runs.
const COMPOSED_KEYS: [&str; 9] = [
    "account-paper-",
    "account-preset-",
    "assistant-",
    "error-",
    "import-format-",
    "keys-group-",
    "month-",
    "month-short-",
    "weekday-",
];
/// Words that are the same in every language, such as names of products and keys of a keyboard.
const SAME_WORDS: [&str; 23] = [
    "Carrel",
    "carrel",
    "user",
    "add",
    "email",
    "you",
    "home",
    "example",
    "plan",
    "research",
    "Ctrl",
    "Esc",
    "Enter",
    "Shift",
    "Space",
    "Aa",
    "CSV",
    "OPML",
    "Europe",
    "Berlin",
    "slackwater",
    "Markdown",
    "JSON",
];
/// Attributes whose values users read.
const WORD_ATTRIBUTES: [&str; 4] = ["aria-label=\"", "title=\"", "placeholder=\"", "alt=\""];

fn sources(extension: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web");
    let mut found = Vec::new();
    collect(&root, extension, &mut found);
    assert!(!found.is_empty());
    found
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// The keys of a catalogue, each with the values that its text names.
fn keys(catalogue: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in catalogue.lines() {
        let is_new = line.starts_with(|c: char| c.is_ascii_lowercase());
        if let (true, Some((key, _))) = (is_new, line.split_once(" = ")) {
            current = key.to_owned();
            assert!(found.insert(current.clone(), BTreeSet::new()).is_none(), "{current} is repeated");
        }
        for value in line.split('$').skip(1) {
            let name: String = value.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            found.get_mut(&current).unwrap().insert(name);
        }
    }
    found
}

fn all_keys() -> BTreeMap<String, BTreeSet<String>> {
    FILES.iter().flat_map(|file| keys(file.english)).collect()
}

/// The texts in quotes of a source that have the form of a key.
fn quoted_keys(source: &str) -> BTreeSet<String> {
    let is_key = |text: &&str| {
        text.contains('-')
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    source.split('"').filter(is_key).map(str::to_owned).collect()
}

#[test]
fn languages_have_the_same_keys_and_values() {
    for file in FILES {
        assert_eq!(keys(file.english), keys(file.german), "{}", file.name);
    }
}

#[test]
fn catalogues_of_all_files_are_loaded() {
    let listed: BTreeSet<_> = FILES.iter().map(|file| file.name.to_owned()).collect();
    let present: BTreeSet<_> = sources("ftl")
        .iter()
        .map(|(path, _)| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();

    assert_eq!(listed, present);
}

#[test]
fn keys_are_defined_once_in_all_files() {
    let count: usize = FILES.iter().map(|file| keys(file.english).len()).sum();

    assert_eq!(all_keys().len(), count);
}

#[test]
fn every_key_is_used() {
    let mut used = BTreeSet::new();
    for (_, source) in [sources("html"), sources("js"), sources("rs")].concat() {
        used.extend(quoted_keys(&source));
    }
    let unused: Vec<_> = all_keys()
        .into_keys()
        .filter(|key| !used.contains(key) && !COMPOSED_KEYS.iter().any(|start| key.starts_with(start)))
        .collect();

    assert!(unused.is_empty(), "{unused:#?}");
}

#[test]
fn every_used_key_exists() {
    let known = all_keys();
    let mut missing = Vec::new();
    for (path, template) in sources("html") {
        for filter in ["|t }", "|t1(", "|t2(", "|t3(", "|h }", "|h1(", "|h2(", "|h3("] {
            let parts: Vec<_> = template.split(filter).collect();
            for before in parts.iter().rev().skip(1) {
                let Some(key) = before.strip_suffix('"').and_then(|text| text.rsplit('"').next()) else {
                    continue;
                };
                if !known.contains_key(key) {
                    missing.push(format!("{}: {key}", path.display()));
                }
            }
        }
    }

    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn templates_have_no_words_of_their_own() {
    let mut found = Vec::new();
    for (path, template) in sources("html") {
        let text = without_expressions(&template);
        for word in text_words(&text).into_iter().chain(attribute_words(&text)) {
            if !SAME_WORDS.contains(&word.as_str()) {
                found.push(format!("{}: {word}", path.display()));
            }
        }
    }

    assert!(found.is_empty(), "{found:#?}");
}

/// Leaves out the expressions, statements and comments of a template.
fn without_expressions(template: &str) -> String {
    let mut text = template.to_owned();
    // Blocks of classes stand within a tag of the layout.
    for block in ["body_class", "card_class"] {
        let start = format!("{{% block {block} %}}");
        while let Some(at) = text.find(&start) {
            let end = text.split_at(at).1.find("{% endblock").map_or(at + start.len(), |length| at + length);
            text.replace_range(at..end, "");
        }
    }
    for (start, end) in [("{#", "#}"), ("{%", "%}"), ("{{", "}}")] {
        while let Some(at) = text.find(start) {
            let length = text.split_at(at).1.find(end).map_or(text.len() - at, |length| length + end.len());
            text.replace_range(at..at + length, "");
        }
    }
    text
}

/// The words between the tags.
fn text_words(html: &str) -> Vec<String> {
    let mut outside = String::new();
    for part in html.split('<') {
        outside.push(' ');
        outside.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    words(&outside)
}

/// The words of attributes that users read.
fn attribute_words(html: &str) -> Vec<String> {
    let values = WORD_ATTRIBUTES
        .iter()
        .flat_map(|name| html.split(name).skip(1).map(|rest| rest.split('"').next().unwrap_or_default()));
    values.flat_map(words).collect()
}

fn words(text: &str) -> Vec<String> {
    // Entities are signs.
    let text: String =
        text.split('&').map(|part| part.split_once(';').map_or(part, |(_, rest)| rest)).collect();
    let all = text.split(|c: char| !c.is_alphabetic());
    all.filter(|word| word.chars().count() > 1).map(str::to_owned).collect()
}
