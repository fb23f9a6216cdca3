//! Returns what an assistant has to know about a project before it works on it (spec.md: Project context).

mod fit;
mod gather;
mod measure;
mod passages;
mod response;

use values::id::ProjectId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::search::QueryText;
use crate::target::Target;
use errors::Error;
use library::projects;
use validation::{Integer, Words, request};

pub use measure::{ContextPart, HighlightExcerpt, MeasureContext, MeasureContextResponse, MeasuredSource};
pub use response::{ContextDecision, ContextNote, ContextProject, ContextSource, ReadContextResponse};

/// Maximum length of the response data, as compact JSON, in characters.
pub type ContextChars = Integer<1000, 32_000>;
const DEFAULT_MAX_CHARS: usize = 16_000;

/// A request for the context of a project.
#[derive(Debug)]
pub struct ReadContext {
    /// The project, which may be archived.
    pub project: ProjectId,
    /// Words by which passages are found; without them the response has no passages.
    pub query: Option<String>,
    /// Maximum length of the response's JSON, in characters; `None` means 16,000.
    pub max_chars: Option<usize>,
    /// Whether notes that are not pinned are left out, as for assistants (contract.md, section 11: Projects).
    pub pinned_notes: bool,
}

request! {
    /// The parameters of the context of a project.
    pub struct ReadContextRequest {
        /// Also returns the passages of the project's sources and notes that match best.
        pub query? as "q": QueryText,
        /// Maximum length of the response data, as compact JSON, in characters. Default 16000.
        pub max_chars?: ContextChars,
    }
}

impl FromRequest for ReadContext {
    type Request = ReadContextRequest;

    fn from_request(target: &Target, request: ReadContextRequest) -> Result<Self, Error> {
        Ok(Self {
            project: target.id(0)?,
            query: request.query.map(Words::into_inner),
            max_chars: request.max_chars.and_then(Integer::convert),
            pinned_notes: false,
        })
    }
}

impl Operation for ReadContext {
    type Reply = ReadContextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    fn count(reply: &ReadContextResponse) -> Option<usize> {
        let passages = reply.passages.as_ref().map_or(0, Vec::len);
        Some(reply.decisions.len() + reply.notes.len() + reply.sources.len() + passages)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadContextResponse, Error> {
        let max_chars = self.max_chars.unwrap_or(DEFAULT_MAX_CHARS);
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let passages = match &self.query {
            Some(query) => Some(passages::find(ctx, &project, query).await?),
            None => None,
        };
        let rows = gather::source_items(&ctx.core, &project).await?;
        let mut context = ReadContextResponse {
            decisions: gather::decisions(&ctx.core, &project, max_chars).await?.rows,
            notes: gather::notes(&ctx.core, &project, self.pinned_notes, max_chars).await?.rows,
            sources: gather::sources(&ctx.core, &project, rows).await?,
            project: ContextProject {
                id: project.id,
                name: project.name,
                instructions: project.instructions,
            },
            passages,
            truncated: false,
        };
        fit::fit(&mut context, max_chars)?;
        Ok(context)
    }
}
