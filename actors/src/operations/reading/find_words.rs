//! Finds words in the text of a document, so that a page can lead to them without a script.

use concurrency::Lane;
use entity::document;
use library::documents::current_text;
use library::highlights::find_text;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;

/// Finds the first occurrence of words in the text of a document: exactly, or else by their letters and digits.
#[derive(Debug)]
pub struct FindWords {
    /// The document.
    pub document: DocumentId,
    /// The words.
    pub words: String,
}

/// Where the words are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindWordsResponse {
    /// The characters of the first occurrence, in Unicode scalar values: its start and its end. Null if the text does not contain the words.
    pub range: Option<(i32, i32)>,
}

impl Operation for FindWords {
    type Reply = FindWordsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindWordsResponse, Error> {
        let db = ctx.core.db.read();
        let found = document::Entity::one_visible_to(caller.user, self.document).one(db).await?;
        let document = found.ok_or(Error::not_found())?;
        let text = current_text(db, &document).await?;
        let words = self.words;
        // On a worker thread, because the text may be a book.
        let search = move || find_text(&text, words.trim(), 0);
        let found = ctx.core.workers.run(Lane::Foreground, search).await?;
        Ok(FindWordsResponse { range: found.map(|found| (found.start, found.end)) })
    }
}
