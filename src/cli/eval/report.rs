//! The report of an evaluation: figures in all and by kind of query, for each kind of search.

use std::fmt;

use serde::Serialize;

use super::answers::{AnswerCounts, PartialCount};
use super::figures::{RankingFigures, rounded};
use super::searches::{SearchedQuery, SearchedSet};
use crate::cli::output::{shown, table};

/// The name of the figures over all queries.
const ALL_QUERIES: &str = "all";

/// The figures of a set.
#[derive(Debug, Serialize)]
pub struct EvaluationReport {
    /// The name of the set.
    pub set: String,
    /// Number of texts in the library.
    pub texts: usize,
    /// The figures of each kind of search. Minimums are those of the first.
    pub searches: Vec<SearchReport>,
    /// The answers to the questions, if they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerCounts>,
    /// The figures that are too low, each as a sentence.
    pub unmet: Vec<String>,
}

/// The figures of one kind of search.
#[derive(Debug, Serialize)]
pub struct SearchReport {
    /// `hybrid` by words and meaning, or `lexical` by words only.
    pub search: &'static str,
    /// Number of queries.
    pub queries: usize,
    /// Number of queries that were searched for by words only.
    pub degraded: usize,
    /// The figures of all queries, and then those of each kind.
    pub figures: Vec<KindFigures>,
    /// The misspelt queries; right are those whose right spelling was proposed. `None` if the set has none.
    pub corrections: Option<PartialCount>,
}

/// The mean figures of the queries of a kind, rounded to four decimals.
#[derive(Debug, Serialize)]
pub struct KindFigures {
    /// The kind, or `all`.
    pub kind: String,
    /// Number of queries.
    pub queries: usize,
    /// nDCG at 10.
    pub ndcg: f64,
    /// Recall at 20.
    pub recall: f64,
    /// Mean reciprocal rank.
    pub mrr: f64,
}

impl SearchReport {
    /// Summarizes what was found for the queries of a set.
    pub fn of(search: &'static str, searched: &SearchedSet) -> Self {
        let all: Vec<&SearchedQuery> = searched.queries.iter().collect();
        let mut figures = vec![KindFigures::of(ALL_QUERIES, &all)];
        figures.extend(searched.by_kind().iter().map(|(kind, queries)| KindFigures::of(kind, queries)));
        let mut corrections = PartialCount::default();
        all.iter().filter_map(|query| query.is_corrected).for_each(|is_right| corrections.add(is_right));
        Self {
            search,
            queries: all.len(),
            degraded: searched.degraded,
            figures,
            corrections: Some(corrections).filter(|corrections| corrections.all > 0),
        }
    }
}

impl KindFigures {
    fn of(kind: &str, queries: &[&SearchedQuery]) -> Self {
        let mean = RankingFigures::mean(queries.iter().map(|query| &query.figures));
        Self {
            kind: kind.to_owned(),
            queries: queries.len(),
            ndcg: rounded(mean.ndcg),
            recall: rounded(mean.recall),
            mrr: rounded(mean.reciprocal_rank),
        }
    }
}

impl fmt::Display for EvaluationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} texts", shown(&self.set), self.texts)?;
        self.searches.iter().try_for_each(|search| write!(f, "\n{search}"))?;
        if let Some(AnswerCounts { answered, declined }) = self.answers {
            writeln!(f)?;
            writeln!(f, "answered from the right text: {} of {} questions", answered.right, answered.all)?;
            writeln!(f, "declined: {} of {} questions without an answer", declined.right, declined.all)?;
        }
        self.unmet.iter().try_for_each(|unmet| writeln!(f, "too low: {}", shown(unmet)))
    }
}

impl fmt::Display for SearchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { search, queries, degraded, .. } = self;
        writeln!(f, "{search} search: {queries} queries, {degraded} of them by words only")?;
        let row = |row: &KindFigures| {
            let figures = [row.ndcg, row.recall, row.mrr].map(|figure| format!("{figure:.4}"));
            let [ndcg, recall, mrr] = figures;
            [shown(&row.kind), row.queries.to_string(), ndcg, recall, mrr]
        };
        let rows: Vec<_> = self.figures.iter().map(row).collect();
        f.write_str(&table(["KIND", "QUERIES", "NDCG@10", "RECALL@20", "MRR"], &rows))?;
        match self.corrections {
            Some(PartialCount { right, all }) => writeln!(f, "corrected: {right} of {all} misspelt queries"),
            None => Ok(()),
        }
    }
}
