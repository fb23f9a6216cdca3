//! Selects the article's blocks of a page: an extractor's choice, corrected by rules.
//!
//! An extractor decides by tags, lengths and links. It misses leads outside the body, and it keeps labels, captions and calls to
//! subscribe. Each rule handles one such case by the block and what surrounds it; a rule is a method of [`Selection`] in
//! `restoration.rs` or `removal.rs` and one line in [`select_blocks`]. `score.py extraction` measures each of them.

use std::collections::{HashMap, HashSet};

use trafilatura::dom::{Document, NodeId};

use super::{
    align::align,
    blocks::{self, Block},
    boilerplate, title, walk,
};

/// Below this coverage the page and the extraction are different texts: the extractor used a script, or the page is an empty shell.
const MIN_COVERAGE: f64 = 0.6;
/// A shorter extraction, in bytes of letters, is the fallback of the extractor: all text of the page.
const MIN_EXTRACTION_BYTES: usize = 250;
/// The article's root is the innermost element that holds this share of the chosen text.
const MIN_CONTAINER_SHARE: f64 = 0.6;

/// Properties of a page that are known when its blocks are selected.
pub struct Hints<'a> {
    /// The title of the article, without the name of its site.
    pub title: &'a str,
    /// The displayed title: the same, or the title set by the user.
    pub shown: &'a str,
    /// The description of the page.
    pub description: &'a str,
    /// The author, empty if not known, as are the other fields.
    pub author: &'a str,
}

/// Returns the article's blocks, in the order of the page; `None` if the extraction is not from these blocks.
pub fn select_blocks(
    page: &Document,
    all: &[Block],
    extraction: &[Block],
    hints: &Hints<'_>,
) -> Option<Vec<Block>> {
    let kept = if extraction.iter().map(|block| block.key.len()).sum::<usize>() < MIN_EXTRACTION_BYTES {
        outside_page_frame(all)
    } else {
        let alignment = align(all, extraction);
        // The caller then shows the extraction as it is.
        (alignment.coverage >= MIN_COVERAGE).then_some(alignment.kept)?
    };
    let mut selection = Selection::new(page, all, kept, hints);
    // Restoring comes before removing, so that the share that a rule may remove is measured on the whole article.
    selection.add_lead();
    selection.add_description();
    selection.fill_holes();
    selection.drop_foreign_parts();
    selection.drop_captions();
    selection.drop_labelled_lists();
    selection.drop_linked_paragraphs();
    selection.drop_loose_end();
    selection.drop_notices();
    selection.drop_repetitions();
    selection.drop_title();
    selection.drop_byline();
    Some(selection.into_blocks())
}

/// Returns the blocks in the article element of the page, or else all blocks outside of its frame.
fn outside_page_frame(all: &[Block]) -> Vec<bool> {
    let marked: Vec<bool> =
        all.iter().map(|block| block.regions.article && !block.regions.is_frame()).collect();
    if marked.contains(&true) { marked } else { all.iter().map(|block| !block.regions.is_frame()).collect() }
}

/// The blocks of a page, and which of them are selected so far.
pub struct Selection<'a> {
    pub(super) page: &'a Document,
    pub(super) blocks: &'a [Block],
    pub(super) kept: Vec<bool>,
    pub(super) title: String,
    /// Keys of headings that repeat the shown title.
    pub(super) shown: Vec<String>,
    pub(super) description: String,
    pub(super) author: String,
    main_containers: HashSet<NodeId>,
}

impl<'a> Selection<'a> {
    fn new(page: &'a Document, blocks: &'a [Block], kept: Vec<bool>, hints: &Hints<'_>) -> Self {
        // Computed once from the extraction, so that the rules do not depend on what earlier ones changed.
        let main_containers = main_containers(
            page,
            blocks.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(block, _)| block),
        );
        let [title, description, author] =
            [hints.title, hints.description, hints.author].map(|text| blocks::key(text).to_lowercase());
        // The page's own title is without the name of its site.
        let shown =
            if hints.shown == hints.title { vec![title.clone()] } else { title::names_of(hints.shown) };
        Self { page, blocks, kept, title, shown, description, author, main_containers }
    }

    fn into_blocks(self) -> Vec<Block> {
        self.blocks.iter().zip(self.kept).filter(|(_, kept)| *kept).map(|(block, _)| block.clone()).collect()
    }

    /// Returns the chosen blocks and their places on the page.
    pub(super) fn chosen(&self) -> impl DoubleEndedIterator<Item = (usize, &'a Block)> {
        self.blocks.iter().enumerate().filter(|(at, _)| self.is_kept(*at))
    }

    pub(super) fn is_kept(&self, at: usize) -> bool {
        self.kept.get(at).is_some_and(|kept| *kept)
    }

    pub(super) fn set_kept(&mut self, at: usize, chosen: bool) {
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = chosen;
        }
    }

    /// Removes every selected block of which this is true.
    pub(super) fn drop_where(&mut self, is_wrong: impl Fn(&Block) -> bool) {
        for (block, kept) in self.blocks.iter().zip(&mut self.kept) {
            *kept = *kept && !is_wrong(block);
        }
    }

    /// Returns whether the element holds most of the article.
    pub(super) fn is_main_container(&self, element: NodeId) -> bool {
        self.main_containers.contains(&element)
    }

    /// Returns the element that holds the block's element, list or row.
    pub(super) fn container(&self, block: &Block) -> Option<NodeId> {
        self.page.parent(block.group)
    }

    /// Returns the elements around a block, from the inside out, up to those that hold most of the article.
    pub(super) fn own_elements(&self, block: &Block) -> impl Iterator<Item = NodeId> {
        walk::ancestors(self.page, block.group).take_while(|node| !self.is_main_container(*node))
    }

    /// Class and id of an element, in small letters.
    pub(super) fn class_and_id(&self, element: NodeId) -> String {
        boilerplate::class_and_id(self.page, element)
    }
}

/// Returns the elements that hold most of these blocks' text.
fn main_containers<'a>(page: &Document, blocks: impl Iterator<Item = &'a Block>) -> HashSet<NodeId> {
    let mut held: HashMap<NodeId, usize> = HashMap::new();
    let mut total = 0;
    for block in blocks {
        total += block.key.len();
        for element in walk::ancestors(page, block.group) {
            *held.entry(element).or_default() += block.key.len();
        }
    }
    held.into_iter()
        .filter(|(_, held)| *held as f64 >= MIN_CONTAINER_SHARE * total as f64)
        .map(|(element, _)| element)
        .collect()
}
