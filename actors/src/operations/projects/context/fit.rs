//! Shortens a context to its maximum length: drops sources first, then passages, notes and decisions, each list from its end. The
//! project itself is never dropped (spec.md: GET /projects/:id/context; contract.md, section 11).

use std::io::{self, Write};

use serde::Serialize;

use super::response::ReadContextResponse;
use errors::Error;

/// Characters by which the JSON `false` is longer than `true`.
const FALSE_EXTRA_CHARS: usize = 1;

/// Drops as little as possible, so that the JSON has at most `max_chars` characters.
///
/// # Errors
/// [`Error::Internal`] when a part is not serialisable.
pub fn fit(context: &mut ReadContextResponse, max_chars: usize) -> Result<(), Error> {
    // Measured once; afterwards the length of each dropped item is subtracted, because writing the whole again for each item would
    // make the work quadratic.
    let mut size = chars(context)?;
    if size <= max_chars {
        return Ok(());
    }
    let mut dropped = shrink(&mut context.sources, &mut size, max_chars, false)?;
    if let Some(passages) = &mut context.passages {
        dropped = shrink(passages, &mut size, max_chars, dropped)?;
    }
    dropped = shrink(&mut context.notes, &mut size, max_chars, dropped)?;
    context.truncated = shrink(&mut context.decisions, &mut size, max_chars, dropped)?;
    Ok(())
}

/// Drops items from the end until the whole fits. Returns whether anything was dropped, from this list or before.
fn shrink<T: Serialize>(
    list: &mut Vec<T>,
    size: &mut usize,
    max_chars: usize,
    dropped_before: bool,
) -> Result<bool, Error> {
    let mut dropped = dropped_before;
    while *size > max_chars {
        let Some(last) = list.pop() else { break };
        // An item has a comma before it unless it is the only one of its list.
        let comma = usize::from(!list.is_empty());
        // The first drop turns `"truncated":false` into `true`.
        let flag = if dropped { 0 } else { FALSE_EXTRA_CHARS };
        *size = size.saturating_sub(chars(&last)? + comma + flag);
        dropped = true;
    }
    Ok(dropped)
}

/// Counts the characters of the compact JSON.
///
/// # Errors
/// [`Error::Internal`] when the part is not serialisable.
pub fn chars(part: &impl Serialize) -> Result<usize, Error> {
    let mut counter = CharCounter(0);
    serde_json::to_writer(&mut counter, part).map_err(Error::internal)?;
    Ok(counter.0)
}

/// A writer of UTF-8 that counts the characters and keeps nothing.
struct CharCounter(usize);

impl Write for CharCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character has one byte that is not a continuation byte (`10xxxxxx`), so characters that are cut between two calls are
        // counted once too.
        self.0 += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search::calibration::{Relevance, RetrievalMeasures, ScoreMeasures};
    use search::title_match::TitleMatch;
    use values::id::{ChunkId, DocumentId, ProjectId};
    use values::kind::{ContentType, DecisionStatus, DocumentStatus, ItemRole};
    use values::time::Timestamp;

    use super::super::response::{ContextDecision, ContextNote, ContextProject, ContextSource};
    use super::*;
    use crate::retrieval::passage::SearchResult;

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn decision(words: String) -> ContextDecision {
        ContextDecision {
            title: words.clone(),
            status: DecisionStatus::Decided,
            decided_at: Some(NOW),
            body: words,
        }
    }

    fn source(words: String) -> ContextSource {
        ContextSource {
            bookmark_id: None,
            document_id: DocumentId::new(NOW),
            title: words,
            url: "https://a.example/".to_owned(),
            role: ItemRole::Source,
            pinned: false,
        }
    }

    fn passage(words: String) -> SearchResult {
        let measures =
            RetrievalMeasures { bm25_share: None, cosine: None, max_missing_cosine: 0.0, terms: 1 };
        SearchResult {
            document_id: DocumentId::new(NOW),
            chunk_id: ChunkId::new(NOW),
            bookmark_id: None,
            entry_id: None,
            title: String::new(),
            url: String::new(),
            content_type: ContentType::Article,
            status: DocumentStatus::Ready,
            snippet: words,
            score: 0.3,
            page_number: None,
            start_seconds: None,
            end_seconds: None,
            measures: ScoreMeasures {
                relevance: Relevance::of(measures, 0.0),
                coverage: 0.0,
                title: TitleMatch::None,
                lacks_number: false,
            },
        }
    }

    fn parts(context: &ReadContextResponse) -> [usize; 4] {
        let passages = context.passages.as_ref().map_or(0, Vec::len);
        [context.sources.len(), passages, context.notes.len(), context.decisions.len()]
    }

    /// Returns the length of a context with one more of the items that were dropped last.
    fn one_more(cut: &ReadContextResponse, whole: &ReadContextResponse) -> usize {
        let mut more = cut.clone();
        let full = parts(whole);
        let last = (0..4).rev().find(|part| parts(cut)[*part] < full[*part]).unwrap();
        let at = parts(cut)[last];
        match last {
            0 => more.sources.push(whole.sources[at].clone()),
            1 => more.passages.as_mut().unwrap().push(whole.passages.as_ref().unwrap()[at].clone()),
            2 => more.notes.push(whole.notes[at].clone()),
            _ => more.decisions.push(whole.decisions[at].clone()),
        }
        more.truncated = parts(&more) != full;
        chars(&more).unwrap()
    }

    prop_compose! {
        fn any_context()(
            instructions in ".{0,60}",
            sources in prop::collection::vec(".{0,40}", 0..6),
            passages in prop::option::of(prop::collection::vec(".{0,40}", 0..4)),
            notes in prop::collection::vec(".{0,80}", 0..5),
            decisions in prop::collection::vec(".{0,40}", 0..5),
        ) -> ReadContextResponse {
            ReadContextResponse {
                project: ContextProject { id: ProjectId::new(NOW), name: "P".to_owned(), instructions },
                decisions: decisions.into_iter().map(decision).collect(),
                notes: notes.into_iter().map(|body| ContextNote { title: "N".to_owned(), body }).collect(),
                sources: sources.into_iter().map(source).collect(),
                passages: passages.map(|words| words.into_iter().map(passage).collect()),
                truncated: false,
            }
        }
    }

    proptest! {
        #[test]
        fn context_is_shortened_in_order_and_no_more_than_needed(whole in any_context(), max_chars in 100_usize..3000) {
            let mut cut = whole.clone();
            fit(&mut cut, max_chars).unwrap();

            let (full, left) = (parts(&whole), parts(&cut));
            prop_assert_eq!(cut.truncated, left != full);
            prop_assert!(chars(&cut).unwrap() <= max_chars || left == [0; 4]);
            for part in 0..4 {
                prop_assert!(left[part] == full[part] || left[..part].iter().all(|count| *count == 0));
            }
            let of = |words: &[ContextNote]| words.iter().map(|note| note.body.clone()).collect::<Vec<_>>();
            prop_assert!(of(&whole.notes).starts_with(&of(&cut.notes)));
            if cut.truncated {
                prop_assert!(one_more(&cut, &whole) > max_chars);
            }
            prop_assert_eq!(cut.project.instructions, whole.project.instructions);
        }
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert_eq!(chars(&"𝒳é\n\"").unwrap(), 8);
        let passage = passage("𝒳é€\n\u{1}\u{7f}".to_owned());
        assert_eq!(chars(&passage).unwrap(), serde_json::to_string(&passage).unwrap().chars().count());
    }
}
