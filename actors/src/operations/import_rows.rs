//! Lists the rows of an import with the outcome of each; of a dry run, the outcome that it would have.

use entity::import;
use entity::import_row::Model;
use schemars::JsonSchema;
use sea_orm::ConnectionTrait;
use serde::Serialize;
use uuid::Uuid;
use values::id::{ImportId, ImportRowId};
use values::kind::{ImportedKind, RowOutcome};
use values::scope::Scope;

use super::page::{CursorText, ListName, ListPage, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::imports::{self, RowQuery};
use validation::{Choice, Integer, choices, request};

const DEFAULT_LIMIT: u64 = 100;

/// Lists the rows of an import.
#[derive(Debug)]
pub struct ListImportRows {
    import: ImportId,
    outcome: Option<RowOutcome>,
    page: PageRequest,
}

// `RowOutcome` also has `Incidental`, which no listed row has.
choices! {
    /// The outcomes by which rows are listed.
    pub enum ListedRowOutcome {
        /// The row created an item.
        Created = "created",
        /// The row updated an existing item.
        Updated = "updated",
        /// The row was not imported; its `reason` says why.
        Skipped = "skipped",
    }
}

impl From<ListedRowOutcome> for RowOutcome {
    fn from(outcome: ListedRowOutcome) -> Self {
        match outcome {
            ListedRowOutcome::Created => RowOutcome::Created,
            ListedRowOutcome::Updated => RowOutcome::Updated,
            ListedRowOutcome::Skipped => RowOutcome::Skipped,
        }
    }
}

request! {
    /// A page of the rows of an import.
    pub struct ListImportRowsRequest {
        /// Returns only rows with this outcome. Default: all rows.
        pub outcome?: Choice<ListedRowOutcome>,
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of results. Default 100.
        pub limit?: Integer<1, 1000>,
    }
}

impl FromRequest for ListImportRows {
    type Request = ListImportRowsRequest;

    fn from_request(target: &Target, request: ListImportRowsRequest) -> Result<Self, Error> {
        let outcome = request.outcome.map(|outcome| outcome.into_inner().into());
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { import: target.id(0)?, outcome, page })
    }
}

/// A row of an import.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportRowView {
    /// Number of the line in the file where the row begins.
    pub line: i64,
    /// Outcome of the row; in a dry run the outcome that it would have.
    pub outcome: RowOutcome,
    /// Kind of the imported item; null for a skipped row.
    pub kind: Option<ImportedKind>,
    /// Id of the created or existing item; null in a dry run, and after an undo deleted the item.
    pub id: Option<Uuid>,
    /// Title of the item, or its URL if it has none; of a skipped row as the file has them. Null if neither is known, and for a
    /// deleted item.
    pub name: Option<String>,
    /// Why the row was skipped; null for other rows.
    pub reason: Option<String>,
}

impl ImportRowView {
    /// Returns the views of rows of an import, in their order.
    pub async fn from_rows(
        db: &impl ConnectionTrait,
        import: &import::Model,
        rows: Vec<Model>,
    ) -> Result<Vec<Self>, Error> {
        let mut names = imports::load_row_names(db, import, &rows).await?;
        let view = |row: Model| Self {
            line: row.line,
            outcome: row.outcome,
            kind: row.kind,
            id: row.object_id,
            name: names.remove(&row.id),
            reason: row.detail.filter(|_| row.outcome == RowOutcome::Skipped),
        };
        Ok(rows.into_iter().map(view).collect())
    }
}

/// A page of rows, in the order of the file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListImportRowsResponse {
    /// The rows.
    pub rows: Vec<ImportRowView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListImportRows {
    type Reply = ListImportRowsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    // The defaults follow from the scope, which writes; this operation reads a long list.
    const NEEDS_SPACE: bool = false;
    const NEEDS_RESPONSE_SLOT: bool = true;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListImportRowsResponse, Error> {
        let import = imports::find(&ctx.core, caller.user, self.import).await?;
        let name = ListName::new("import rows").with("import", Some(import.id)).with("outcome", self.outcome);
        let list = self.page.of_list(ctx, caller, name);
        let after: Option<(i64, ImportRowId)> = list.position()?;
        let query = RowQuery { outcome: self.outcome, after, limit: list.fetch_limit() };
        let rows = imports::list_rows(&ctx.core, &import, query).await?;
        let ListPage { rows, next_cursor } = list.page(rows, |row| (row.line, row.id));
        Ok(ListImportRowsResponse {
            rows: ImportRowView::from_rows(ctx.core.db.read(), &import, rows).await?,
            next_cursor,
        })
    }
}
