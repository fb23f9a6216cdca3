//! Chooses what of a page is its article: an extractor's choice, mended by rules.
//!
//! An extractor decides by tags, lengths and links. It misses leads that stand beside the body, and it keeps labels,
//! captions and calls to subscribe. Each rule here looks at one such thing, at the block and at what surrounds it;
//! a rule is a method of [`Choice`] in `add.rs` or `trim.rs` and one line in [`article`]. Figures for each of them:
//! `score.py extraction`.

use std::collections::{HashMap, HashSet};

use trafilatura::dom::{Document, NodeId};

use super::{
    align::align,
    blocks::{self, Block},
    signs, trim, walk,
};

/// Below this the page and the extraction are different texts: the extractor read a script, or the walk a shell.
const SAME_TEXT: f64 = 0.6;
/// An extraction of fewer bytes of letters is the extractor's last resort: every word of the page.
const SHORT: usize = 250;
/// The article's root is the innermost element that holds this share of the chosen text.
const ROOT_SHARE: f64 = 0.6;

/// What is known of a page when its blocks are chosen.
pub struct Hints<'a> {
    /// The title of the article.
    pub title: &'a str,
    /// The title that is shown above its text: the same, or what its person calls it.
    pub shown: &'a str,
    /// The page's own description of itself.
    pub description: &'a str,
    /// Who wrote it.
    pub author: &'a str,
}

/// The article's blocks out of all of the page's, in the order of the page. None when the extraction is not from
/// these blocks.
pub fn article(
    page: &Document,
    all: &[Block],
    extraction: &[Block],
    hints: &Hints<'_>,
) -> Option<Vec<Block>> {
    let kept = if extraction.iter().map(|block| block.key.len()).sum::<usize>() < SHORT {
        within_the_frame(all)
    } else {
        let aligned = align(all, extraction);
        (aligned.coverage >= SAME_TEXT).then_some(aligned.kept)?
    };
    let mut choice = Choice::new(page, all, kept, hints);
    choice.add_lead();
    choice.add_description();
    choice.fill_holes();
    choice.drop_foreign_parts();
    choice.drop_captions();
    choice.drop_labelled_lists();
    choice.drop_linked_paragraphs();
    choice.drop_loose_end();
    choice.drop_notices();
    choice.drop_repetitions();
    choice.drop_title();
    choice.drop_byline();
    Some(choice.into_blocks())
}

/// What the page itself marks as its article, else everything but menus and the like.
fn within_the_frame(all: &[Block]) -> Vec<bool> {
    let marked: Vec<bool> = all.iter().map(|block| block.place.article && !block.place.is_frame()).collect();
    if marked.contains(&true) { marked } else { all.iter().map(|block| !block.place.is_frame()).collect() }
}

/// The blocks of a page and which of them are chosen so far.
pub struct Choice<'a> {
    pub(super) page: &'a Document,
    pub(super) blocks: &'a [Block],
    pub(super) kept: Vec<bool>,
    pub(super) title: String,
    /// What a heading says that says the shown title again.
    pub(super) shown: Vec<String>,
    pub(super) description: String,
    pub(super) author: String,
    around: HashSet<NodeId>,
}

impl<'a> Choice<'a> {
    fn new(page: &'a Document, blocks: &'a [Block], kept: Vec<bool>, hints: &Hints<'_>) -> Self {
        let around =
            around(page, blocks.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(block, _)| block));
        let [title, description, author] =
            [hints.title, hints.description, hints.author].map(|text| blocks::key(text).to_lowercase());
        // The page's own title is without the name of its site.
        let shown =
            if hints.shown == hints.title { vec![title.clone()] } else { trim::names_of(hints.shown) };
        Self { page, blocks, kept, title, shown, description, author, around }
    }

    fn into_blocks(self) -> Vec<Block> {
        self.blocks.iter().zip(self.kept).filter(|(_, kept)| *kept).map(|(block, _)| block.clone()).collect()
    }

    /// The chosen blocks and their places on the page.
    pub(super) fn chosen(&self) -> impl DoubleEndedIterator<Item = (usize, &'a Block)> {
        self.blocks.iter().enumerate().filter(|(at, _)| self.is_kept(*at))
    }

    pub(super) fn is_kept(&self, at: usize) -> bool {
        self.kept.get(at).is_some_and(|kept| *kept)
    }

    pub(super) fn set(&mut self, at: usize, chosen: bool) {
        if let Some(kept) = self.kept.get_mut(at) {
            *kept = chosen;
        }
    }

    /// Takes out every chosen block of which this is true.
    pub(super) fn drop_where(&mut self, is_wrong: impl Fn(&Block) -> bool) {
        for (block, kept) in self.blocks.iter().zip(&mut self.kept) {
            *kept = *kept && !is_wrong(block);
        }
    }

    /// Holds most of the article.
    pub(super) fn is_around(&self, element: NodeId) -> bool {
        self.around.contains(&element)
    }

    /// The element that holds the block's element, list or row.
    pub(super) fn holder(&self, block: &Block) -> Option<NodeId> {
        self.page.parent(block.group)
    }

    /// The elements around a block, from the inside out, up to those that hold most of the article.
    pub(super) fn own_elements(&self, block: &Block) -> impl Iterator<Item = NodeId> {
        walk::up(self.page, block.group).take_while(|node| !self.is_around(*node))
    }

    /// Class and id of an element, in small letters.
    pub(super) fn names(&self, element: NodeId) -> String {
        signs::names(self.page, element)
    }
}

/// The elements that hold most of these blocks' text.
fn around<'a>(page: &Document, blocks: impl Iterator<Item = &'a Block>) -> HashSet<NodeId> {
    let mut held: HashMap<NodeId, usize> = HashMap::new();
    let mut total = 0;
    for block in blocks {
        total += block.key.len();
        for element in walk::up(page, block.group) {
            *held.entry(element).or_default() += block.key.len();
        }
    }
    held.into_iter()
        .filter(|(_, held)| *held as f64 >= ROOT_SHARE * total as f64)
        .map(|(element, _)| element)
        .collect()
}
