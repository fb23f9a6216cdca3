//! Reads a set of texts, queries and judgements in the layout of BEIR, with metadata that other sets lack.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use library::sample_saves::{MissingTextReason, SampleHighlight};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::figures::Grades;
use crate::cli::failure::Failure;

/// A set by which search is judged.
#[derive(Debug)]
pub struct EvaluationSet {
    /// Its name, which is that of its folder.
    pub name: String,
    /// The texts of the library.
    pub texts: Vec<CorpusText>,
    /// The queries that are measured.
    pub queries: Vec<JudgedQuery>,
    /// The questions, if they were to be read.
    pub questions: Vec<AnswerableQuestion>,
}

/// A text of the library: a line of `corpus.jsonl`.
#[derive(Clone, Debug, Deserialize)]
pub struct CorpusText {
    /// The id by which judgements name it.
    #[serde(rename = "_id")]
    pub id: String,
    /// Its title, which may be empty.
    #[serde(default)]
    pub title: String,
    /// The text, which may be empty.
    #[serde(default)]
    pub text: String,
    /// How the text was saved.
    #[serde(default)]
    pub metadata: Option<SaveMetadata>,
}

/// How a text was saved.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SaveMetadata {
    /// The URL of the page.
    pub url: Option<String>,
    /// The tags of the bookmark.
    pub tags: Vec<String>,
    /// The user's note on the page.
    pub notes: Option<String>,
    /// What the user marked in the text.
    pub highlights: Vec<SampleHighlight>,
    /// The description that the page states.
    pub excerpt: Option<String>,
    /// Why the page has no text; `None` if it has one.
    pub state: Option<MissingTextReason>,
    /// The time of the save in RFC 3339 format.
    pub saved_at: Option<String>,
}

/// A query with its judgements.
#[derive(Debug)]
pub struct JudgedQuery {
    /// The id by which judgements name it.
    pub id: String,
    /// The words of the user.
    pub text: String,
    /// What the query tests, such as `title`; `None` in sets without kinds.
    pub kind: Option<String>,
    /// The spelling that the search should propose.
    pub corrected_query: Option<String>,
    /// Further parameters of the search, by their names in `GET /search`.
    pub filters: BTreeMap<String, String>,
    /// The relevant texts. Without any, the search should find nothing.
    pub grades: Grades,
}

/// A line of `queries.jsonl`.
#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[serde(default)]
    metadata: Option<QueryMetadata>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct QueryMetadata {
    kind: Option<String>,
    corrected_query: Option<String>,
    filters: BTreeMap<String, String>,
}

/// A question, and the text that answers it: a line of `answers.jsonl`.
#[derive(Debug, Deserialize)]
pub struct AnswerableQuestion {
    /// The question.
    pub text: String,
    /// The id of the text that answers it; `None` if none does.
    pub document: Option<String>,
}

impl EvaluationSet {
    /// Reads the set in a folder: all of its texts, the queries of this kind or all of them, and the questions if `with_questions` is set.
    ///
    /// A query without judgements expects no result if the set gives it a kind. Without a kind it is left out: in public sets, such
    /// queries belong to other parts of the set.
    ///
    /// # Errors
    /// [`Failure::Path`] when a file cannot be read; [`Failure::NotEvaluated`] when a line is malformed, or no query is left.
    pub fn read(folder: &Path, kind: Option<&str>, with_questions: bool) -> Result<Self, Failure> {
        let mut judgements = read_judgements(folder)?;
        let lines: Vec<QueryLine> = read_lines(&folder.join("queries.jsonl"))?;
        let queries = lines.into_iter().map(|line| {
            let grades = judgements.remove(&line.id).unwrap_or_default();
            judged_query(line, grades)
        });
        let is_measured = |query: &JudgedQuery| match kind {
            Some(kind) => query.kind.as_deref() == Some(kind),
            None => query.kind.is_some() || !query.grades.is_empty(),
        };
        let queries: Vec<JudgedQuery> = queries.filter(is_measured).collect();
        if queries.is_empty() {
            let kind = kind.map(|kind| format!(" of the kind {kind}")).unwrap_or_default();
            return Err(Failure::NotEvaluated(format!("it has no judged queries{kind}")));
        }
        let questions = if with_questions { read_lines(&folder.join("answers.jsonl"))? } else { Vec::new() };
        let texts = read_lines(&folder.join("corpus.jsonl"))?;
        Ok(Self { name: name_of(folder), texts, queries, questions })
    }
}

/// Returns the name of a folder, also of one that is given as `.`.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn judged_query(line: QueryLine, grades: Grades) -> JudgedQuery {
    let QueryMetadata { kind, corrected_query, filters } = line.metadata.unwrap_or_default();
    JudgedQuery { id: line.id, text: line.text, kind, corrected_query, filters, grades }
}

/// Reads the relevant texts of each query. The first line names the columns: the query, the text, and the grade.
fn read_judgements(folder: &Path) -> Result<HashMap<String, Grades>, Failure> {
    let (flat, nested) = (folder.join("qrels.tsv"), folder.join("qrels").join("test.tsv"));
    let file = if !flat.exists() && nested.exists() { nested } else { flat };
    let mut judgements: HashMap<String, Grades> = HashMap::new();
    for (number, line) in read_text(&file)?.lines().enumerate().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [query, text, grade] = columns.as_slice() else {
            return Err(malformed(&file, number, "expected three columns"));
        };
        let grade: i64 = grade.trim().parse().map_err(|cause| malformed(&file, number, &cause))?;
        // What is judged irrelevant counts as what is not judged.
        if let Some(grade) = u32::try_from(grade).ok().filter(|grade| *grade > 0) {
            judgements.entry((*query).to_owned()).or_default().insert((*text).to_owned(), grade);
        }
    }
    Ok(judgements)
}

/// Reads a file with a JSON object on each line.
fn read_lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, Failure> {
    let text = read_text(file)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| serde_json::from_str(line).map_err(|cause| malformed(file, number, &cause)))
        .collect()
}

fn read_text(file: &Path) -> Result<String, Failure> {
    let fault = |cause: io::Error| Failure::Path { what: "read", path: PathBuf::from(file), cause };
    fs::read_to_string(file).map_err(fault)
}

/// Returns the failure for a line, whose number counts from 0.
fn malformed(file: &Path, number: usize, cause: &(impl Display + ?Sized)) -> Failure {
    let line = number + 1;
    Failure::NotEvaluated(format!("{}, line {line}: {cause}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a set with two texts, a query that is judged and one that is not.
    fn write_set(folder: &Path, qrels: &str, kind: &str) {
        fs::create_dir_all(folder.join(qrels).parent().unwrap()).unwrap();
        fs::write(folder.join(qrels), "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n").unwrap();
        fs::write(
            folder.join("corpus.jsonl"),
            "{\"_id\": \"a\", \"text\": \"A heron.\"}\n\n{\"_id\": \"b\"}\n",
        )
        .unwrap();
        let queries = format!(
            "{{\"_id\": \"q1\", \"text\": \"heron\"{kind}}}\n{{\"_id\": \"q2\", \"text\": \"owl\"{kind}}}\n"
        );
        fs::write(folder.join("queries.jsonl"), queries).unwrap();
    }

    #[test]
    fn query_without_judgements_counts_only_with_a_kind() {
        let ids = |set: EvaluationSet| set.queries.into_iter().map(|query| query.id).collect::<Vec<_>>();
        for (qrels, kind, expected) in [
            ("qrels.tsv", "", vec!["q1"]),
            ("qrels/test.tsv", "", vec!["q1"]),
            ("qrels.tsv", ", \"metadata\": {\"kind\": \"birds\"}", vec!["q1", "q2"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            write_set(folder.path(), qrels, kind);

            let set = EvaluationSet::read(folder.path(), None, false).unwrap();

            assert_eq!(set.texts.len(), 2);
            assert_eq!(set.queries[0].grades, Grades::from([("a".to_owned(), 2)]));
            assert_eq!(ids(set), expected, "{qrels}{kind}");
        }
    }

    #[test]
    fn malformed_line_is_reported_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        write_set(folder.path(), "qrels.tsv", "");
        fs::write(folder.path().join("corpus.jsonl"), "{\"_id\": \"a\"}\n{\"_id\": 7}\n").unwrap();

        let failure = EvaluationSet::read(folder.path(), None, false).unwrap_err();

        assert!(failure.to_string().contains("corpus.jsonl, line 2: "), "{failure}");
        let unknown = EvaluationSet::read(folder.path(), Some("fish"), false).unwrap_err();
        assert!(unknown.to_string().contains("no judged queries of the kind fish"), "{unknown}");
    }
}
