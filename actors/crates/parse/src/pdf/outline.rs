//! Reads the outline of a document: titles with the pages on which the sections begin.

use std::collections::{HashMap, HashSet};

use super::strings;
use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, MaybeRef, Object, ObjectIdentifier, String as PdfString};
use serde::{Deserialize, Serialize};

/// The maximum number of entries of an outline.
const MAX_ENTRIES: usize = 2000;
/// The maximum nesting depth of entries below the first level.
const MAX_DEPTH: u8 = 16;
/// The maximum level of a heading.
pub const MAX_HEADING_LEVEL: u8 = MAX_DEPTH + 1;
/// The maximum length of the title of an entry, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The maximum number of nodes of the name tree that are visited for one name.
const MAX_NODES: usize = 2000;

/// An entry of a document's outline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineEntry {
    /// Its title, in one line of at most 200 characters; never empty.
    pub title: String,
    /// Its level, 1 at the top and at most 17.
    pub level: u8,
    /// The page of its destination, from 1, if known.
    pub page: Option<u32>,
}

/// Reads the outline, each entry before its children.
pub fn read_outline(pdf: &Pdf) -> Vec<OutlineEntry> {
    let Some(catalog) = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()) else { return Vec::new() };
    let Some(root) = catalog.get::<Dict<'_>>("Outlines") else { return Vec::new() };
    let pages =
        pdf.pages().iter().zip(1u32..).filter_map(|(page, number)| Some((page.raw().obj_id()?, number)));
    let mut reader =
        OutlineReader { catalog, pages: pages.collect(), seen: HashSet::new(), entries: Vec::new() };
    if let Some(first) = root.get::<Dict<'_>>("First") {
        reader.walk(first);
    }
    reader.entries
}

struct OutlineReader<'a> {
    catalog: Dict<'a>,
    pages: HashMap<ObjectIdentifier, u32>,
    seen: HashSet<ObjectIdentifier>,
    entries: Vec<OutlineEntry>,
}

impl<'a> OutlineReader<'a> {
    fn walk(&mut self, first: Dict<'a>) {
        // A stack of its own rather than recursion: a crafted outline nests as deep as the file is long.
        let mut open = vec![(first, 0)];
        while let Some((item, depth)) = open.pop() {
            // Entries of a damaged file may point back to earlier ones. Each object is visited once.
            let again = item.obj_id().is_some_and(|id| !self.seen.insert(id));
            if again || self.entries.len() >= MAX_ENTRIES {
                continue;
            }
            self.add_entry(&item, depth + 1);
            // The next entry goes onto the stack first, so that the children are visited before it.
            open.extend(item.get::<Dict<'_>>("Next").map(|next| (next, depth)));
            let child = item.get::<Dict<'_>>("First").filter(|_| depth < MAX_DEPTH);
            open.extend(child.map(|child| (child, depth + 1)));
        }
    }

    fn add_entry(&mut self, item: &Dict<'a>, level: u8) {
        let title = item.get::<PdfString<'_>>("Title").map(|title| strings::decode_text(title.as_bytes()));
        let title =
            title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default();
        if !title.is_empty() {
            let title = title.chars().take(MAX_TITLE_CHARS).collect();
            self.entries.push(OutlineEntry { title, level, page: self.page(item) });
        }
    }

    fn page(&self, item: &Dict<'a>) -> Option<u32> {
        // An entry has a destination or an action (ISO 32000-1, 12.3.3).
        let place =
            item.get::<Object<'_>>("Dest").or_else(|| item.get::<Dict<'_>>("A")?.get::<Object<'_>>("D"))?;
        // A name leads to a dictionary, which leads to an array. Without a bound, names could lead
        // to each other for ever.
        self.page_of(place, 3)
    }

    /// Returns the page of a destination, which is explicit, named, or in a dictionary.
    fn page_of(&self, place: Object<'a>, left: u32) -> Option<u32> {
        let left = left.checked_sub(1)?;
        match place {
            Object::Array(place) => self.page_in(&place),
            Object::Dict(place) => self.page_of(place.get::<Object<'_>>("D")?, left),
            Object::Name(name) => self.page_of(self.named_destination(name.as_ref())?, left),
            Object::String(name) => self.page_of(self.named_destination(name.as_bytes())?, left),
            Object::Null(_) | Object::Boolean(_) | Object::Number(_) | Object::Stream(_) => None,
        }
    }

    fn page_in(&self, place: &Array<'a>) -> Option<u32> {
        match place.raw_iter().next()? {
            MaybeRef::Ref(page) => {
                self.pages.get(&ObjectIdentifier::new(page.obj_number, page.gen_number)).copied()
            }
            // Some programs write the index of the page, from 0, instead of a reference to it.
            MaybeRef::NotRef(page) => {
                let number = u32::try_from(page.into_i32()?).ok()?.checked_add(1)?;
                (number as usize <= self.pages.len()).then_some(number)
            }
        }
    }

    fn named_destination(&self, name: &[u8]) -> Option<Object<'a>> {
        // PDF 1.1 has a dictionary of names, later versions have a name tree (ISO 32000-1, 12.3.2.3).
        let old = self.catalog.get::<Dict<'_>>("Dests").and_then(|places| places.get::<Object<'_>>(name));
        old.or_else(|| {
            find_in_name_tree(self.catalog.get::<Dict<'_>>("Names")?.get::<Dict<'_>>("Dests")?, name)
        })
    }
}

/// Looks up a name in a name tree (ISO 32000-1, 7.9.6).
fn find_in_name_tree<'a>(root: Dict<'a>, name: &[u8]) -> Option<Object<'a>> {
    let mut open = vec![root];
    for _ in 0..MAX_NODES {
        let node = open.pop()?;
        if let Some(names) = node.get::<Array<'_>>("Names") {
            let mut pairs = names.flex_iter();
            while let Some(key) = pairs.next::<PdfString<'_>>() {
                let place = pairs.next::<Object<'_>>()?;
                if key.as_bytes() == name {
                    return Some(place);
                }
            }
        }
        let kids = node.get::<Array<'_>>("Kids");
        open.extend(kids.iter().flat_map(|kids| kids.iter::<Dict<'_>>()).filter(|kid| may_hold(kid, name)));
    }
    None
}

fn may_hold(node: &Dict<'_>, name: &[u8]) -> bool {
    // The root of a name tree has no limits.
    let Some(limits) = node.get::<Array<'_>>("Limits") else { return true };
    let mut limits = limits.iter::<PdfString<'_>>();
    let (least, most) = (limits.next(), limits.next());
    least.is_none_or(|least| least.as_bytes() <= name) && most.is_none_or(|most| name <= most.as_bytes())
}
