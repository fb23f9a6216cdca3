//! The lowest values that figures may have, as the option `--min` gives them.

use std::fmt;

use super::report::{EvaluationReport, SearchReport};

/// The lowest value that a figure may have.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureMinimum {
    /// The name of the figure: a kind of queries with a metric, or another name of [`value_of`].
    figure: String,
    /// The lowest value, from 0 to 1.
    least: f64,
}

/// A figure that is too low.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmetMinimum {
    minimum: FigureMinimum,
    /// The value; `None` if the set has no such figure.
    value: Option<f64>,
}

impl FigureMinimum {
    /// Reads a figure and its lowest value, such as `title.mrr=0.9`.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected a figure and a number from 0 to 1, such as title.mrr=0.9";
        let (figure, least) = text.split_once('=').ok_or(EXPECTED)?;
        let least: f64 = least.parse().map_err(|_| EXPECTED)?;
        if figure.is_empty() || !(0.0..=1.0).contains(&least) {
            return Err(EXPECTED);
        }
        Ok(Self { figure: figure.to_owned(), least })
    }

    /// Returns this minimum with the value of its figure, if that is lower or not measured.
    pub fn check(&self, report: &EvaluationReport) -> Option<UnmetMinimum> {
        let value = value_of(report, &self.figure);
        let is_met = value.is_some_and(|value| value >= self.least);
        (!is_met).then(|| UnmetMinimum { minimum: self.clone(), value })
    }
}

/// Returns the figure of this name, rounded as it is printed: in the search that it names before a colon, or in the first one of a report.
fn value_of(report: &EvaluationReport, figure: &str) -> Option<f64> {
    let (search, figure) = match figure.split_once(':') {
        Some((name, figure)) => (report.searches.iter().find(|search| search.search == name)?, figure),
        None => (report.searches.first()?, figure),
    };
    match figure {
        "corrections" => Some(search.corrections?.share()),
        "answers.right" => Some(report.answers?.answered.share()),
        "answers.declined" => Some(report.answers?.declined.share()),
        _ => value_of_kind(search, figure),
    }
}

/// Returns the figure of a kind of queries. Without a metric, it is nDCG.
fn value_of_kind(search: &SearchReport, figure: &str) -> Option<f64> {
    let (kind, metric) = figure.rsplit_once('.').unwrap_or((figure, "ndcg"));
    let row = search.figures.iter().find(|row| row.kind == kind)?;
    match metric {
        "ndcg" => Some(row.ndcg),
        "recall" => Some(row.recall),
        "mrr" => Some(row.mrr),
        _ => None,
    }
}

impl fmt::Display for UnmetMinimum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FigureMinimum { figure, least } = &self.minimum;
        match self.value {
            Some(value) => write!(f, "{figure} is {value:.4}, less than {least}"),
            None => write!(f, "{figure} is not measured by this set"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::eval::answers::{AnswerCounts, PartialCount};
    use crate::cli::eval::report::KindFigures;

    fn report() -> EvaluationReport {
        let row =
            |kind: &str, ndcg| KindFigures { kind: kind.to_owned(), queries: 2, ndcg, recall: 0.7, mrr: 0.6 };
        let search = SearchReport {
            search: "hybrid",
            queries: 4,
            degraded: 0,
            figures: vec![row("all", 0.5), row("title", 0.8)],
            corrections: Some(PartialCount { right: 3, all: 4 }),
        };
        let by_words = SearchReport {
            search: "lexical",
            queries: 4,
            degraded: 4,
            figures: vec![row("title", 0.4)],
            corrections: None,
        };
        let answers = AnswerCounts {
            answered: PartialCount { right: 1, all: 2 },
            declined: PartialCount { right: 0, all: 0 },
        };
        let name = "birds".to_owned();
        EvaluationReport {
            set: name,
            texts: 9,
            searches: vec![search, by_words],
            answers: Some(answers),
            unmet: Vec::new(),
        }
    }

    fn unmet(minimum: &str) -> Option<String> {
        FigureMinimum::parse(minimum).unwrap().check(&report()).map(|unmet| unmet.to_string())
    }

    #[test]
    fn figure_below_its_minimum_is_unmet() {
        for met in [
            "title=0.8",
            "title.ndcg=0.8",
            "all.recall=0.7",
            "all.mrr=0",
            "corrections=0.75",
            "answers.right=0.5",
            "lexical:title=0.4",
        ] {
            assert_eq!(unmet(met), None, "{met}");
        }

        assert_eq!(unmet("title=0.9").unwrap(), "title is 0.8000, less than 0.9");
        assert_eq!(unmet("answers.declined=0.1").unwrap(), "answers.declined is 0.0000, less than 0.1");
        assert_eq!(unmet("lexical:title=0.5").unwrap(), "lexical:title is 0.4000, less than 0.5");
        for unknown in ["fish=0", "title.map=0", "lexical:all=0", "database:title=0"] {
            assert!(unmet(unknown).unwrap().contains("is not measured"), "{unknown}");
        }
    }

    #[test]
    fn minimum_is_a_figure_and_a_number_up_to_one() {
        for wrong in ["title", "=0.5", "title=", "title=high", "title=1.5", "title=-0.1", "title=NaN"] {
            assert!(FigureMinimum::parse(wrong).is_err(), "{wrong}");
        }
    }
}
