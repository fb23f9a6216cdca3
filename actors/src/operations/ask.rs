//! Answers questions from the library (spec.md: POST /ask): finds the best passages, lets a model answer, and verifies the
//! citations.
//!
//! There are three outcomes: the library has nothing about the question; it has something, but no sentence answers the question; or there
//! is an answer. The answer that the library has nothing is given only while the index is complete: otherwise the question is refused for a
//! while.

mod answer;
mod context_packing;
mod found_passages;
mod neighbours;
mod quoted_answer;
mod textless_documents;

use entity::{bookmark, document};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use search::index::{DocumentSet, Filter};
use values::id::{BookmarkId, DocumentId};
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::context::CoreContext;
use library::owned_transaction::begin_request;
use validation::{Id, List, Words, request};

pub use answer::{AskContext, AskResponse, Citation, LibraryQuestion, SEARCHED_PASSAGES, UnsettledAnswer};
pub use quoted_answer::NO_DIRECT_ANSWER;
pub use textless_documents::textless_reason;
pub use values::kind::AnswerOutcome;

/// The field `question`: 1 to 2,000 characters.
pub type QuestionText = Words<1, 2_000>;
/// The bookmarks to which an answer is limited (spec.md: Limits, rule 6). An empty list is invalid.
pub type AnswerSources = List<Id<BookmarkId>, 1, 50>;

/// Answers a question with the model of the server. An answer counts towards the plan's answers of the month and its AI budget.
#[derive(Debug)]
pub struct Ask {
    /// The user's question, which is also the query of the search for passages.
    pub question: String,
    /// Answers only from the texts and notes of these bookmarks; `None` answers from the whole library.
    pub bookmarks: Option<Vec<BookmarkId>>,
}

request! {
    /// A question to answer from the library.
    pub struct AskRequest {
        /// The question to answer from the library.
        pub question: QuestionText,
        /// Answers only from these bookmarks and the notes on them. Default: the whole library.
        pub bookmark_ids?: AnswerSources,
    }
}

impl FromRequest for Ask {
    type Request = AskRequest;

    fn from_request(_: &Target, request: AskRequest) -> Result<Self, Error> {
        Ok(Self {
            question: request.question.into_inner(),
            bookmarks: request.bookmark_ids.map(|ids| ids.map(Id::into_inner)),
        })
    }
}

impl Operation for Ask {
    type Reply = AskResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const ERRORS: &'static [&'static str] =
        &[code::PLAN_LIMIT_REACHED, code::AI_QUOTA_EXCEEDED, code::AI_PAUSED, code::AI_UNAVAILABLE];
    /// The scope writes nothing, but every answer is counted in rows.
    const NEEDS_SPACE: bool = true;
    // It waits for a search slot and for the model instead.
    const NEEDS_RESPONSE_SLOT: bool = false;

    fn count(reply: &AskResponse) -> Option<usize> {
        Some(reply.citations.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AskResponse, Error> {
        // Before the pause and the counts: 404 comes before 402 (contract.md, section 2: order of checks).
        let within = self.filter(caller, &ctx.core).await?;
        let asking = AskContext::from(ctx);
        let question = LibraryQuestion::within(self.question, within);
        let answer = asking.answer(caller.user, caller.plan, &question).await?;
        // Begun only now: an open transaction would block the user's other writes while the model answers. It also marks the
        // Idempotency-Key, so that a repeated request neither asks nor counts again.
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        asking.settle(txn, answer).await
    }
}

impl Ask {
    /// Returns the filter of the search.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the index of a bookmark that does not exist or belongs to another user.
    async fn filter(&self, caller: &Caller, core: &CoreContext) -> Result<Filter, Error> {
        let Some(ids) = &self.bookmarks else { return Ok(Filter::default()) };
        let own = bookmark::Entity::visible_to(caller.user)
            .filter(bookmark::Column::Id.is_in(ids.iter().copied()))
            .select_only()
            .column(bookmark::Column::Id);
        let own: Vec<BookmarkId> = own.into_tuple().all(core.db.read()).await?;
        if let Some(n) = ids.iter().position(|id| !own.contains(id)) {
            return Err(Error::not_found().of_item(&format!("bookmarkIds[{n}]")));
        }
        // Includes the notes on the bookmarks, which are documents too.
        let documents: Vec<DocumentId> = document::Entity::visible_to(caller.user)
            .filter(document::Column::BookmarkId.is_in(ids.iter().copied()))
            .select_only()
            .column(document::Column::Id)
            .into_tuple()
            .all(core.db.read())
            .await?;
        let documents = documents.into_iter().map(|id| id.0).collect();
        Ok(Filter { documents: DocumentSet::Only(documents), ..Filter::default() })
    }
}
