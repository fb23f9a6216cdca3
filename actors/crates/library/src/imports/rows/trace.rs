//! What a row of an import stores for the undo of its import and for later imports of the same file.

/// Stored as words in `import_row.detail` of a row that is neither skipped nor part of a dry run. The undo clears it once it has
/// decided about the row, so an undo that was interrupted continues with the other rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowTrace {
    /// The row added something to an object that existed before the import.
    pub is_addition: bool,
    /// The row starred an entry of a feed that the import created.
    pub is_star: bool,
    /// The fingerprint of what the row created ([`super::super::fingerprint`]).
    pub fingerprint: Option<String>,
}

/// The word of [`RowTrace::is_addition`]. It is the first one, so that a query can count by it.
pub const ADDITION: &str = "addition";
/// The word of [`RowTrace::is_star`] in the stored trace.
pub const STAR: &str = "starred";

impl RowTrace {
    /// The trace of a row that may have added something to an object that existed before the import.
    pub fn addition(is_addition: bool) -> Self {
        Self { is_addition, ..Self::default() }
    }

    /// Writes the trace; `None` when it is empty.
    pub fn to_detail(&self) -> Option<String> {
        let flag = |is_set: bool, word| is_set.then_some(word);
        // A fingerprint consists of hexadecimal digits, so it equals neither of the words.
        let words = [flag(self.is_addition, ADDITION), flag(self.is_star, STAR), self.fingerprint.as_deref()];
        let words: Vec<_> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Reads what [`RowTrace::to_detail`] wrote. Any other word is a fingerprint.
    pub fn parse(detail: Option<&str>) -> Self {
        let mut trace = Self::default();
        for word in detail.unwrap_or_default().split_whitespace() {
            match word {
                ADDITION => trace.is_addition = true,
                STAR => trace.is_star = true,
                other => trace.fingerprint = Some(other.to_owned()),
            }
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_trace_is_read_back() {
        let fingerprint = Some("0a1b".to_owned());
        for trace in [
            RowTrace::default(),
            RowTrace::addition(true),
            RowTrace { is_star: true, ..RowTrace::default() },
            RowTrace { is_addition: true, is_star: true, fingerprint },
        ] {
            assert_eq!(RowTrace::parse(trace.to_detail().as_deref()), trace);
        }
        assert_eq!(RowTrace::default().to_detail(), None);
    }
}
