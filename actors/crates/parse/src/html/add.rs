//! Rules that bring back what an extractor left out.

use super::{
    blocks::{Block, Kind},
    choose::Choice,
    signs,
};

/// A paragraph has at least so many characters; shorter ones are labels, dates and names.
const PROSE: usize = 60;
/// The description is looked up by its first characters: the rest is often cut.
const DESCRIPTION: usize = 60;
/// A shorter description says too little to be told from other lines.
const LEAST_DESCRIPTION: usize = 40;
/// How far before the first chosen block a description may stand, and how far behind it.
const BEFORE: usize = 25;
const BEHIND: usize = 3;
/// How far apart two chosen blocks may stand for what is between them to be of the article.
const HOLE: usize = 6;

impl Choice<'_> {
    /// Between the headline and the body there is often a lead in a part of its own.
    pub(super) fn add_lead(&mut self) {
        let is_body = |block: &Block| block.kind == Kind::Paragraph && block.text.chars().nth(39).is_some();
        let body = self.chosen().find(|(_, block)| is_body(block)).or_else(|| self.chosen().next());
        let Some((body, _)) = body else { return };
        let headline = self.blocks.iter().take(body).rposition(|block| self.is_headline(block));
        let Some(headline) = headline else { return };
        for at in headline + 1..body {
            if self.blocks.get(at).is_some_and(|block| self.is_lead(block)) {
                self.set(at, true);
            }
        }
    }

    fn is_headline(&self, block: &Block) -> bool {
        let key = block.key.to_lowercase();
        block.kind == Kind::Heading
            && key.chars().nth(9).is_some()
            && (self.title.contains(&key) || !self.title.is_empty() && key.contains(&self.title))
    }

    fn is_lead(&self, block: &Block) -> bool {
        let place = block.place;
        is_prose(block)
            && matches!(block.kind, Kind::Paragraph | Kind::Heading)
            && !(place.menu || place.aside || place.footer || place.figure)
            && !self
                .own_elements(block)
                .map(|element| self.names(element))
                .any(|names| signs::is_foreign(&names) || signs::is_caption(&names))
    }

    /// What the page says of itself in its head is often its lead, word for word.
    pub(super) fn add_description(&mut self) {
        let Some((first, _)) = self.chosen().next() else { return };
        let begin: String = self.description.chars().take(DESCRIPTION).collect();
        if begin.chars().count() < LEAST_DESCRIPTION {
            return;
        }
        for at in first.saturating_sub(BEFORE)..first + BEHIND {
            let says_so = |block: &Block| {
                matches!(block.kind, Kind::Paragraph | Kind::Heading)
                    && block.key.to_lowercase().contains(&begin)
            };
            if self.blocks.get(at).is_some_and(says_so) {
                self.set(at, true);
            }
        }
    }

    /// A paragraph between two chosen ones, in the same part of the page, is of the same text.
    pub(super) fn fill_holes(&mut self) {
        for (at, block) in self.blocks.iter().enumerate() {
            if self.is_kept(at) || !is_prose(block) || !matches!(block.kind, Kind::Paragraph | Kind::Item) {
                continue;
            }
            let before = (at.saturating_sub(HOLE)..at).rev().find(|near| self.is_kept(*near));
            let behind = (at + 1..=at + HOLE).find(|near| self.is_kept(*near));
            if let (Some(before), Some(behind)) = (before, behind)
                && self.is_beside(block, [before, behind])
            {
                self.set(at, true);
            }
        }
    }

    fn is_beside(&self, block: &Block, near: [usize; 2]) -> bool {
        let Some(holder) = self.holder(block) else { return false };
        let same = |at: usize| self.blocks.get(at).and_then(|near| self.holder(near)) == Some(holder);
        near.into_iter().any(same) || self.is_around(holder) && self.page.tag_name(holder) != "body"
    }
}

fn is_prose(block: &Block) -> bool {
    !block.is_linked_over(3) && block.text.chars().nth(PROSE - 1).is_some()
}
