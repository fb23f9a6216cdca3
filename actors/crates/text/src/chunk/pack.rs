//! Packs the indivisible parts of a text into passages with dynamic programming over all possible cuts, so that a paragraph of 1.3
//! passages becomes two halves rather than one full passage and a short rest.

use super::sizing::Sizing;

/// A part of the text that is not divided further. It ends where the next one begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atom {
    /// The byte offset at which it begins in the text.
    pub start: usize,
    /// Its length in tokens, as counted by [`Sizing::tokens`].
    pub tokens: usize,
    /// The boundary before it, which is where a passage may begin.
    pub gap: Gap,
}

/// The boundary between two parts, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Heading,
    Paragraph,
    Line,
    Sentence,
    Row,
    Space,
    Inside,
}

impl Gap {
    /// Returns the cost of a cut here. For comparison: a passage of half the target length costs 250, an empty one 1,000.
    fn cost(self) -> u64 {
        match self {
            Self::Heading => 0,
            Self::Paragraph => 40,
            Self::Line => 80,
            Self::Sentence => 250,
            Self::Row => 600,
            Self::Space => 1_200,
            Self::Inside => 3_000,
        }
    }
}

/// Appends the byte offsets at which passages end; `end` is the end of the last atom. Without atoms there are no passages.
pub(super) fn pack(atoms: &[Atom], end: usize, size: &Sizing, ends: &mut Vec<usize>) {
    // Each entry leads to the passage before, so the passages are found from the last to the first and reversed below.
    let firsts = best_firsts(atoms, size);
    let first_new = ends.len();
    let mut last = atoms.len();
    let mut stop = end;
    while let Some(first) = last.checked_sub(1).and_then(|last| firsts.get(last)) {
        ends.push(stop);
        stop = atoms.get(*first).map_or(0, |atom| atom.start);
        last = *first;
    }
    if let Some(new) = ends.get_mut(first_new..) {
        new.reverse();
    }
}

/// Returns, for each atom, the first atom of the passage that ends with it in the cheapest division of all atoms up to it.
fn best_firsts(atoms: &[Atom], size: &Sizing) -> Vec<usize> {
    let mut costs: Vec<u64> = Vec::with_capacity(atoms.len() + 1);
    // The cost of no atoms. `costs[n]` is that of the cheapest division of the first `n` atoms.
    costs.push(0);
    let mut firsts = Vec::with_capacity(atoms.len());
    for last in 0..atoms.len() {
        let (cost, first) = cheapest_passage(atoms, &costs, last, size);
        costs.push(cost);
        firsts.push(first);
    }
    firsts
}

/// Returns the cheapest passage that ends with atom `last`: the total cost up to its end, and its first atom.
fn cheapest_passage(atoms: &[Atom], costs: &[u64], last: usize, size: &Sizing) -> (u64, usize) {
    let mut best = (u64::MAX, last);
    let mut tokens = 0;
    // Two neighbouring atoms are longer than `min_atom_tokens`, so few of them fit and this loop is short.
    for first in (0..=last).rev() {
        let (Some(atom), Some(before)) = (atoms.get(first), costs.get(first)) else { break };
        tokens += atom.tokens;
        // An atom that alone is too long is still a passage: it could not be divided, and no text may be lost.
        if tokens > size.max && first < last {
            break;
        }
        // The start of the section is not a cut. What precedes it is packed already.
        let cut = if first == 0 { 0 } else { atom.gap.cost() };
        let cost = before + cut + length_cost(tokens, size);
        // Of equal costs the shorter last passage wins, so that the short rest is at the end.
        best = if cost < best.0 { (cost, first) } else { best };
    }
    best
}

/// Returns the cost of the length of a passage: zero at the target, growing with the square of the distance.
fn length_cost(tokens: usize, size: &Sizing) -> u64 {
    let (distance, max_distance, max_cost) = match tokens.checked_sub(size.target) {
        None | Some(0) => (size.target.saturating_sub(tokens), size.target, 1_000),
        Some(over) => (over, size.max.saturating_sub(size.target), 500),
    };
    let share = (distance.min(max_distance) * 1_000 / max_distance.max(1)) as u64;
    share * share * max_cost / 1_000_000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: Sizing = Sizing { tokens: str::len, target: 100, max: 120 };

    fn atoms(parts: &[(usize, Gap)]) -> Vec<Atom> {
        let starts = parts.iter().scan(0, |at, (tokens, _)| Some(std::mem::replace(at, *at + tokens)));
        starts.zip(parts).map(|(start, &(tokens, gap))| Atom { start, tokens, gap }).collect()
    }

    fn packed(parts: &[(usize, Gap)]) -> Vec<usize> {
        let mut ends = Vec::new();
        pack(&atoms(parts), parts.iter().map(|(tokens, _)| tokens).sum(), &SIZE, &mut ends);
        ends
    }

    #[test]
    fn atoms_that_fit_are_one_passage() {
        assert_eq!(packed(&[(60, Gap::Paragraph), (50, Gap::Paragraph)]), [110]);
        assert_eq!(packed(&[]), [0; 0]);
    }

    #[test]
    fn text_slightly_too_long_becomes_two_halves() {
        assert_eq!(packed(&[(20, Gap::Sentence); 7]), [80, 140]);
    }

    #[test]
    fn cut_between_paragraphs_is_preferred() {
        assert_eq!(
            packed(&[(60, Gap::Paragraph), (20, Gap::Sentence), (60, Gap::Paragraph), (20, Gap::Sentence)]),
            [80, 160]
        );
    }

    #[test]
    fn atom_that_is_too_long_is_one_passage() {
        assert_eq!(packed(&[(50, Gap::Paragraph), (300, Gap::Inside), (50, Gap::Paragraph)]), [50, 350, 400]);
    }

    proptest! {
        #[test]
        fn passages_are_bounded_and_end_between_atoms(lengths in prop::collection::vec(1usize..120, 1..60)) {
            let parts: Vec<_> = lengths.iter().map(|tokens| (*tokens, Gap::Sentence)).collect();
            let ends = packed(&parts);
            prop_assert_eq!(ends.last(), Some(&lengths.iter().sum()));
            prop_assert!([0].iter().chain(&ends).zip(&ends).all(|(from, to)| from < to && to - from <= SIZE.max));
            let bounds: Vec<_> = atoms(&parts).iter().map(|atom| atom.start).collect();
            prop_assert!(ends.iter().rev().skip(1).all(|end| bounds.contains(end)));
        }
    }
}
