//! The formats that `--format` accepts, with their descriptions in `--help`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use parse::bookmarks::Format;

/// Every format, in the order in which they are listed.
const FORMATS: [(&str, &str); 16] = [
    ("netscape", "HTML bookmarks of browsers, linkding, Pinboard and many others; HTML of Pocket"),
    ("pocket", "CSV of Pocket"),
    ("instapaper", "CSV of Instapaper"),
    ("readwise", "CSV of Readwise Reader"),
    ("matter", "CSV of Matter"),
    ("mymind", "CSV of mymind"),
    ("raindrop", "CSV of Raindrop, or any other CSV with a column `url`"),
    ("karakeep", "JSON of Karakeep"),
    ("linkwarden", "JSON of Linkwarden"),
    ("omnivore", "Archive of Omnivore"),
    ("objects", "JSON lists: wallabag, Pinboard, Delicious, Readability and others"),
    ("browser", "JSON bookmarks of Firefox, Chrome and other Chromium browsers"),
    ("opml", "List of feeds"),
    ("onetab", "List of OneTab: one URL per line"),
    ("jsonl", "One JSON object per line, with the fields of POST /bookmarks"),
    ("carrel", "An export of Carrel"),
];

/// A format by its name.
pub fn format() -> impl TypedValueParser<Value = Format> {
    let values = FORMATS.map(|(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Format>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_listed_once() {
        let mut listed = FORMATS.map(|(name, _)| name);
        let mut known = Format::NAMES.to_vec();
        listed.sort_unstable();
        known.sort_unstable();

        assert_eq!(listed.as_slice(), known.as_slice());
    }
}
