//! Rows of an import that are skipped. The first ones are listed one by one, the rest is counted by reason. A long run of faulty
//! rows without a good one in between ends the import, because its file is not of the declared format.

use std::collections::BTreeMap;

use entity::import;

use errors::Error;

/// Faulty rows that are kept one by one, with their lines.
pub const MAX_LISTED_FAULTS: i32 = 10_000;
/// Faulty rows in a row after which an import ends.
pub const MAX_FAULTS_IN_A_ROW: i32 = 10_000;
/// Reasons by which the rest is counted. There are few, but one may name a file of an archive.
const MAX_REASONS: usize = 100;
/// Where rows are counted whose reasons are too many.
const OTHER_REASONS: &str = "other reasons";

/// The faulty rows of an import, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    listed: i32,
    unlisted: BTreeMap<String, u64>,
    in_a_row: i32,
}

impl Faults {
    /// As the import's row says.
    ///
    /// # Errors
    /// [`Error::Internal`] when the row is damaged.
    pub fn of(import: &import::Model) -> Result<Self, Error> {
        Ok(Self {
            listed: import.skipped.min(MAX_LISTED_FAULTS),
            unlisted: unlisted(import)?,
            in_a_row: import.faults_in_a_row,
        })
    }

    /// Counts a row that was taken in.
    pub fn record_good(&mut self) {
        self.in_a_row = 0;
    }

    /// Counts a faulty row. Returns whether it is to be kept by itself.
    pub fn record_faulty(&mut self, reason: &str) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.list(reason)
    }

    /// Counts a valid row that exceeds a limit of the plan. It is listed like a faulty row, and ends a run of faulty rows like a good
    /// one. Returns whether it is to be listed individually.
    pub fn record_refused(&mut self, reason: &str) -> bool {
        self.in_a_row = 0;
        self.list(reason)
    }

    /// Lists a skipped row, or counts it by its reason. Returns whether it is to be listed individually.
    fn list(&mut self, reason: &str) -> bool {
        if self.listed < MAX_LISTED_FAULTS {
            self.listed += 1;
            return true;
        }
        let reason = without_quotations(reason);
        let is_counted = self.unlisted.contains_key(&reason) || self.unlisted.len() < MAX_REASONS;
        let reason = if is_counted { reason } else { OTHER_REASONS.to_owned() };
        *self.unlisted.entry(reason).or_default() += 1;
        false
    }

    /// Whether the import is to end here.
    pub fn is_run_too_long(&self) -> bool {
        self.in_a_row >= MAX_FAULTS_IN_A_ROW
    }

    /// The length of the current run, for the import's row.
    pub fn in_a_row(&self) -> i32 {
        self.in_a_row
    }

    /// The counts by reason as JSON, for the import's row; nothing for none.
    ///
    /// # Errors
    /// [`Error::Internal`] when they cannot be written.
    pub fn unlisted_json(&self) -> Result<Option<String>, Error> {
        let some = (!self.unlisted.is_empty()).then_some(&self.unlisted);
        some.map(|counts| serde_json::to_string(counts).map_err(Error::internal)).transpose()
    }
}

/// A reason without what it quotes of its row between backticks, so that rows with the same fault are counted together.
fn without_quotations(reason: &str) -> String {
    let words: String = reason.split('`').step_by(2).collect();
    words.replace(": ;", ";").replace(" ;", ";").trim_end_matches([':', ' ']).to_owned()
}

/// How many faulty rows of an import are not kept by themselves, by reason.
///
/// # Errors
/// [`Error::Internal`] when the row is damaged.
pub fn unlisted(import: &import::Model) -> Result<BTreeMap<String, u64>, Error> {
    let counts = import.unlisted_faults.as_deref();
    counts.map_or_else(|| Ok(BTreeMap::new()), |json| serde_json::from_str(json).map_err(Error::internal))
}

/// Why an import ended after a run of faults.
pub fn message(line: i64) -> String {
    format!(
        "stopped after line {line}: none of the last {MAX_FAULTS_IN_A_ROW} rows could be imported, so the file may not be of \
         this format; resume the import to continue anyway"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_over_the_bound_are_counted_by_reason() {
        let mut faults = Faults::default();

        let kept = (0..MAX_LISTED_FAULTS).filter(|_| faults.record_faulty("a")).count();
        assert_eq!(kept, 10_000);
        for reason in ["a", "b", "a"] {
            assert!(!faults.record_faulty(reason));
        }

        assert_eq!(faults.unlisted_json().unwrap().as_deref(), Some(r#"{"a":2,"b":1}"#));
    }

    #[test]
    fn reasons_are_counted_without_what_they_quote() {
        let mut faults = Faults { listed: MAX_LISTED_FAULTS, ..Faults::default() };

        for n in 0..1_000 {
            faults.record_faulty(&format!("not an http(s) address: `mailto:{n}`"));
            faults.record_faulty(&format!("unknown field `a{n}`; tags must be an array"));
        }

        let counted = [("not an http(s) address", 1_000), ("unknown field; tags must be an array", 1_000)];
        let counted = counted.map(|(reason, rows)| (reason.to_owned(), rows));
        assert_eq!(faults.unlisted, BTreeMap::from(counted));
    }

    #[test]
    fn reasons_without_end_are_counted_together() {
        let mut faults = Faults { listed: MAX_LISTED_FAULTS, ..Faults::default() };

        for n in 0..1_000 {
            faults.record_faulty(&format!("file {n} is not read"));
        }

        assert_eq!(faults.unlisted.len(), MAX_REASONS + 1);
        assert_eq!(faults.unlisted.get(OTHER_REASONS), Some(&900));
    }

    #[test]
    fn rows_over_the_plan_do_not_count_as_a_run_of_faults() {
        let mut faults = Faults::default();
        for _ in 1..MAX_FAULTS_IN_A_ROW {
            faults.record_faulty("a");
        }

        let kept = (0..20_000).filter(|_| faults.record_refused("b")).count();

        assert!(!faults.is_run_too_long() && faults.in_a_row() == 0);
        assert_eq!(kept, 1);
        assert_eq!(faults.unlisted_json().unwrap().as_deref(), Some(r#"{"b":19999}"#));
    }

    #[test]
    fn good_row_ends_a_run_of_faults() {
        let mut faults = Faults::default();

        for _ in 1..MAX_FAULTS_IN_A_ROW {
            faults.record_faulty("a");
        }
        assert!(!faults.is_run_too_long());
        faults.record_good();
        faults.record_faulty("a");
        assert!(!faults.is_run_too_long() && faults.in_a_row() == 1);

        for _ in 1..MAX_FAULTS_IN_A_ROW {
            faults.record_faulty("a");
        }
        assert!(faults.is_run_too_long());
    }
}
