//! What a plan reads from end to end.

/// A step that reads all entries of a partial index, or all that an owner has in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRead {
    /// The index.
    pub index: String,
    /// The table of the index.
    pub table: String,
    /// The step, as [`QueryPlan::steps`](super::QueryPlan::steps) has it, without its indentation.
    pub step: String,
}

/// What the steps of a plan read from end to end.
#[derive(Clone, Debug, Default)]
pub(super) struct RowsRead {
    /// The steps that read every row of a table.
    pub full_scans: Vec<String>,
    /// The tables of which a step reads every row of an owner.
    pub owner_scans: Vec<String>,
    /// The steps that read every entry of a partial index.
    pub partial_scans: Vec<PartialRead>,
    /// The steps that read every entry of an owner in a partial index.
    pub partial_owner_scans: Vec<PartialRead>,
}
