//! Rules that remove what an extractor should not have kept.

use std::collections::HashSet;

use super::{
    blocks::{Block, BlockKind},
    boilerplate,
    selection::Selection,
};

/// Maximum share of the text that a rule may remove, in per cent. Some pages use boilerplate names for the article itself, and some
/// articles are lists of links.
const MAX_REMOVED_PERCENT: usize = 35;
/// Maximum length of a label above links, in characters.
const MAX_LABEL_CHARS: usize = 80;
/// Maximum length of a label without a colon or a link that is not a heading.
const MAX_BARE_LABEL_CHARS: usize = 40;
/// Maximum length of a picture credit, in characters.
const MAX_CREDIT_CHARS: usize = 100;
/// Minimum length of a linked paragraph to be removed; a shorter one may belong to the article.
const MAX_LINKED_WORD_CHARS: usize = 25;
/// Maximum number of additional letters in a byline.
const MAX_BYLINE_EXTRA_BYTES: usize = 6;
/// Minimum length of repeated lines to be removed; shorter ones may be intended.
const MIN_REPEATED_CHARS: usize = 20;

impl Selection<'_> {
    /// Removes newsletters, share bars, author boxes and other parts by the names of their elements.
    pub(super) fn drop_foreign_parts(&mut self) {
        // Names of elements that hold most of the article say nothing about a part of it, so
        // only elements below them count.
        let is_foreign = |block: &Block| {
            self.own_elements(block).any(|element| boilerplate::is_boilerplate(&self.class_and_id(element)))
        };
        let foreign: Vec<usize> =
            self.chosen().filter(|(_, block)| is_foreign(block)).map(|(at, _)| at).collect();
        self.drop_small(foreign);
    }

    /// Removes these blocks, unless they are too large a part of the article.
    fn drop_small(&mut self, places: Vec<usize>) {
        let all: usize = self.chosen().map(|(_, block)| block.key.len()).sum();
        let size: usize =
            places.iter().filter_map(|at| self.blocks.get(*at)).map(|block| block.key.len()).sum();
        if size * 100 <= all * MAX_REMOVED_PERCENT {
            places.into_iter().for_each(|at| self.set_kept(at, false));
        }
    }

    /// Removes captions, which are shown with their pictures instead.
    pub(super) fn drop_captions(&mut self) {
        let captions: Vec<usize> =
            self.chosen().filter(|(_, block)| self.is_caption(block)).map(|(at, _)| at).collect();
        self.drop_small(captions);
    }

    fn is_caption(&self, block: &Block) -> bool {
        // Only the nearest elements: a caption is not deeply nested, and a name further out is of something else.
        self.own_elements(block).take(3).any(|element| {
            self.page.tag_name(element) == "figcaption"
                || boilerplate::is_caption(&self.class_and_id(element))
        })
    }

    /// Removes "Read also" and the links that follow it.
    pub(super) fn drop_labelled_lists(&mut self) {
        let mut under_label = false;
        let mut lists = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            if !self.is_kept(at) {
                continue;
            }
            // Links below a label belong to it, until a block follows that is not mostly links.
            under_label = is_label(block) || under_label && block.is_linked_over(7);
            if under_label {
                lists.push(at);
            }
        }
        self.drop_small(lists);
    }

    /// Removes paragraphs that consist of one link, which leads to another page.
    pub(super) fn drop_linked_paragraphs(&mut self) {
        let is_link = |block: &Block| {
            block.kind == BlockKind::Paragraph
                && block.is_linked_over(8)
                && block.text.chars().nth(MAX_LINKED_WORD_CHARS).is_some()
        };
        let links: Vec<usize> = self.chosen().filter(|(_, block)| is_link(block)).map(|(at, _)| at).collect();
        self.drop_small(links);
    }

    /// Removes headings without text and links at the end.
    pub(super) fn drop_loose_end(&mut self) {
        let is_loose = |block: &Block| {
            block.is_linked_over(8)
                || block.kind == BlockKind::Heading && block.text.chars().nth(MAX_LABEL_CHARS).is_none()
        };
        let loose: Vec<usize> =
            self.chosen().rev().take_while(|(_, block)| is_loose(block)).map(|(at, _)| at).collect();
        self.drop_small(loose);
    }

    /// Removes copyright notices and picture credits.
    pub(super) fn drop_notices(&mut self) {
        // Not `drop_small`: a notice does not belong to an article, however short the article is.
        self.drop_where(|block| {
            boilerplate::is_notice(&block.text)
                || boilerplate::is_credit(&block.text) && block.text.chars().nth(MAX_CREDIT_CHARS).is_none()
        });
    }

    /// Removes repeated paragraphs, such as captions and pull quotes.
    pub(super) fn drop_repetitions(&mut self) {
        let mut seen = HashSet::new();
        let mut again = Vec::new();
        for (at, block) in self.chosen() {
            let counts =
                block.kind == BlockKind::Paragraph && block.key.chars().nth(MIN_REPEATED_CHARS - 1).is_some();
            if counts && !seen.insert(block.key.as_str()) {
                again.push(at);
            }
        }
        self.drop_small(again);
    }

    /// Removes the title, alone or with the name of the site, because it is a separate field.
    pub(super) fn drop_title(&mut self) {
        let is_shown = |words: &String| self.shown.contains(words);
        let is_title =
            |block: &Block| block.kind == BlockKind::Heading && is_shown(&block.key.to_lowercase());
        let titles: Vec<usize> =
            // Only at the beginning: further down, a heading with the words of the title is a section.
            self.chosen().take(3).filter(|(_, block)| is_title(block)).map(|(at, _)| at).collect();
        titles.into_iter().for_each(|at| self.set_kept(at, false));
    }

    /// Removes the byline, because the author is a separate field.
    pub(super) fn drop_byline(&mut self) {
        // A longer block that contains the name is text about the author.
        let most = self.author.len() + MAX_BYLINE_EXTRA_BYTES;
        let is_byline = |block: &Block| {
            !self.author.is_empty()
                && block.key.len() <= most
                && block.key.to_lowercase().contains(&self.author)
        };
        let found = self.chosen().take(3).find(|(_, block)| is_byline(block)).map(|(at, _)| at);
        self.drop_small(found.into_iter().collect());
    }
}

fn is_label(block: &Block) -> bool {
    let text = block.text.trim_end();
    let stands_alone = block.kind == BlockKind::Heading || text.ends_with(':') || block.is_linked_over(5);
    text.chars().nth(MAX_LABEL_CHARS).is_none()
        && (stands_alone || text.chars().nth(MAX_BARE_LABEL_CHARS - 1).is_none())
        && boilerplate::is_label(text)
}
