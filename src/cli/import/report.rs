//! What came of an import (contract.md, section 9: imports).

use std::fmt;

use serde::Serialize;

use crate::cli::probe;

/// Lines that are told with their reasons; a file of another kind has millions of bad ones.
const TOLD: usize = 10_000;
/// Lines that a person is shown.
const SHOWN: usize = 20;

/// See the file's head.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Bookmarks that were made.
    pub created: u64,
    /// Bookmarks that were there already and got the tags.
    pub updated: u64,
    /// Lines that were passed over, the first of them.
    skipped: Vec<Skipped>,
    /// How many were passed over.
    skipped_lines: u64,
    /// Whether a server is there to fetch and read what was saved.
    pub server_running: bool,
}

#[derive(Debug, Serialize)]
struct Skipped {
    line: u64,
    reason: String,
}

impl Report {
    /// Notes a line that was passed over.
    pub fn skip(&mut self, line: u64, reason: String) {
        self.skipped_lines += 1;
        if self.skipped.len() < TOLD {
            self.skipped.push(Skipped { line, reason });
        }
    }

    /// Lines that are in.
    pub fn saved(&self) -> u64 {
        self.created + self.updated
    }

    /// Not good is a file of which nothing could be taken.
    pub fn is_good(&self) -> bool {
        self.saved() > 0 || self.skipped_lines == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} created, {} updated, {} skipped", self.created, self.updated, self.skipped_lines)?;
        for skipped in self.skipped.iter().take(SHOWN) {
            writeln!(f, "line {}: {}", skipped.line, skipped.reason)?;
        }
        if self.skipped_lines > SHOWN as u64 {
            writeln!(f, "and more, which --json tells")?;
        }
        if self.created > 0 {
            write!(f, "The pages are to be read and indexed: {}", probe::who(self.server_running))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_shape_of_the_apps_imports() {
        let mut report = Report { created: 2, updated: 1, ..Report::default() };
        report.skip(3, "url is required".to_owned());

        let json = serde_json::to_value(&report).unwrap();

        assert_eq!((&json["created"], &json["updated"]), (&2.into(), &1.into()));
        assert_eq!(json["skipped"], serde_json::json!([{"line": 3, "reason": "url is required"}]));
    }

    #[test]
    fn a_file_of_bad_lines_costs_bounded_memory_and_is_a_failure() {
        let mut report = Report::default();
        assert!(report.is_good());
        (1..=20_000).for_each(|line| report.skip(line, "body must be a JSON object".to_owned()));

        assert_eq!((report.skipped.len(), report.skipped_lines), (TOLD, 20_000));
        assert!(!report.is_good());
    }
}
