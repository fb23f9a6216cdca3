//! The levels at which a block is divided, from lines down to grapheme clusters.

use unicode_segmentation::UnicodeSegmentation;

use super::pack::Gap;
use super::{block, sentence};
use crate::{is_cluster_bound, word_bounds};

/// The units into which a text is divided, from coarse to fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Lines that were not wrapped at a margin.
    Line,
    Sentence,
    /// All lines, such as rows of a table, code and verses.
    Row,
    /// Parts between white space, which are words in most scripts.
    Spaced,
    /// Words of scripts without spaces, and parts of a URL.
    Word,
    /// Grapheme clusters, for very long words.
    Cluster,
    /// What remains as it is, although it may be too long for a passage.
    Indivisible,
}

impl Level {
    pub(super) fn finer(self) -> Option<Self> {
        match self {
            // Sentences before rows: in wrapped prose a sentence goes over several lines.
            Self::Line => Some(Self::Sentence),
            Self::Sentence => Some(Self::Row),
            Self::Row => Some(Self::Spaced),
            Self::Spaced => Some(Self::Word),
            Self::Word => Some(Self::Cluster),
            Self::Cluster => Some(Self::Indivisible),
            Self::Indivisible => None,
        }
    }

    /// Returns the boundary between two parts of this level.
    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Line => Gap::Line,
            Self::Sentence => Gap::Sentence,
            Self::Row => Gap::Row,
            Self::Spaced => Gap::Space,
            Self::Word | Self::Cluster | Self::Indivisible => Gap::Inside,
        }
    }

    /// Returns whether the level is used only if no other helps. Then a heading may be divided too.
    pub(super) fn is_last_resort(self) -> bool {
        match self {
            Self::Line | Self::Sentence | Self::Row => false,
            Self::Spaced | Self::Word | Self::Cluster | Self::Indivisible => true,
        }
    }

    /// Returns the byte offsets at which parts of this level begin, without the first; each is a cluster boundary.
    pub(super) fn cuts<'a>(self, part: &'a str) -> Box<dyn Iterator<Item = usize> + 'a> {
        match self {
            Self::Line => {
                Box::new(block::lines(part).skip(1).filter(|line| line.is_new).map(|line| line.start))
            }
            // A start that is a combining accent belongs to the cluster of the white space before it.
            Self::Sentence => Box::new(sentence::starts(part).filter(|at| is_cluster_bound(part, *at))),
            Self::Row => Box::new(block::lines(part).skip(1).map(|line| line.start)),
            Self::Spaced => Box::new(after_spaces(part)),
            Self::Word => Box::new(word_bounds(part).filter(|at| begins_word(part, *at))),
            Self::Cluster => Box::new(clusters(part)),
            Self::Indivisible => Box::new(std::iter::empty()),
        }
    }
}

/// Returns the offsets at which white space ends.
fn after_spaces(part: &str) -> impl Iterator<Item = usize> {
    let mut spaces = false;
    part.char_indices().filter_map(move |(at, c)| {
        let begins = spaces && !c.is_whitespace();
        spaces = c.is_whitespace();
        (begins && is_cluster_bound(part, at)).then_some(at)
    })
}

/// Returns the offsets of clusters that are not white space.
fn clusters(part: &str) -> impl Iterator<Item = usize> {
    // White space belongs to the passage before it, so no passage begins with it.
    let visible = |(at, cluster): (usize, &str)| (!cluster.trim().is_empty()).then_some(at);
    part.grapheme_indices(true).skip(1).filter_map(visible)
}

/// Returns whether a letter or digit follows: a cut before a comma or a closing bracket would look odd.
fn begins_word(part: &str, at: usize) -> bool {
    part.get(at..).and_then(|rest| rest.chars().next()).is_some_and(char::is_alphanumeric)
}
