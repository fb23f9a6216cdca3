//! Figures of a ranking against judgements, over documents: nDCG at 10 whose gain is the grade, recall at 20, and the reciprocal rank. They
//! equal those of `score.py`, which is kept with the public sets, for a query that has judgements.

use std::collections::HashMap;

/// Ranks that nDCG counts.
const NDCG_RANKS: usize = 10;
/// Ranks that recall counts.
const RECALL_RANKS: usize = 20;

/// The grades of the documents that are relevant for a query, by their ids, all above 0. Without any, nothing is relevant.
pub type Grades = HashMap<String, u32>;

/// The figures of one ranking, or their means over many, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankingFigures {
    /// Discounted gain of the first ten documents, as a share of the best possible one.
    pub ndcg: f64,
    /// Share of the relevant documents that are among the first twenty.
    pub recall: f64,
    /// One divided by the rank of the first relevant document; 0 if there is none.
    pub reciprocal_rank: f64,
}

impl RankingFigures {
    /// Returns the figures of a ranking: the ids of the documents found, best first, each once. If nothing is relevant, all of them are 1
    /// for a ranking that is empty, and otherwise 0.
    pub fn of(found: &[&str], grades: &Grades) -> Self {
        if grades.is_empty() {
            let figure = if found.is_empty() { 1.0 } else { 0.0 };
            return Self { ndcg: figure, recall: figure, reciprocal_rank: figure };
        }
        let grade_of = |id: &&str| grades.get(*id).copied();
        let mut best: Vec<u32> = grades.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let gains = found.iter().map(|id| grade_of(id).unwrap_or(0));
        let relevant = found.iter().take(RECALL_RANKS).filter_map(grade_of).count();
        let first = found.iter().position(|id| grade_of(id).is_some());
        Self {
            ndcg: discounted_gain(gains) / discounted_gain(best.into_iter()),
            recall: share(relevant, grades.len()),
            reciprocal_rank: first.map_or(0.0, |at| share(1, at + 1)),
        }
    }

    /// Returns the means of these figures; 0 without any.
    pub fn mean<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0);
        for figures in all {
            count += 1;
            sum.ndcg += figures.ndcg;
            sum.recall += figures.recall;
            sum.reciprocal_rank += figures.reciprocal_rank;
        }
        let count = to_f64(count).max(1.0);
        Self {
            ndcg: sum.ndcg / count,
            recall: sum.recall / count,
            reciprocal_rank: sum.reciprocal_rank / count,
        }
    }
}

/// Returns the sum of the first ten gains, each divided by the binary logarithm of its rank plus one.
fn discounted_gain(gains: impl Iterator<Item = u32>) -> f64 {
    (1_u32..)
        .zip(gains.take(NDCG_RANKS))
        .map(|(rank, gain)| f64::from(gain) / f64::from(rank + 1).log2())
        .sum()
}

/// Returns a part divided by a whole; 0 without a whole.
pub fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { to_f64(part) / to_f64(whole) }
}

/// Rounds a figure to the four decimals in which it is printed and compared.
pub fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}

fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns ids of documents that nothing names.
    fn others(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("n{number}")).collect()
    }

    /// A set of ten queries: the ranking of each, the grades, and the figures that `score.py` computes of them.
    fn ten_queries() -> Vec<(Vec<String>, Grades, [f64; 3])> {
        let ids = |ids: &str| ids.chars().map(String::from).collect::<Vec<_>>();
        let grades = |all: &[(&str, u32)]| all.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect();
        let behind = |count| [others(count), ids("a")].concat();
        let twelve = others(12);
        let all_relevant = twelve.iter().map(|id| (id.clone(), 1)).collect();
        vec![
            (ids("abc"), grades(&[("a", 2)]), [1.0, 1.0, 1.0]),
            (ids("bac"), grades(&[("a", 2), ("c", 1)]), [0.6697, 1.0, 0.5]),
            (ids("xy"), grades(&[("a", 1)]), [0.0, 0.0, 0.0]),
            (ids(""), grades(&[("a", 1)]), [0.0, 0.0, 0.0]),
            (ids("a"), grades(&[("a", 1), ("b", 1), ("c", 2)]), [0.3194, 0.3333, 1.0]),
            (behind(10), grades(&[("a", 1)]), [0.0, 1.0, 0.0909]),
            (behind(20), grades(&[("a", 2)]), [0.0, 0.0, 0.0476]),
            (ids("cba"), grades(&[("a", 3), ("b", 2), ("c", 1)]), [0.79, 1.0, 1.0]),
            (twelve, all_relevant, [1.0, 1.0, 1.0]),
            (ids("xayb"), grades(&[("a", 1), ("b", 3)]), [0.5296, 1.0, 0.5]),
        ]
    }

    fn figures_of(found: &[String], grades: &Grades) -> RankingFigures {
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        RankingFigures::of(&found, grades)
    }

    fn rounded_figures(figures: &RankingFigures) -> [f64; 3] {
        [rounded(figures.ndcg), rounded(figures.recall), rounded(figures.reciprocal_rank)]
    }

    #[test]
    fn figures_of_ten_queries_equal_those_of_the_script() {
        let mut all = Vec::new();
        for (found, grades, expected) in ten_queries() {
            let figures = figures_of(&found, &grades);
            assert_eq!(rounded_figures(&figures), expected, "{found:?}");
            all.push(figures);
        }

        assert_eq!(rounded_figures(&RankingFigures::mean(all.iter())), [0.4309, 0.6333, 0.5139]);
    }

    #[test]
    fn query_that_finds_nothing_is_right_without_judgements() {
        let right = figures_of(&[], &Grades::new());
        let wrong = figures_of(&others(1), &Grades::new());

        assert_eq!([rounded_figures(&right), rounded_figures(&wrong)], [[1.0; 3], [0.0; 3]]);
        assert_eq!(rounded_figures(&RankingFigures::mean([].iter())), [0.0; 3]);
    }
}
