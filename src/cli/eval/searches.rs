//! Runs the queries of a set against its library, and judges what is found.

use std::collections::{BTreeMap, HashSet};

use actors::context::OperationContext;
use actors::operation::Operation;
use actors::operations::search::{Search, SearchRequest, SearchResponse};
use errors::Error;
use search::calibration::ScoreMeasures;
use search::title_match::TitleMatch;
use serde::Serialize;
use url::form_urlencoded::Serializer;
use validation::read_query;

use super::evaluation_library::EvaluationLibrary;
use super::figures::RankingFigures;
use super::set::JudgedQuery;
use crate::cli::failure::{Failure, describe};

/// Maximum number of results of a search, which is the largest that a client may ask for.
const MAX_RESULTS: &str = "20";
/// Characters of a query that are searched for, which is the largest number that a client may send.
const MAX_QUERY_CHARS: usize = 500;

/// The results of all queries in one kind of search.
pub struct SearchedSet {
    /// What was found for each query.
    pub queries: Vec<SearchedQuery>,
    /// The measures of each result as JSON, one a line.
    pub features: String,
    /// Number of searches that matched words only.
    pub degraded: usize,
}

/// What was found for a query.
pub struct SearchedQuery {
    /// The kind of the query; `None` in sets without kinds.
    pub kind: Option<String>,
    /// The figures of its ranking.
    pub figures: RankingFigures,
    /// Whether the search proposed the right spelling; `None` if the query is spelt right.
    pub is_corrected: Option<bool>,
}

/// The measures of a result, as `tests/quality/calibrate.py` reads them.
#[derive(Serialize)]
struct ResultFeatures<'a> {
    query: &'a str,
    grade: u32,
    /// Share of the attainable BM25.
    #[serde(rename = "L")]
    bm25_share: Option<f32>,
    /// Cosine similarity, or its upper bound; null without a dense search.
    #[serde(rename = "c")]
    cosine: Option<f32>,
    /// Number of terms of the query.
    #[serde(rename = "n")]
    terms: usize,
    /// Weight of the dense search.
    #[serde(rename = "k")]
    dense_weight: f32,
    /// Share of the terms of the query.
    #[serde(rename = "C")]
    coverage: f32,
    #[serde(rename = "T")]
    title: TitleFeature,
}

/// How far the title is the query: a share, or `exact`.
#[derive(Serialize)]
#[serde(untagged)]
enum TitleFeature {
    Share(f32),
    Exact(&'static str),
}

impl<'a> ResultFeatures<'a> {
    fn of(query: &'a str, grade: u32, measures: &ScoreMeasures) -> Self {
        let (found, dense_weight) = (measures.relevance.measures(), measures.relevance.dense_weight());
        let bound = (dense_weight > 0.0).then_some(found.max_missing_cosine);
        let title = match measures.title {
            TitleMatch::Exact => TitleFeature::Exact("exact"),
            TitleMatch::Share(share) => TitleFeature::Share(share),
            TitleMatch::None => TitleFeature::Share(0.0),
        };
        Self {
            query,
            grade,
            bm25_share: found.bm25_share,
            cosine: found.cosine.or(bound),
            terms: found.terms,
            dense_weight,
            coverage: measures.coverage,
            title,
        }
    }
}

impl SearchedSet {
    /// Searches for each of the queries.
    ///
    /// # Errors
    /// [`Failure::NotEvaluated`] with the id of a query whose search fails or is refused.
    pub async fn search(
        ctx: &OperationContext,
        library: &EvaluationLibrary,
        queries: &[JudgedQuery],
    ) -> Result<Self, Failure> {
        let mut searched =
            Self { queries: Vec::with_capacity(queries.len()), features: String::new(), degraded: 0 };
        for query in queries {
            let response = search(ctx, library, query).await;
            let response = response.map_err(|error| {
                Failure::NotEvaluated(format!("the query {} failed: {}", query.id, describe(&error)))
            })?;
            searched.add(library, query, &response)?;
        }
        Ok(searched)
    }

    /// Judges the results of a query.
    fn add(
        &mut self,
        library: &EvaluationLibrary,
        query: &JudgedQuery,
        response: &SearchResponse,
    ) -> Result<(), Failure> {
        let (mut found, mut seen): (Vec<&str>, HashSet<&str>) = (Vec::new(), HashSet::new());
        for result in &response.results {
            let text = result.bookmark_id.and_then(|bookmark| library.text_of(bookmark));
            let grade = text.and_then(|text| query.grades.get(text)).copied().unwrap_or(0);
            let features = ResultFeatures::of(&query.id, grade, &result.measures);
            self.features += &serde_json::to_string(&features).map_err(Failure::ReportFailed)?;
            self.features.push('\n');
            // Several passages of a text, and the user's note on it, are one result.
            found.extend(text.filter(|text| seen.insert(*text)));
        }
        self.degraded += usize::from(response.degraded.is_some());
        let corrected = response.corrected_query.as_deref().map(str::to_lowercase);
        self.queries.push(SearchedQuery {
            kind: query.kind.clone(),
            figures: RankingFigures::of(&found, &query.grades),
            is_corrected: query.corrected_query.as_ref().map(|right| corrected == Some(right.to_lowercase())),
        });
        Ok(())
    }

    /// Returns the queries of each kind, by its name.
    pub fn by_kind(&self) -> BTreeMap<&str, Vec<&SearchedQuery>> {
        let mut kinds: BTreeMap<&str, Vec<&SearchedQuery>> = BTreeMap::new();
        for query in &self.queries {
            if let Some(kind) = &query.kind {
                kinds.entry(kind).or_default().push(query);
            }
        }
        kinds
    }
}

/// Searches as a client of `GET /search` does.
async fn search(
    ctx: &OperationContext,
    library: &EvaluationLibrary,
    query: &JudgedQuery,
) -> Result<SearchResponse, Error> {
    let text: String = query.text.chars().take(MAX_QUERY_CHARS).collect();
    let mut parameters = Serializer::new(String::new());
    parameters.append_pair("q", &text).append_pair("limit", MAX_RESULTS).extend_pairs(&query.filters);
    let request: SearchRequest = read_query(&parameters.finish())?;
    Search(request).run(&library.caller, ctx).await
}

#[cfg(test)]
mod tests {
    use search::calibration::{Relevance, RetrievalMeasures};
    use serde_json::json;

    use super::*;

    #[test]
    fn features_are_named_as_the_script_reads_them() {
        let found =
            RetrievalMeasures { bm25_share: Some(0.5), cosine: None, max_missing_cosine: 0.25, terms: 3 };
        let measures = |dense_weight, title| ScoreMeasures {
            relevance: Relevance::of(found, dense_weight),
            coverage: 0.75,
            title,
            lacks_number: false,
        };
        let written = |measures| serde_json::to_value(ResultFeatures::of("q1", 2, &measures)).unwrap();

        assert_eq!(
            written(measures(1.0, TitleMatch::Exact)),
            json!({ "query": "q1", "grade": 2, "L": 0.5, "c": 0.25, "n": 3, "k": 1.0, "C": 0.75, "T": "exact" })
        );
        let lexical = written(measures(0.0, TitleMatch::Share(0.5)));
        assert_eq!((&lexical["c"], &lexical["T"]), (&json!(null), &json!(0.5)));
        assert_eq!(written(measures(0.0, TitleMatch::None))["T"], json!(0.0));
    }
}
