//! The kept counts that are sums over the rows of other tables: of accounts and of followed feeds.

/// A number that is kept for each account or feed: the sum of a value over the rows of one table.
pub(super) struct Counter {
    /// The column with the number.
    pub(super) column: &'static str,
    /// The table whose rows are counted.
    pub(super) source: &'static str,
    /// SQL for the value of a row, whose columns have the prefix `ROW.`.
    pub(super) value: &'static str,
    /// The columns on which the value depends. The value of a row without any never changes.
    pub(super) depends_on: &'static [&'static str],
}

impl Counter {
    /// A number of rows, all of which count.
    const fn rows(column: &'static str, source: &'static str) -> Self {
        Self { column, source, value: "1", depends_on: &[] }
    }

    /// SQL for the value of the row that this prefix names.
    pub(super) fn value_of(&self, prefix: &str) -> String {
        self.value.replace("ROW.", prefix)
    }
}

/// The tables whose counts are sums over the rows of others, without a look at a third table.
pub(super) struct CounterTable {
    /// The table of the counts.
    pub(super) table: &'static str,
    /// The columns of its primary key. The counted rows have columns of the same names.
    pub(super) key: &'static [&'static str],
    pub(super) counters: &'static [Counter],
}

/// The counts of accounts.
pub(super) const ACCOUNT_COUNTS: CounterTable = CounterTable {
    table: "account_count",
    key: &["user_id"],
    counters: &[
        Counter {
            column: "bookmarks",
            source: "bookmark",
            value: "CASE WHEN ROW.deleted_at IS NULL THEN 1 ELSE 0 END",
            depends_on: &["deleted_at"],
        },
        Counter {
            column: "documents",
            source: "document",
            value: "CASE WHEN ROW.hidden_at IS NULL THEN 1 ELSE 0 END",
            depends_on: &["hidden_at"],
        },
        Counter::rows("highlights", "highlight"),
        Counter::rows("collections", "collection"),
        Counter::rows("feeds", "feed"),
        Counter::rows("projects", "project"),
        Counter {
            column: "uploads",
            source: "upload",
            value: "CASE WHEN ROW.completed_at IS NULL THEN 0 ELSE 1 END",
            depends_on: &["completed_at"],
        },
        // The bytes of an upload whose bytes have not arrived depend on the time.
        Counter {
            column: "upload_bytes",
            source: "upload",
            value: "CASE WHEN ROW.completed_at IS NULL AND ROW.arrived_at IS NULL THEN 0 ELSE ROW.bytes END",
            depends_on: &["completed_at", "arrived_at", "bytes"],
        },
    ],
};

/// The counts of followed feeds.
pub(super) const FEED_COUNTS: CounterTable = CounterTable {
    table: "feed_count",
    key: &["user_id", "feed_id"],
    counters: &[
        Counter::rows("entries", "entry"),
        Counter {
            column: "unread",
            source: "entry",
            value: "CASE WHEN ROW.read THEN 0 ELSE 1 END",
            depends_on: &["read"],
        },
    ],
};

impl CounterTable {
    /// The counted tables, each once.
    pub(super) fn sources(&self) -> Vec<&'static str> {
        let mut sources: Vec<&'static str> = self.counters.iter().map(|counter| counter.source).collect();
        sources.dedup();
        sources
    }

    /// The counters over a table.
    pub(super) fn counters_of(&self, source: &str) -> Vec<&Counter> {
        self.counters.iter().filter(|counter| counter.source == source).collect()
    }
}
