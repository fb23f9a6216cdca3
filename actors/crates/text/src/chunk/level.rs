//! The levels at which a block is divided, from lines down to grapheme clusters.

use unicode_segmentation::UnicodeSegmentation;

use super::pack::Gap;
use super::{block, sentence};
use crate::{is_cluster_bound, word_bounds};

/// What a text is divided into, coarse to fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Lines that end because their writer ended them.
    Line,
    Sentence,
    /// Lines of any kind: rows of a table, code, verses.
    Row,
    /// What stands between white space.
    Spaced,
    /// Words of scripts without spaces, the parts of an address.
    Word,
    /// Grapheme clusters, for monsters.
    Cluster,
    /// Nothing smaller.
    Whole,
}

impl Level {
    pub(super) fn finer(self) -> Option<Self> {
        match self {
            Self::Line => Some(Self::Sentence),
            Self::Sentence => Some(Self::Row),
            Self::Row => Some(Self::Spaced),
            Self::Spaced => Some(Self::Word),
            Self::Word => Some(Self::Cluster),
            Self::Cluster => Some(Self::Whole),
            Self::Whole => None,
        }
    }

    /// What stands between two parts of this level.
    pub(super) fn gap(self) -> Gap {
        match self {
            Self::Line => Gap::Line,
            Self::Sentence => Gap::Sentence,
            Self::Row => Gap::Row,
            Self::Spaced => Gap::Space,
            Self::Word | Self::Cluster | Self::Whole => Gap::Inside,
        }
    }

    /// Whether it comes to this only where nothing else helps, so that a heading need not hold together.
    pub(super) fn is_last_resort(self) -> bool {
        match self {
            Self::Line | Self::Sentence | Self::Row => false,
            Self::Spaced | Self::Word | Self::Cluster | Self::Whole => true,
        }
    }

    /// The byte offsets at which parts of this level begin, but for the first; each lies between two clusters.
    pub(super) fn cuts<'a>(self, part: &'a str) -> Box<dyn Iterator<Item = usize> + 'a> {
        match self {
            Self::Line => {
                Box::new(block::lines(part).skip(1).filter(|line| line.is_new).map(|line| line.start))
            }
            Self::Sentence => Box::new(sentence::starts(part).filter(|at| is_cluster_bound(part, *at))),
            Self::Row => Box::new(block::lines(part).skip(1).map(|line| line.start)),
            Self::Spaced => Box::new(after_spaces(part)),
            Self::Word => Box::new(word_bounds(part).filter(|at| begins_word(part, *at))),
            Self::Cluster => Box::new(clusters(part)),
            Self::Whole => Box::new(std::iter::empty()),
        }
    }
}

/// Where white space ends.
fn after_spaces(part: &str) -> impl Iterator<Item = usize> {
    let mut spaces = false;
    part.char_indices().filter_map(move |(at, c)| {
        let begins = spaces && !c.is_whitespace();
        spaces = c.is_whitespace();
        (begins && is_cluster_bound(part, at)).then_some(at)
    })
}

/// Where clusters begin, but for white space.
fn clusters(part: &str) -> impl Iterator<Item = usize> {
    let visible = |(at, cluster): (usize, &str)| (!cluster.trim().is_empty()).then_some(at);
    part.grapheme_indices(true).skip(1).filter_map(visible)
}

/// Whether a letter or digit stands here: a cut before a comma or a bracket that closes would look odd.
fn begins_word(part: &str, at: usize) -> bool {
    part.get(at..).and_then(|rest| rest.chars().next()).is_some_and(char::is_alphanumeric)
}
