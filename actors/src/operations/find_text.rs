//! Finds words in the text of one document.

use std::ops::Range;

use concurrency::Lane;
use entity::{chunk, document};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::Serialize;
use values::id::{DocumentId, UserId};
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Words, request};

/// Places that are returned at most.
const MAX_HITS: usize = 200;
/// Characters around the words of a place.
const CONTEXT_CHARS: usize = 60;
/// Characters behind a range that are read too, because words that begin in the range may end behind it.
const MAX_OVERHANG_CHARS: usize = 1000;

/// Finds words in the text of a document.
#[derive(Debug)]
pub struct FindText {
    /// The document.
    pub document: DocumentId,
    /// The words, in their order.
    pub words: String,
}

/// Finds words that begin in a range of the text of a document, for one page of a PDF.
#[derive(Debug)]
pub struct FindTextInRange {
    /// The document.
    pub document: DocumentId,
    /// The words, in their order.
    pub words: String,
    /// The range, as offsets in the document's text.
    pub range: Range<usize>,
}

request! {
    /// Words that are looked for in the text of a document.
    pub struct FindTextRequest {
        /// The words, in their order. Case and kind of white space do not count.
        pub q: Words<1, 200>,
    }
}

impl FromRequest for FindText {
    type Request = FindTextRequest;

    fn from_request(target: &Target, request: FindTextRequest) -> Result<Self, Error> {
        Ok(Self { document: target.id(0)?, words: request.q.into_inner() })
    }
}

/// The places of words in a text, in its order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindTextResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which the offsets belong.
    pub version: i32,
    /// The places, at most 200.
    pub hits: Vec<TextHit>,
    /// Whether there are further places.
    pub truncated: bool,
}

/// A place of the words.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextHit {
    /// Offset of the first character in the document's text, in Unicode scalar values.
    pub start: usize,
    /// Offset after the last character.
    pub end: usize,
    /// Page of a PDF, from 1; null for other documents.
    pub page: Option<u32>,
    /// Time in a recording, in seconds; null for other documents.
    pub seconds: Option<f64>,
    /// The text in front of the words.
    pub before: String,
    /// The words as the text has them.
    pub text: String,
    /// The text behind the words.
    pub after: String,
}

impl FindTextResponse {
    /// Returns the response with the first [`MAX_HITS`] of these places.
    fn new(document: &document::Model, mut hits: Vec<TextHit>) -> Self {
        let truncated = hits.len() > MAX_HITS;
        hits.truncate(MAX_HITS);
        Self { document_id: document.id, version: document.version, hits, truncated }
    }
}

impl Operation for FindText {
    type Reply = FindTextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &FindTextResponse) -> Option<usize> {
        Some(reply.hits.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindTextResponse, Error> {
        let document = find_document(caller.user, self.document, ctx).await?;
        let passages = passages_of(&document).order_by_asc(chunk::Column::Ordinal);
        Ok(FindTextResponse::new(&document, find_in(passages, self.words, ctx).await?))
    }
}

impl Operation for FindTextInRange {
    type Reply = FindTextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &FindTextResponse) -> Option<usize> {
        Some(reply.hits.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindTextResponse, Error> {
        let document = find_document(caller.user, self.document, ctx).await?;
        let offset = |offset: usize| i32::try_from(offset).unwrap_or(i32::MAX);
        let end = self.range.end.saturating_add(MAX_OVERHANG_CHARS);
        let passages = passages_of(&document)
            .filter(chunk::Column::EndOffset.gt(offset(self.range.start)))
            .filter(chunk::Column::StartOffset.lt(offset(end)))
            .order_by_asc(chunk::Column::StartOffset);
        let mut response = FindTextResponse::new(&document, find_in(passages, self.words, ctx).await?);
        response.hits.retain(|hit| self.range.contains(&hit.start));
        Ok(response)
    }
}

async fn find_document(
    user: UserId,
    document: DocumentId,
    ctx: &OperationContext,
) -> Result<document::Model, Error> {
    let found = document::Entity::one_visible_to(user, document).one(ctx.core.db.read()).await?;
    found.ok_or(Error::not_found())
}

/// Selects the passages of the current text of a document.
fn passages_of(document: &document::Model) -> Select<chunk::Entity> {
    chunk::Entity::owned_by(document.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.eq(document.version))
}

/// Finds the words in passages, one place more than are returned, if there are as many.
async fn find_in(
    passages: Select<chunk::Entity>,
    words: String,
    ctx: &OperationContext,
) -> Result<Vec<TextHit>, Error> {
    let passages = passages
        .select_only()
        .column(chunk::Column::StartOffset)
        .column(chunk::Column::Page)
        .column(chunk::Column::StartSeconds)
        .column(chunk::Column::Text);
    let passages: Vec<TextPassage> = passages.into_tuple().all(ctx.core.db.read()).await?;
    // A book has millions of characters.
    Ok(ctx.core.workers.run(Lane::Foreground, move || find(&passages, &words)).await?)
}

/// The columns of a passage: start offset, page, start time, text.
type TextPassage = (i32, Option<i32>, Option<f64>, String);

/// Finds the words in passages that follow one another; one place more than are returned, if there are as many.
fn find(passages: &[TextPassage], words: &str) -> Vec<TextHit> {
    let text: Vec<char> = passages.iter().flat_map(|passage| passage.3.chars()).collect();
    let needle: Vec<char> = folded_words(words);
    let mut hits = Vec::new();
    let mut at = 0;
    while at < text.len() && hits.len() <= MAX_HITS {
        match match_at(text.get(at..).unwrap_or_default(), &needle) {
            Some(length) if length > 0 => {
                hits.push(hit(passages, &text, at..at + length));
                at += length;
            }
            Some(_) | None => at += 1,
        }
    }
    hits
}

/// Returns the place of words, which have these characters of the text of the passages.
fn hit(passages: &[TextPassage], text: &[char], Range { start, end }: Range<usize>) -> TextHit {
    let slice = |from: usize, to: usize| text.get(from..to).unwrap_or_default().iter().collect::<String>();
    // The first passage may be behind the beginning of the document.
    let first = passages.first().and_then(|passage| usize::try_from(passage.0).ok()).unwrap_or_default();
    let is_before =
        |passage: &TextPassage| usize::try_from(passage.0).is_ok_and(|offset| offset <= first + start);
    let passage = passages.get(passages.partition_point(is_before).saturating_sub(1));
    TextHit {
        start: first + start,
        end: first + end,
        page: passage.and_then(|passage| passage.1).and_then(|page| u32::try_from(page).ok()),
        seconds: passage.and_then(|passage| passage.2),
        before: slice(start.saturating_sub(CONTEXT_CHARS), start),
        text: slice(start, end),
        after: slice(end, text.len().min(end + CONTEXT_CHARS)),
    }
}

/// Returns the range of the first place of words in a text, in Unicode scalar values; `None` if there is none, or no word. Case and kind of
/// white space do not count.
pub(super) fn find_words(text: &str, words: &str) -> Option<(usize, usize)> {
    let (text, needle): (Vec<char>, Vec<char>) = (text.chars().collect(), folded_words(words));
    if needle.is_empty() {
        return None;
    }
    (0..text.len()).find_map(|at| Some((at, at + match_at(text.get(at..)?, &needle)?)))
}

/// Returns the words folded, with one space between them.
fn folded_words(words: &str) -> Vec<char> {
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().map(fold).collect()
}

/// Returns a character by which both cases are compared. It is one character, so that offsets stay.
fn fold(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Returns how many characters of the text the needle matches at its start. A space matches any white space.
fn match_at(text: &[char], needle: &[char]) -> Option<usize> {
    let mut at = 0;
    for wanted in needle {
        if *wanted == ' ' {
            let spaces = text.iter().skip(at).take_while(|c| c.is_whitespace()).count();
            if spaces == 0 {
                return None;
            }
            at += spaces;
        } else if text.get(at).is_some_and(|c| fold(*c) == *wanted) {
            at += 1;
        } else {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(passages: &[TextPassage], words: &str) -> Vec<(usize, usize, Option<u32>)> {
        find(passages, words).iter().map(|hit| (hit.start, hit.end, hit.page)).collect()
    }

    #[test]
    fn words_are_found_over_passages_and_line_ends() {
        let passages = [
            (0, Some(1), None, "The Heron\nstands. ".to_owned()),
            (18, Some(2), None, "A heron  stands Élan".to_owned()),
        ];

        assert_eq!(found(&passages, "heron stands"), [(4, 16, Some(1)), (20, 33, Some(2))]);
        assert_eq!(found(&passages, "stands. a"), [(10, 19, Some(1))]);
        assert_eq!(found(&passages, "élan"), [(34, 38, Some(2))]);
        assert_eq!(found(&passages, "egret"), []);
    }

    #[test]
    fn offsets_count_from_the_beginning_of_the_document() {
        let passages = [
            (18, Some(2), None, "A heron stands. ".to_owned()),
            (34, Some(3), None, "Another heron".to_owned()),
        ];

        assert_eq!(found(&passages, "heron"), [(20, 25, Some(2)), (42, 47, Some(3))]);
    }

    #[test]
    fn number_of_places_is_bounded() {
        assert_eq!(find(&[(0, None, None, "a".repeat(5000))], "a").len(), MAX_HITS + 1);
    }

    #[test]
    fn hit_has_the_text_around_it() {
        let hits = find(&[(0, None, Some(3.0), "before the word after".to_owned())], "word");

        let [hit] = hits.as_slice() else { panic!("one place") };
        assert_eq!(
            (hit.before.as_str(), hit.text.as_str(), hit.after.as_str()),
            ("before the ", "word", " after")
        );
        assert_eq!(hit.seconds, Some(3.0));
    }
}
