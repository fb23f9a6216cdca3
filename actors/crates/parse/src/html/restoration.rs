//! Rules that restore what an extractor left out.

use super::{
    blocks::{Block, BlockKind},
    boilerplate,
    selection::Selection,
};

/// Minimum length of a paragraph of prose; shorter ones are labels, dates and names.
const MIN_PROSE_CHARS: usize = 60;
/// Number of characters by which the description is searched, because its end is often truncated.
const DESCRIPTION_PREFIX_CHARS: usize = 60;
/// Minimum length of a description that is searched.
const MIN_DESCRIPTION_CHARS: usize = 40;
/// Maximum number of blocks from a description to the first selected block.
const DESCRIPTION_BLOCKS_BEFORE: usize = 25;
/// Maximum number of blocks from the first selected block to a description.
const DESCRIPTION_BLOCKS_BEHIND: usize = 3;
/// Maximum distance of two selected blocks for the blocks between them to belong to the article.
const MAX_HOLE_BLOCKS: usize = 6;

impl Selection<'_> {
    /// Adds the lead, which is often in a separate element between the headline and the body.
    pub(super) fn add_lead(&mut self) {
        // The first block of the selection may be a date or a label, before which no lead is searched.
        let is_body =
            |block: &Block| block.kind == BlockKind::Paragraph && block.text.chars().nth(39).is_some();
        let body = self.chosen().find(|(_, block)| is_body(block)).or_else(|| self.chosen().next());
        let Some((body, _)) = body else { return };
        let headline = self.blocks.iter().take(body).rposition(|block| self.is_headline(block));
        let Some(headline) = headline else { return };
        for at in headline + 1..body {
            if self.blocks.get(at).is_some_and(|block| self.is_lead(block)) {
                self.set_kept(at, true);
            }
        }
    }

    fn is_headline(&self, block: &Block) -> bool {
        let key = block.key.to_lowercase();
        block.kind == BlockKind::Heading
            && key.chars().nth(9).is_some()
            && (self.title.contains(&key) || !self.title.is_empty() && key.contains(&self.title))
    }

    fn is_lead(&self, block: &Block) -> bool {
        let regions = block.regions;
        is_prose(block)
            && matches!(block.kind, BlockKind::Paragraph | BlockKind::Heading)
            && !(regions.menu || regions.aside || regions.footer || regions.figure)
            && !self
                .own_elements(block)
                .map(|element| self.class_and_id(element))
                .any(|names| boilerplate::is_boilerplate(&names) || boilerplate::is_caption(&names))
    }

    /// Adds the block with the words of the description, which is often the lead.
    pub(super) fn add_description(&mut self) {
        let Some((first, _)) = self.chosen().next() else { return };
        // Compared by letters and digits: the description has other white space and quotation marks than the text.
        let begin: String = self.description.chars().take(DESCRIPTION_PREFIX_CHARS).collect();
        if begin.chars().count() < MIN_DESCRIPTION_CHARS {
            return;
        }
        for at in first.saturating_sub(DESCRIPTION_BLOCKS_BEFORE)..first + DESCRIPTION_BLOCKS_BEHIND {
            let has_description = |block: &Block| {
                matches!(block.kind, BlockKind::Paragraph | BlockKind::Heading)
                    && block.key.to_lowercase().contains(&begin)
            };
            if self.blocks.get(at).is_some_and(has_description) {
                self.set_kept(at, true);
            }
        }
    }

    /// Adds paragraphs between two selected ones in the same element.
    pub(super) fn fill_holes(&mut self) {
        for (at, block) in self.blocks.iter().enumerate() {
            if self.is_kept(at)
                || !is_prose(block)
                || !matches!(block.kind, BlockKind::Paragraph | BlockKind::Item)
            {
                continue;
            }
            let before = (at.saturating_sub(MAX_HOLE_BLOCKS)..at).rev().find(|near| self.is_kept(*near));
            let behind = (at + 1..=at + MAX_HOLE_BLOCKS).find(|near| self.is_kept(*near));
            if let (Some(before), Some(behind)) = (before, behind)
                && self.is_beside(block, [before, behind])
            {
                self.set_kept(at, true);
            }
        }
    }

    fn is_beside(&self, block: &Block, near: [usize; 2]) -> bool {
        let Some(container) = self.container(block) else { return false };
        let same = |at: usize| self.blocks.get(at).and_then(|near| self.container(near)) == Some(container);
        // The body itself holds everything, so being in it says nothing.
        near.into_iter().any(same)
            || self.is_main_container(container) && self.page.tag_name(container) != "body"
    }
}

fn is_prose(block: &Block) -> bool {
    !block.is_linked_over(3) && block.text.chars().nth(MIN_PROSE_CHARS - 1).is_some()
}
