//! The counters that are sums over the rows of other tables: of accounts, of followed feeds and of projects.

/// A counter of each account, feed or project: the sum of a value over the rows of one table.
pub(super) struct SumCounter {
    /// The column with the number.
    pub(super) column: &'static str,
    /// The table whose rows are counted.
    pub(super) source: &'static str,
    /// SQL for the value of a row, whose columns have the prefix `ROW.`.
    pub(super) value: &'static str,
    /// The columns on which the value depends. The value of a row without any never changes.
    pub(super) depends_on: &'static [&'static str],
}

impl SumCounter {
    /// A number of rows, all of which count.
    const fn rows(column: &'static str, source: &'static str) -> Self {
        Self { column, source, value: "1", depends_on: &[] }
    }

    /// SQL for the value of the row that this prefix names.
    pub(super) fn value_of(&self, prefix: &str) -> String {
        self.value.replace("ROW.", prefix)
    }
}

/// A table whose counters are sums over the rows of others, without a look at a third table.
pub(super) struct SumCounterTable {
    /// The name of the table.
    pub(super) table: &'static str,
    /// The columns of its primary key. The counted rows have columns of the same names.
    pub(super) key: &'static [&'static str],
    pub(super) counters: &'static [SumCounter],
}

/// The counters of accounts.
pub(super) const ACCOUNT_COUNTERS: SumCounterTable = SumCounterTable {
    table: "account_count",
    key: &["user_id"],
    counters: &[
        SumCounter {
            column: "bookmarks",
            source: "bookmark",
            value: "CASE WHEN ROW.deleted_at IS NULL THEN 1 ELSE 0 END",
            depends_on: &["deleted_at"],
        },
        SumCounter {
            column: "documents",
            source: "document",
            value: "CASE WHEN ROW.hidden_at IS NULL THEN 1 ELSE 0 END",
            depends_on: &["hidden_at"],
        },
        SumCounter {
            column: "failed_documents",
            source: "document",
            value: "CASE WHEN ROW.hidden_at IS NULL AND (ROW.status = 'failed' OR ROW.error IS NOT NULL) \
                    AND NOT ROW.has_pending_job THEN 1 ELSE 0 END",
            depends_on: &["hidden_at", "status", "error", "has_pending_job"],
        },
        SumCounter::rows("highlights", "highlight"),
        SumCounter::rows("collections", "collection"),
        SumCounter::rows("feeds", "feed"),
        SumCounter::rows("projects", "project"),
        SumCounter {
            column: "uploads",
            source: "upload",
            value: "CASE WHEN ROW.completed_at IS NULL THEN 0 ELSE 1 END",
            depends_on: &["completed_at"],
        },
        // The bytes of an upload whose bytes have not arrived depend on the time.
        SumCounter {
            column: "upload_bytes",
            source: "upload",
            value: "CASE WHEN ROW.completed_at IS NULL AND ROW.arrived_at IS NULL THEN 0 ELSE ROW.bytes END",
            depends_on: &["completed_at", "arrived_at", "bytes"],
        },
        PENDING_JOBS,
    ],
};

/// The jobs of an account that make documents, and wait or run.
pub(super) const PENDING_JOBS: SumCounter = SumCounter {
    column: "pending_jobs",
    source: "job",
    value: "CASE WHEN ROW.makes_document AND ROW.finished_at IS NULL THEN 1 ELSE 0 END",
    depends_on: &["finished_at", "kind"],
};

/// The counters of followed feeds.
pub(super) const FEED_COUNTERS: SumCounterTable = SumCounterTable {
    table: "feed_count",
    key: &["user_id", "feed_id"],
    counters: &[
        SumCounter::rows("entries", "entry"),
        SumCounter {
            column: "unread",
            source: "entry",
            value: "CASE WHEN ROW.read THEN 0 ELSE 1 END",
            depends_on: &["read"],
        },
    ],
};

/// The counters of projects.
pub(super) const PROJECT_COUNTERS: SumCounterTable = SumCounterTable {
    table: "project_count",
    key: &["user_id", "project_id"],
    counters: &[
        SumCounter {
            column: "items",
            source: "project_item",
            value: "CASE WHEN ROW.is_visible THEN 1 ELSE 0 END",
            depends_on: &["is_visible"],
        },
        SumCounter {
            column: "sources",
            source: "project_item",
            value: "CASE WHEN ROW.is_visible AND ROW.kind <> 'note' THEN 1 ELSE 0 END",
            depends_on: &["is_visible", "kind"],
        },
    ],
};

impl SumCounterTable {
    /// The counted tables, each once.
    pub(super) fn sources(&self) -> Vec<&'static str> {
        let mut sources: Vec<&'static str> = self.counters.iter().map(|counter| counter.source).collect();
        sources.dedup();
        sources
    }

    /// The counters over a table.
    pub(super) fn counters_of(&self, source: &str) -> Vec<&SumCounter> {
        self.counters.iter().filter(|counter| counter.source == source).collect()
    }
}
