//! The links of a page: the URL against which they are resolved, and where those lead that stay on the page, such as to a footnote.

use std::collections::{HashMap, HashSet};

use trafilatura::dom::{Document, NodeId};
use url::Url;

use super::blocks::Block;
use super::walk;

/// The links of a page that is rendered.
pub struct PageLinks<'a> {
    /// The URL against which they are resolved.
    pub base: Option<&'a Url>,
    /// The offset of the text at which the element with an id begins, by the id as a fragment of a URL.
    offsets: HashMap<String, usize>,
}

impl<'a> PageLinks<'a> {
    /// Finds the targets in the blocks that are rendered, which begin at these offsets of the text.
    pub fn new(page: &Document, base: Option<&'a Url>, blocks: &[&Block], starts: &[usize]) -> Self {
        let offsets = match base {
            Some(base) if has_fragment_links(page) => {
                BlockStarts::new(page, blocks, starts).by_fragment(page, base)
            }
            Some(_) | None => HashMap::new(),
        };
        Self { base, offsets }
    }

    /// Returns the offset to which a link leads; `None` if it leads to another page, or to nothing that is rendered.
    pub fn target(&self, address: &str) -> Option<usize> {
        let (linked, fragment) = address.split_once('#')?;
        let base = self.base?.as_str();
        let own = base.split_once('#').map_or(base, |(own, _)| own);
        self.offsets.get(fragment).copied().filter(|_| linked == own)
    }
}

/// Returns whether there are links that may stay on the page. Most pages have none, and their ids need not be read.
fn has_fragment_links(page: &Document) -> bool {
    let links = page.iter_descendants(page.root(), &["a"]).into_iter();
    links.filter_map(|link| page.get_attribute(link, "href")).any(|href| href.contains('#'))
}

/// The offsets at which elements of a page begin in the text.
struct BlockStarts {
    /// The offset of the first block within an element, itself included.
    first: HashMap<NodeId, usize>,
    /// The elements of blocks.
    elements: HashSet<NodeId>,
}

impl BlockStarts {
    fn new(page: &Document, blocks: &[&Block], starts: &[usize]) -> Self {
        let mut first = HashMap::new();
        for (block, start) in blocks.iter().zip(starts) {
            for around in walk::ancestors(page, block.element) {
                // The elements around one that is known are known too, so this takes linear time.
                if first.contains_key(&around) {
                    break;
                }
                first.insert(around, *start);
            }
        }
        Self { first, elements: blocks.iter().map(|block| block.element).collect() }
    }

    fn by_fragment(&self, page: &Document, base: &Url) -> HashMap<String, usize> {
        let mut url = base.clone();
        let mut offsets = HashMap::new();
        for element in page.iter_descendants(page.root(), &[]) {
            let Some(id) = page.get_attribute(element, "id").filter(|id| !id.is_empty()) else { continue };
            let Some(offset) = self.of_element(page, element) else { continue };
            // Encoded as a link to it is, when that is resolved.
            url.set_fragment(Some(&id));
            if let Some(fragment) = url.fragment() {
                offsets.entry(fragment.to_owned()).or_insert(offset);
            }
        }
        offsets
    }

    /// Returns the offset of the first block in an element, or else of the block that has it in its line.
    fn of_element(&self, page: &Document, element: NodeId) -> Option<usize> {
        if let Some(first) = self.first.get(&element) {
            return Some(*first);
        }
        let block = walk::ancestors(page, element).find(|around| self.elements.contains(around))?;
        self.first.get(&block).copied()
    }
}
