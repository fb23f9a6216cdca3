//! Lists of feeds, as feed readers give them to each other (OPML 1 and 2).

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::{Deserialize, Serialize};
use url::Url;

use super::super::article::{NAME, line};

/// Feeds of one list that are read.
pub const MOST: usize = 20_000;
/// Folders within folders that are looked at.
const DEPTH: usize = 64;

/// A feed of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// Its address as it stands there.
    pub url: String,
    /// What the list calls it.
    pub title: Option<String>,
    /// The folder that it stands in; folders within folders are joined by ` / `.
    pub folder: Option<String>,
}

/// Reads a list; `None` where it is none. Outlines without a feed are folders.
pub fn read(text: &str) -> Option<Vec<Outline>> {
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}').trim_start());
    let (mut found, mut folders): (Vec<Outline>, Vec<Option<String>>) = (Vec::new(), Vec::new());
    let mut is_list = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) if is_outline(&element) => {
                let name = outline(&element, &folders, &mut found);
                folders.push(name);
            }
            Ok(Event::Empty(element)) if is_outline(&element) => {
                outline(&element, &folders, &mut found);
            }
            Ok(Event::Start(element)) => is_list |= element.local_name().into_inner() == "opml",
            Ok(Event::End(element)) if element.local_name().into_inner() == "outline" => drop(folders.pop()),
            Ok(Event::Eof) => return is_list.then_some(found),
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
            // Hand-made lists break off: what was read until there is good.
            Err(_) => return is_list.then_some(found),
        }
        if found.len() >= MOST || folders.len() > DEPTH {
            return is_list.then_some(found);
        }
    }
}

fn is_outline(element: &BytesStart<'_>) -> bool {
    element.local_name().into_inner() == "outline"
}

/// Notes a feed; gives back the name of a folder.
fn outline(element: &BytesStart<'_>, folders: &[Option<String>], found: &mut Vec<Outline>) -> Option<String> {
    let (mut url, mut text, mut title) = (None, None, None);
    for attribute in element.attributes().with_checks(false).flatten() {
        let Ok(value) = attribute.normalized_value(XmlVersion::Implicit1_0) else { continue };
        match attribute.key.into_inner().to_ascii_lowercase().as_str() {
            "xmlurl" => url = Some(value.trim().to_owned()).filter(|url| !url.is_empty()),
            "text" => text = line(&value, NAME),
            "title" => title = line(&value, NAME),
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
    found.push(Outline { url, title: name, folder: line(&folder, NAME) });
    None
}
