//! Listing the passages of a document (spec.md: GET /documents/:id/chunks).

use entity::id::{ChunkId, DocumentId};
use entity::scope::Scope;
use entity::{chunk, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};

use super::page::{CURSOR, PageOf};
use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A page of passages.
#[derive(Debug)]
pub struct ListChunks {
    document: DocumentId,
    page: PageOf,
}

impl ListChunks {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 100 },
            "Maximum number of passages. Default 50.",
        ),
    ];

    /// Reads the route's parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let page = PageOf::read(&mut values, DEFAULT_LIMIT);
        Ok(Self { document: target.id(0)?, page })
    }
}

/// A page of passages, in the order of the text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListChunksResponse {
    document_id: DocumentId,
    chunks: Vec<ChunkView>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChunkView {
    chunk_id: ChunkId,
    index: i32,
    text: String,
    start_offset: i32,
    end_offset: i32,
    page: Option<i32>,
    start_seconds: Option<f64>,
    end_seconds: Option<f64>,
}

/// A cursor goes on in the version that it began in: a new text begins anew.
#[derive(Serialize, Deserialize)]
struct Position {
    version: i32,
    after: i32,
}

impl Operation for ListChunks {
    type Reply = ListChunksResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ListChunksResponse) -> Option<usize> {
        Some(reply.chunks.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListChunksResponse, Error> {
        let list = format!("chunks:{}", self.document);
        let position: Option<Position> = self.page.position(ctx, caller.user, &list)?;
        let found = document::Entity::one_of(caller.user, self.document).one(ctx.core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        let after = position.filter(|at| at.version == document.version).map_or(-1, |at| at.after);
        let mut rows = chunk::Entity::owned_by(caller.user)
            .filter(chunk::Column::DocumentId.eq(document.id))
            .filter(chunk::Column::Version.eq(document.version))
            .filter(chunk::Column::Ordinal.gt(after))
            .order_by_asc(chunk::Column::Ordinal)
            .limit(self.page.limit + 1)
            .all(ctx.core.db.read())
            .await?;
        let at = |row: &chunk::Model| Position { version: document.version, after: row.ordinal };
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, at);
        let chunks = rows.into_iter().map(ChunkView::from).collect();
        Ok(ListChunksResponse { document_id: document.id, chunks, next_cursor })
    }
}

impl From<chunk::Model> for ChunkView {
    fn from(row: chunk::Model) -> Self {
        Self {
            chunk_id: row.id,
            index: row.ordinal,
            text: row.text,
            start_offset: row.start_offset,
            end_offset: row.end_offset,
            page: row.page,
            start_seconds: row.start_seconds,
            end_seconds: row.end_seconds,
        }
    }
}
