//! Rows of an import that are skipped. The first ones are listed one by one, the rest is counted by reason. A long run of faulty
//! rows without a good one in between ends the import, because its file is not of the declared format.

use std::collections::BTreeMap;

use entity::import;

use errors::Error;

/// Faulty rows that are stored one by one, with their lines.
pub const MAX_LISTED_FAULTS: i32 = 10_000;
/// Consecutive faulty rows after which an import ends.
pub const MAX_CONSECUTIVE_FAULTS: i32 = 10_000;
/// Different reasons by which the rest is counted. There are usually few, but a reason may name a file of an archive.
const MAX_REASONS: usize = 100;
/// The reason under which the rows beyond [`MAX_REASONS`] are counted.
const OTHER_REASONS: &str = "other reasons";

/// The faulty rows of an import so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFaults {
    listed: i32,
    unlisted: BTreeMap<String, u64>,
    in_a_row: i32,
}

impl RowFaults {
    /// Reads the counts of an import's row.
    ///
    /// # Errors
    /// [`Error::Internal`] when the row is damaged.
    pub fn from_import(import: &import::Model) -> Result<Self, Error> {
        Ok(Self {
            // Every skipped row is listed until the maximum is reached, so the number needs no separate column.
            listed: import.skipped.min(MAX_LISTED_FAULTS),
            unlisted: unlisted_faults(import)?,
            in_a_row: import.faults_in_a_row,
        })
    }

    /// Counts a row that was imported.
    pub fn record_good(&mut self) {
        self.in_a_row = 0;
    }

    /// Counts a faulty row. Returns `true` if the row is to be listed individually.
    pub fn record_faulty(&mut self, reason: &str) -> bool {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.list(reason)
    }

    /// Counts a valid row that exceeds a limit of the plan. It is listed like a faulty row, and ends a run of faulty rows like a
    /// good one. Returns whether it is to be listed individually.
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
        // Bounded, because the counts are one column of the import's row, which is written with every batch.
        let reason = without_quotations(reason);
        let is_counted = self.unlisted.contains_key(&reason) || self.unlisted.len() < MAX_REASONS;
        let reason = if is_counted { reason } else { OTHER_REASONS.to_owned() };
        *self.unlisted.entry(reason).or_default() += 1;
        false
    }

    /// Returns whether the import must end here.
    pub fn is_run_too_long(&self) -> bool {
        self.in_a_row >= MAX_CONSECUTIVE_FAULTS
    }

    /// Returns the length of the current run, for the import's row.
    pub fn in_a_row(&self) -> i32 {
        self.in_a_row
    }

    /// Returns the counts by reason as JSON, for the import's row; `None` when there are none.
    ///
    /// # Errors
    /// [`Error::Internal`] when they cannot be written.
    pub fn unlisted_json(&self) -> Result<Option<String>, Error> {
        let unlisted = (!self.unlisted.is_empty()).then_some(&self.unlisted);
        unlisted.map(|counts| serde_json::to_string(counts).map_err(Error::internal)).transpose()
    }
}

/// Removes what a reason quotes of its row between backticks, so that rows with the same fault are counted together.
fn without_quotations(reason: &str) -> String {
    // The parts at even positions are outside of the backticks. What then separates nothing, such as a colon at the end, goes too.
    let words: String = reason.split('`').step_by(2).collect();
    words.replace(": ;", ";").replace(" ;", ";").trim_end_matches([':', ' ']).to_owned()
}

/// Returns the faulty rows of an import that are not listed individually: their number by reason.
///
/// # Errors
/// [`Error::Internal`] when the row is damaged.
pub fn unlisted_faults(import: &import::Model) -> Result<BTreeMap<String, u64>, Error> {
    let counts = import.unlisted_faults.as_deref();
    counts.map_or_else(|| Ok(BTreeMap::new()), |json| serde_json::from_str(json).map_err(Error::internal))
}

/// Returns the error of an import that ended after a run of faults.
pub fn stop_reason(line: i64) -> String {
    format!(
        "stopped after line {line}: none of the last {MAX_CONSECUTIVE_FAULTS} rows could be imported, so the file may not be of \
         this format; resume the import to continue anyway"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_over_the_limit_are_counted_by_reason() {
        let mut faults = RowFaults::default();

        let listed = (0..MAX_LISTED_FAULTS).filter(|_| faults.record_faulty("a")).count();
        assert_eq!(listed, 10_000);
        for reason in ["a", "b", "a"] {
            assert!(!faults.record_faulty(reason));
        }

        assert_eq!(faults.unlisted_json().unwrap().as_deref(), Some(r#"{"a":2,"b":1}"#));
    }

    #[test]
    fn reasons_are_counted_without_their_quotations() {
        let mut faults = RowFaults { listed: MAX_LISTED_FAULTS, ..RowFaults::default() };

        for n in 0..1_000 {
            faults.record_faulty(&format!("not an http(s) address: `mailto:{n}`"));
            faults.record_faulty(&format!("unknown field `a{n}`; tags must be an array"));
        }

        let counted = [("not an http(s) address", 1_000), ("unknown field; tags must be an array", 1_000)];
        let counted = counted.map(|(reason, rows)| (reason.to_owned(), rows));
        assert_eq!(faults.unlisted, BTreeMap::from(counted));
    }

    #[test]
    fn reasons_over_the_limit_are_counted_together() {
        let mut faults = RowFaults { listed: MAX_LISTED_FAULTS, ..RowFaults::default() };

        for n in 0..1_000 {
            faults.record_faulty(&format!("file {n} is not read"));
        }

        assert_eq!(faults.unlisted.len(), MAX_REASONS + 1);
        assert_eq!(faults.unlisted.get(OTHER_REASONS), Some(&900));
    }

    #[test]
    fn rows_over_the_plan_are_no_run_of_faults() {
        let mut faults = RowFaults::default();
        for _ in 1..MAX_CONSECUTIVE_FAULTS {
            faults.record_faulty("a");
        }

        let listed = (0..20_000).filter(|_| faults.record_refused("b")).count();

        assert!(!faults.is_run_too_long() && faults.in_a_row() == 0);
        assert_eq!(listed, 1);
        assert_eq!(faults.unlisted_json().unwrap().as_deref(), Some(r#"{"b":19999}"#));
    }

    #[test]
    fn good_row_ends_a_run_of_faults() {
        let mut faults = RowFaults::default();

        for _ in 1..MAX_CONSECUTIVE_FAULTS {
            faults.record_faulty("a");
        }
        assert!(!faults.is_run_too_long());
        faults.record_good();
        faults.record_faulty("a");
        assert!(!faults.is_run_too_long() && faults.in_a_row() == 1);

        for _ in 1..MAX_CONSECUTIVE_FAULTS {
            faults.record_faulty("a");
        }
        assert!(faults.is_run_too_long());
    }
}
