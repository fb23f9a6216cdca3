//! The rows of an import, and what became of each: of a dry run, what would.

use entity::id::{ImportId, ImportRowId};
use entity::import;
use entity::import_row::Model;
use entity::kind::{ImportedKind, RowOutcome};
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::ConnectionTrait;
use serde::Serialize;
use uuid::Uuid;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::imports::{self, Wanted};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use crate::pipeline::Operation;

/// Rows of a page where no `limit` is given.
const DEFAULT_LIMIT: u64 = 100;

/// A page of an import's rows.
#[derive(Debug)]
pub struct ListImportRows {
    import: ImportId,
    outcome: Option<RowOutcome>,
    page: PageOf,
}

impl ListImportRows {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        Field::optional(
            "outcome",
            Kind::Choice(&["created", "updated", "skipped"]),
            "Only rows of which this became.",
        ),
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 1000 },
            "Maximum number of results. Default 100.",
        ),
    ];

    /// Reads path and parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let outcome = values.name("outcome").and_then(|name| name.parse().ok());
        Ok(Self { import: target.id(0)?, outcome, page: PageOf::read(&mut values, DEFAULT_LIMIT) })
    }
}

/// A row of the file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportRowView {
    /// Where it begins in the file.
    pub line: i64,
    /// What became of it.
    pub outcome: RowOutcome,
    /// What it is; none of a row that was passed over.
    pub kind: Option<ImportedKind>,
    /// What it became, or what was there already; none of a dry run, and of what an undo deleted.
    pub id: Option<Uuid>,
    /// Its title, or its URL where it has none; none of a row that was passed over, and of what is gone.
    pub name: Option<String>,
    /// Why it was passed over.
    pub reason: Option<String>,
}

impl ImportRowView {
    /// Shows rows of an import in their order.
    ///
    /// # Errors
    /// The database fails.
    pub async fn of_rows(
        db: &impl ConnectionTrait,
        import: &import::Model,
        rows: Vec<Model>,
    ) -> Result<Vec<Self>, Error> {
        let mut names = imports::row_names(db, import, &rows).await?;
        let view = |row: Model| Self {
            line: row.line,
            outcome: row.outcome,
            kind: row.kind,
            id: row.made_id,
            name: names.remove(&row.id),
            reason: row.detail.filter(|_| row.outcome == RowOutcome::Skipped),
        };
        Ok(rows.into_iter().map(view).collect())
    }
}

/// Rows in the order of the file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListImportRowsResponse {
    rows: Vec<ImportRowView>,
    next_cursor: Option<String>,
}

impl Operation for ListImportRows {
    type Reply = ListImportRowsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;
    const TAKES_TURN: bool = true;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListImportRowsResponse, Error> {
        let import = imports::find(ctx, caller.user, self.import).await?;
        let list = format!("import rows {} {:?}", import.id.0, self.outcome);
        let after: Option<(i64, ImportRowId)> = self.page.position(ctx, caller.user, &list)?;
        let wanted = Wanted { outcome: self.outcome, after, most: self.page.limit + 1 };
        let mut rows = imports::rows(ctx, &import, wanted).await?;
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, |row| (row.line, row.id));
        Ok(ListImportRowsResponse {
            rows: ImportRowView::of_rows(ctx.core.db.read(), &import, rows).await?,
            next_cursor,
        })
    }
}
