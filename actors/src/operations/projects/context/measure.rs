//! Measures what an assistant gets of a project: the context as MCP returns it, by its parts, and what is cut.

use std::collections::HashMap;

use database::padded;
use entity::{highlight, project};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use validation::{Integer, Words, request};
use values::id::{HighlightId, ProjectId, UserId};
use values::kind::AnchorState;
use values::scope::Scope;

use super::super::items::{self, ItemView};
use super::response::{ContextProject, ReadContextResponse};
use super::{fit, gather, passages};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::search::QueryText;
use crate::target::Target;
use errors::Error;
use library::projects;

/// The field `maxChars`, with the bounds of the context itself.
type MeasuredChars = Integer<1000, 32_000>;
const DEFAULT_MEASURED_CHARS: usize = 16_000;

/// Measures the context of a project as an assistant gets it by MCP: with the pinned notes alone.
#[derive(Debug)]
pub struct MeasureContext {
    /// The project, which may be archived.
    pub project: ProjectId,
    /// Words by which passages are found; without them there are none.
    pub query: Option<String>,
    /// Maximum length of the context in characters.
    pub max_chars: usize,
}

request! {
    /// What the assistant asks for.
    pub struct MeasureContextRequest {
        /// Also measures the passages that match these words.
        pub query? as "q": QueryText,
        /// Maximum length of the context, in characters. Default 16000.
        pub max_chars?: MeasuredChars,
    }
}

impl FromRequest for MeasureContext {
    type Request = MeasureContextRequest;

    fn from_request(target: &Target, request: MeasureContextRequest) -> Result<Self, Error> {
        Ok(Self {
            project: target.id(0)?,
            query: request.query.map(Words::into_inner),
            max_chars: request.max_chars.and_then(Integer::convert).unwrap_or(DEFAULT_MEASURED_CHARS),
        })
    }
}

/// A part of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPart {
    /// Characters of its JSON.
    pub chars: usize,
    /// Number of entries that are given.
    pub given: usize,
    /// Number of all entries.
    pub total: usize,
}

/// The marked words of a source that is a highlight, and where they are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HighlightExcerpt {
    /// The first 300 characters of the words.
    pub words: String,
    /// Offset of the first character in the document's text, in Unicode scalar values.
    pub start_offset: i32,
    /// Offset after the last character, in Unicode scalar values.
    pub end_offset: i32,
    /// Whether the current text has the words at these offsets.
    pub anchor_state: AnchorState,
}

/// A source of the project, in the order of the context.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredSource {
    /// The item.
    #[serde(flatten)]
    pub item: ItemView,
    /// The highlight; null for other kinds.
    pub highlight: Option<HighlightExcerpt>,
    /// Whether the context has it; false if it is cut.
    pub is_given: bool,
}

/// The sizes of a context by its parts. Their sum is the length of the whole.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeasureContextResponse {
    /// The maximum length that was asked for.
    pub max_chars: usize,
    /// The length of the context in characters. It exceeds `maxChars` only if the instructions alone do.
    pub chars: usize,
    /// Whether something is cut.
    pub truncated: bool,
    /// Characters of the name and the instructions, which are never cut, and of the frame of the JSON.
    pub instructions_chars: usize,
    /// Decisions in force.
    pub decisions: ContextPart,
    /// Pinned notes.
    pub notes: ContextPart,
    /// Passages that match `q`; without it there are none.
    pub passages: ContextPart,
    /// Sources.
    pub sources: ContextPart,
    /// The sources, pinned ones first, then the newest, at most 300.
    pub source_list: Vec<MeasuredSource>,
}

impl Operation for MeasureContext {
    type Reply = MeasureContextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    fn count(reply: &MeasureContextResponse) -> Option<usize> {
        Some(reply.source_list.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<MeasureContextResponse, Error> {
        let max_chars = self.max_chars;
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let passages = match &self.query {
            Some(query) => Some(passages::find(ctx, &project, query).await?),
            None => None,
        };
        let rows = gather::source_items(&ctx.core, &project).await?;
        let items = items::views(&ctx.core, ctx.core.db.read(), caller.user, rows.clone()).await?;
        let items = with_highlights(ctx, caller.user, items).await?;
        let decisions = gather::decisions(&ctx.core, &project, max_chars).await?;
        let notes = gather::notes(&ctx.core, &project, true, max_chars).await?;
        let sources = gather::sources(&ctx.core, &project, rows).await?;
        let totals = ContextTotals {
            decisions: decisions.total,
            notes: notes.total,
            passages: passages.as_ref().map_or(0, Vec::len),
            sources: count_sources(ctx, &project, sources.len()).await?,
        };
        let mut context = ReadContextResponse {
            project: ContextProject {
                id: project.id,
                name: project.name,
                instructions: project.instructions,
            },
            decisions: decisions.rows,
            notes: notes.rows,
            sources,
            passages,
            truncated: false,
        };
        fit::fit(&mut context, max_chars)?;
        measure(&context, max_chars, totals, items)
    }
}

/// The numbers of all entries of the lists of a context.
struct ContextTotals {
    decisions: usize,
    notes: usize,
    passages: usize,
    sources: usize,
}

/// Returns the number of all sources of a project, of which these were read.
async fn count_sources(
    ctx: &OperationContext,
    project: &project::Model,
    read: usize,
) -> Result<usize, Error> {
    use entity::project_count::{Column, Entity};
    if read < gather::MAX_SOURCES {
        return Ok(read);
    }
    let count = Entity::owned_by(project.user_id).filter(Column::ProjectId.eq(project.id));
    let count = count.one(ctx.core.db.read()).await?;
    Ok(count.and_then(|count| usize::try_from(count.sources).ok()).unwrap_or(read).max(read))
}

/// Returns items with the highlights that they name.
async fn with_highlights(
    ctx: &OperationContext,
    user: UserId,
    items: Vec<ItemView>,
) -> Result<Vec<(ItemView, Option<HighlightExcerpt>)>, Error> {
    use highlight::{Column, Entity};
    let ids: Vec<HighlightId> = items.iter().filter_map(|item| item.highlight_id).collect();
    let mut found: HashMap<HighlightId, HighlightExcerpt> = HashMap::new();
    if !ids.is_empty() {
        let rows: Vec<(HighlightId, String, i32, i32, AnchorState)> = Entity::owned_by(user)
            .filter(Column::Id.is_in(padded(&ids)))
            .select_only()
            .column(Column::Id)
            // The words of a highlight may be long, and a list shows only their beginning.
            .column_as(Expr::cust("substr(highlight.text, 1, 300)"), "words")
            .columns([Column::StartOffset, Column::EndOffset, Column::AnchorState])
            .into_tuple()
            .all(ctx.core.db.read())
            .await?;
        found.extend(rows.into_iter().map(|(id, words, start_offset, end_offset, anchor_state)| {
            (id, HighlightExcerpt { words, start_offset, end_offset, anchor_state })
        }));
    }
    let with_highlight = |item: ItemView| {
        let highlight = item.highlight_id.and_then(|id| found.remove(&id));
        (item, highlight)
    };
    Ok(items.into_iter().map(with_highlight).collect())
}

/// Returns the sizes of a context that fits.
fn measure(
    context: &ReadContextResponse,
    max_chars: usize,
    totals: ContextTotals,
    items: Vec<(ItemView, Option<HighlightExcerpt>)>,
) -> Result<MeasureContextResponse, Error> {
    let chars = fit::chars(context)?;
    let part = |size: usize, given: usize, total: usize| ContextPart { chars: size, given, total };
    let decisions = part(fit::chars(&context.decisions)?, context.decisions.len(), totals.decisions);
    let notes = part(fit::chars(&context.notes)?, context.notes.len(), totals.notes);
    let sources = part(fit::chars(&context.sources)?, context.sources.len(), totals.sources);
    let passages = match &context.passages {
        Some(passages) => part(fit::chars(passages)?, passages.len(), totals.passages),
        None => part(0, 0, 0),
    };
    let lists = decisions.chars + notes.chars + sources.chars + passages.chars;
    let source_list = items.into_iter().enumerate().map(|(n, (item, highlight))| MeasuredSource {
        item,
        highlight,
        is_given: n < sources.given,
    });
    Ok(MeasureContextResponse {
        max_chars,
        chars,
        truncated: context.truncated,
        instructions_chars: chars.saturating_sub(lists),
        decisions,
        notes,
        passages,
        sources,
        source_list: source_list.collect(),
    })
}
