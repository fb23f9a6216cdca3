//! Shows the text around a citation, for reading the quote beside the answer.

use std::slice;

use concurrency::Lane;
use entity::chunk;
use entity::document;
use errors::Error;
use library::documents::current_text;
use library::highlights::find_text;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use text::{char_count, head, slice_chars};
use validation::NoFields;
use values::id::{AskQuestionId, AskThreadId, UserId};
use values::scope::Scope;

use super::stored_answer::{StoredAnswer, StoredCitation};
use super::view::{CitationView, SourceState, current_versions};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::text_positions::load_passages;
use crate::target::Target;
use library::context::CoreContext;

/// Characters that are shown of the text on each side of a quote that is found in another version of the text.
const AROUND_CHARS: usize = 500;
/// Characters that are shown of the passage after the cited one.
const BEYOND_CHARS: usize = 400;

/// Shows the text around a citation of an answer.
#[derive(Debug)]
pub struct ShowCitation {
    /// The thread.
    pub thread: AskThreadId,
    /// The question whose answer has the citation.
    pub question: AskQuestionId,
    /// The number of the citation, from 1.
    pub number: usize,
}

impl FromRequest for ShowCitation {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { thread: target.id(0)?, question: target.id(1)?, number: target.id(2)? })
    }
}

/// A citation with the text around its quote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShowCitationResponse {
    /// The citation.
    pub citation: CitationView,
    /// The text around it; null if the document is gone, has no text, or does not contain the quote any more.
    pub excerpt: Option<CitationExcerpt>,
}

/// A quote with the text around it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CitationExcerpt {
    /// The text before the quote.
    pub before: String,
    /// The quote, as the text has it.
    pub quote: String,
    /// The text after the quote.
    pub after: String,
    /// The beginning of the text after that; empty at the end of the document.
    pub beyond: String,
}

impl Operation for ShowCitation {
    type Reply = ShowCitationResponse;
    const SCOPES: &'static [Scope] = &[Scope::AskLibrary];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShowCitationResponse, Error> {
        let answer = load_answer(&ctx.core, caller.user, self.thread, self.question).await?;
        let cited = answer.citations.into_iter().find(|stored| stored.citation.n == self.number);
        let stored = cited.ok_or(Error::not_found())?;
        let versions = current_versions(&ctx.core, caller.user, slice::from_ref(&stored).iter()).await?;
        let mut view = CitationView::of(stored.clone(), &versions);
        let excerpt = match view.source {
            SourceState::Current => excerpt_of_passage(&ctx.core, caller.user, &stored).await?,
            SourceState::Changed => find_again(&ctx.core, caller.user, &mut view).await?,
            SourceState::Gone => None,
        };
        Ok(ShowCitationResponse { citation: view, excerpt })
    }
}

/// Returns the answer of a question of a thread.
///
/// # Errors
/// [`Error::NotFound`] when there is none, or it belongs to another user.
async fn load_answer(
    core: &CoreContext,
    user: UserId,
    thread: AskThreadId,
    question: AskQuestionId,
) -> Result<StoredAnswer, Error> {
    use entity::ask_question::{Column, Entity};
    let found = Entity::one_of(user, question).filter(Column::ThreadId.eq(thread)).one(core.db.read());
    let row = found.await?.ok_or(Error::not_found())?;
    StoredAnswer::read(row.answer.as_deref().ok_or(Error::not_found())?)
}

/// Returns the cited passage, divided by the quote, and the beginning of the next one.
async fn excerpt_of_passage(
    core: &CoreContext,
    user: UserId,
    stored: &StoredCitation,
) -> Result<Option<CitationExcerpt>, Error> {
    let id = stored.citation.chunk_id;
    let Some(passage) = load_passages(core, user, [id]).await?.remove(&id) else { return Ok(None) };
    let next = chunk::Entity::owned_by(user)
        .filter(chunk::Column::DocumentId.eq(passage.document_id))
        .filter(chunk::Column::Version.eq(passage.version))
        .filter(chunk::Column::Ordinal.eq(passage.ordinal.saturating_add(1)))
        .one(core.db.read())
        .await?;
    let from = usize::try_from(passage.start_offset).unwrap_or(0);
    let (start, end) =
        (stored.citation.quote_start.checked_sub(from), stored.citation.quote_end.checked_sub(from));
    let Some((start, end)) = start.zip(end) else { return Ok(None) };
    let beyond = next.map(|next| head(&next.text, BEYOND_CHARS).to_owned()).unwrap_or_default();
    Ok(divide(&passage.text, start, end).map(|excerpt| CitationExcerpt { beyond, ..excerpt }))
}

/// Divides a text by the range of a quote in scalar values; `None` if it is not in the text.
fn divide(text: &str, start: usize, end: usize) -> Option<CitationExcerpt> {
    Some(CitationExcerpt {
        before: slice_chars(text, 0, start)?.to_owned(),
        quote: slice_chars(text, start, end)?.to_owned(),
        after: slice_chars(text, end, char_count(text))?.to_owned(),
        beyond: String::new(),
    })
}

/// Looks for the quote in the text that replaced the cited one. Moves the position of the citation to it.
async fn find_again(
    core: &CoreContext,
    user: UserId,
    view: &mut CitationView,
) -> Result<Option<CitationExcerpt>, Error> {
    let found = document::Entity::one_visible_to(user, view.citation.document_id).one(core.db.read()).await?;
    let Some(document) = found else { return Ok(None) };
    let text = current_text(core.db.read(), &document).await?;
    let (quote, near) = (view.citation.quote.clone(), view.citation.quote_start);
    let near = i32::try_from(near).unwrap_or(i32::MAX);
    // On a worker thread, because the text may be a book.
    let search = move || {
        let range = find_text(&text, &quote, near)?;
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        let (first, last) = (start.saturating_sub(AROUND_CHARS), (end + AROUND_CHARS).min(char_count(&text)));
        let around = slice_chars(&text, first, last)?;
        Some((start, end, divide(around, start - first, end - first)?))
    };
    let Some((start, end, excerpt)) = core.workers.run(Lane::Foreground, search).await? else {
        return Ok(None);
    };
    let position = &mut view.position;
    // The page and the paragraph are those of the former text.
    (position.start, position.end, position.page, position.paragraph) = (start, end, None, None);
    Ok(Some(excerpt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_divided_in_characters() {
        let excerpt = divide("Ein Äsche 🐟 schwimmt.", 4, 11).unwrap();

        assert_eq!((excerpt.before.as_str(), excerpt.quote.as_str()), ("Ein ", "Äsche 🐟"));
        assert_eq!(excerpt.after, " schwimmt.");
        assert_eq!(divide("short", 2, 9), None);
    }
}
