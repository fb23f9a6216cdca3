//! Columns of counted rows that triggers keep, and by which the rows count.

/// A column that is compared with the rows of other tables from which it follows.
pub struct KeptColumn {
    /// SQL that selects the `user_id` of each row whose value is wrong. It reads the table completely.
    pub differing_owners: String,
    /// SQL that corrects the values of the user `$1`, whose rows an index finds.
    pub correction: String,
}
