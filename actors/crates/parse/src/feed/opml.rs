//! Reads lists of feeds as exported by feed readers (OPML 1 and 2).

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::html::{MAX_NAME_CHARS, clean_line};

/// Maximum number of feeds of a list.
pub const MAX_FEEDS: usize = 20_000;
/// Maximum nesting depth of folders.
const MAX_FOLDER_DEPTH: usize = 64;

/// A feed of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// Its URL as written in the list.
    pub url: String,
    /// Its title in the list.
    pub title: Option<String>,
    /// Its folder; nested folders are joined by ` / `.
    pub folder: Option<String>,
}

/// The feeds of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpmlDocument {
    /// The feeds, in the order of the list.
    pub feeds: Vec<Outline>,
    /// Whether the list breaks off, or is longer than its limits: these are not all of its feeds.
    pub is_truncated: bool,
}

/// Reads a list; `None` if the text is not OPML. Outlines without a feed are folders.
///
/// Many lists are made by hand: unmatched end tags and bare `&` are accepted.
pub fn read_opml(text: &str) -> Option<OpmlDocument> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_start());
    let config = reader.config_mut();
    (config.check_end_names, config.allow_unmatched_ends, config.allow_dangling_amp) = (false, true, true);
    let (mut found, mut folders): (Vec<Outline>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    let mut is_list = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) if is_outline(&element) => {
                let name = outline(&element, &folders, &mut found);
                // A feed is pushed as `None`, so that its end tag removes its own entry.
                folders.push(name);
            }
            Ok(Event::Empty(element)) if is_outline(&element) => {
                outline(&element, &folders, &mut found);
            }
            Ok(Event::Start(element)) => is_list |= element.local_name().into_inner() == "opml",
            Ok(Event::End(element)) if element.local_name().into_inner() == "outline" => drop(folders.pop()),
            Ok(Event::Eof) => return is_list.then_some(OpmlDocument { feeds: found, is_truncated: false }),
            Ok(
                Event::Empty(_)
                | Event::End(_)
                | Event::Text(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_)
                | Event::GeneralRef(_),
            ) => {}
            // Handwritten lists may be truncated: the feeds read so far are kept.
            Err(_) => return is_list.then_some(OpmlDocument { feeds: found, is_truncated: true }),
        }
        if found.len() >= MAX_FEEDS || folders.len() > MAX_FOLDER_DEPTH {
            return is_list.then_some(OpmlDocument { feeds: found, is_truncated: true });
        }
    }
}

fn is_outline(element: &BytesStart<'_>) -> bool {
    element.local_name().into_inner() == "outline"
}

/// Adds a feed; returns the name if the outline is a folder.
fn outline(element: &BytesStart<'_>, folders: &[Option<String>], found: &mut Vec<Outline>) -> Option<String> {
    let (mut url, mut text, mut title) = (None, None, None);
    // Without the check for repeated names, which takes quadratic time.
    for attribute in element.attributes().with_checks(false).flatten() {
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        // A bare `&` in a URL is not an entity. Then only `&amp;` is replaced.
        let value = value.unwrap_or_else(|_| attribute.value.replace("&amp;", "&").into());
        match attribute.key.into_inner().to_ascii_lowercase().as_str() {
            "xmlurl" => url = Some(value.trim().to_owned()).filter(|url| !url.is_empty()),
            "text" => text = clean_line(&value, MAX_NAME_CHARS),
            "title" => title = clean_line(&value, MAX_NAME_CHARS),
            _ => {}
        }
    }
    let name = title.or(text);
    let Some(url) = url else { return name };
    let folder = folders.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" / ");
    // `feed:` is how some readers spell the address of a feed.
    let url = url.strip_prefix("feed:").map_or(url.clone(), |rest| {
        if Url::parse(rest).is_ok() { rest.to_owned() } else { format!("http:{rest}") }
    });
    found.push(Outline { url, title: name, folder: clean_line(&folder, MAX_NAME_CHARS) });
    None
}
