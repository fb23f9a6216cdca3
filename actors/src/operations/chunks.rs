//! Lists the passages of a document (spec.md: GET /documents/:id/chunks).

use entity::{chunk, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};
use values::id::{ChunkId, DocumentId};
use values::scope::Scope;

use super::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::request;

const DEFAULT_LIMIT: u64 = 50;

/// Lists the passages of the current text of a document, in the order of the text.
#[derive(Debug)]
pub struct ListChunks {
    document: DocumentId,
    page: PageRequest,
}

request! {
    /// A page of the passages of a document.
    pub struct ListChunksRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of passages. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListChunks {
    type Request = ListChunksRequest;

    fn from_request(target: &Target, request: ListChunksRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { document: target.id(0)?, page })
    }
}

/// A page of passages, in the order of the text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListChunksResponse {
    document_id: DocumentId,
    chunks: Vec<ChunkView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChunkView {
    chunk_id: ChunkId,
    /// Number of the passage in the document, from 0.
    index: i32,
    text: String,
    /// Offset of the first character in the document's text, in Unicode scalar values.
    start_offset: i32,
    /// Offset after the last character, in Unicode scalar values.
    end_offset: i32,
    /// Page of a PDF, from 1; null for other documents.
    page: Option<i32>,
    /// Start of the passage in a recording, in seconds; null for other documents.
    start_seconds: Option<f64>,
    /// End of the passage in a recording, in seconds; null for other documents.
    end_seconds: Option<f64>,
}

/// The position of a passage within a version of the text.
#[derive(Serialize, Deserialize)]
struct ChunkPosition {
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
        let list = self.page.of_list(ctx, caller, ListName::selected_by("chunks", self.document));
        let position: Option<ChunkPosition> = list.position()?;
        let found =
            document::Entity::one_visible_to(caller.user, self.document).one(ctx.core.db.read()).await?;
        let document = found.ok_or(Error::not_found())?;
        // Ordinals of another version are those of other passages, so if the text was replaced since, the list starts again.
        let after = position.filter(|last| last.version == document.version).map_or(-1, |last| last.after);
        let query = chunk::Entity::owned_by(caller.user)
            .filter(chunk::Column::DocumentId.eq(document.id))
            .filter(chunk::Column::Version.eq(document.version))
            .filter(chunk::Column::Ordinal.gt(after))
            .order_by_asc(chunk::Column::Ordinal);
        let position = |row: &chunk::Model| ChunkPosition { version: document.version, after: row.ordinal };
        let ListPage { rows, next_cursor } = list.fetch(query, position).await?;
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
