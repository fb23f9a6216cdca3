//! Saves an answer as a note of a project.

use errors::Error;
use library::notes::NewNote;
use text::{cut, one_line};
use validation::{Flag, Id, request};
use values::id::{AskQuestionId, AskThreadId, ProjectId};
use values::scope::Scope;

use super::markdown::answer_markdown;
use super::view::load_thread;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::ask::AskContext;
use crate::operations::notes::{self, NoteResponse, NoteTitle};
use crate::target::Target;

/// Maximum length of the title of a note, which is the question, in characters.
const MAX_TITLE_CHARS: usize = 300;
/// What is said of a quote that was not found in its source.
const NOT_VERIFIED: &str = "not verified";

/// Saves an answer as a note of a project, with links to the positions of its quotes.
#[derive(Debug)]
pub struct SaveAnswer {
    thread: AskThreadId,
    question: AskQuestionId,
    project: ProjectId,
    title: Option<String>,
    pinned: bool,
}

request! {
    /// The project of the note, and how the note is kept.
    pub struct SaveAnswerRequest {
        /// The project that gets the note.
        pub project_id: Id<ProjectId>,
        /// Title of the note. Default: the question.
        pub title?: NoteTitle,
        /// Whether the note is listed first and given to assistants. Default `false`.
        pub pinned?: Flag,
    }
}

impl FromRequest for SaveAnswer {
    type Request = SaveAnswerRequest;

    fn from_request(target: &Target, request: SaveAnswerRequest) -> Result<Self, Error> {
        Ok(Self {
            thread: target.id(0)?,
            question: target.id(1)?,
            project: request.project_id.into_inner(),
            title: request.title.map(NoteTitle::into_inner),
            pinned: request.pinned.is_some_and(Flag::into_inner),
        })
    }
}

impl Operation for SaveAnswer {
    type Reply = NoteResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary, Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<NoteResponse, Error> {
        let thread = load_thread(&AskContext::from(ctx), caller.user, self.thread).await?;
        let question = thread.questions.into_iter().find(|question| question.question_id == self.question);
        let question = question.ok_or(Error::not_found())?;
        let answer = question.answer.ok_or(Error::not_found())?;
        let title = self.title.unwrap_or_else(|| cut(&one_line(&question.question), MAX_TITLE_CHARS));
        let body = answer_markdown(&answer, &ctx.core.base_url, NOT_VERIFIED);
        let new = NewNote { title, body, pinned: self.pinned };
        let row = notes::add_to_project(caller, ctx, self.project, new).await?;
        Ok(NoteResponse { note: row.into() })
    }
}
