//! Makes a context short enough: sources give way first, then passages, then notes, then decisions, each list from its
//! end; the project itself never does (spec.md: GET /projects/:id/context; contract.md, section 11). Plain.

use serde::Serialize;

use super::ReadContextResponse;
use errors::Error;

/// `false` has one character more than `true`.
const LONGER: usize = 1;

/// Drops what there is no room for, and no more than that.
pub fn fit(context: &mut ReadContextResponse, most: usize) -> Result<(), Error> {
    let mut size = chars(context)?;
    if size <= most {
        return Ok(());
    }
    let mut dropped = shrink(&mut context.sources, &mut size, most, false)?;
    if let Some(passages) = &mut context.passages {
        dropped = shrink(passages, &mut size, most, dropped)?;
    }
    dropped = shrink(&mut context.notes, &mut size, most, dropped)?;
    context.truncated = shrink(&mut context.decisions, &mut size, most, dropped)?;
    Ok(())
}

/// Drops from the end until the whole fits; whether anything was dropped by then, `before` this list or of it.
fn shrink<T: Serialize>(
    list: &mut Vec<T>,
    size: &mut usize,
    most: usize,
    before: bool,
) -> Result<bool, Error> {
    let mut dropped = before;
    while *size > most {
        let Some(last) = list.pop() else { break };
        let comma = usize::from(!list.is_empty());
        let mark = if dropped { 0 } else { LONGER };
        *size = size.saturating_sub(chars(&last)? + comma + mark);
        dropped = true;
    }
    Ok(dropped)
}

/// Characters of the compact JSON.
fn chars(part: &impl Serialize) -> Result<usize, Error> {
    let json = serde_json::to_value(part).map_err(Error::internal)?;
    Ok(json.to_string().chars().count())
}

#[cfg(test)]
mod tests {
    use entity::id::{ChunkId, DocumentId, ProjectId};
    use entity::kind::{ContentType, DecisionStatus, ItemRole};
    use entity::time::Timestamp;
    use proptest::prelude::*;

    use super::super::{ContextDecision, ContextNote, ContextProject, ContextSource};
    use super::*;
    use crate::retrieval::passage::SearchResult;

    const THEN: Timestamp = Timestamp::from_millis(0);

    fn decision(words: String) -> ContextDecision {
        ContextDecision {
            title: words.clone(),
            status: DecisionStatus::Decided,
            decided_at: Some(THEN),
            body: words,
        }
    }

    fn source(words: String) -> ContextSource {
        ContextSource {
            bookmark_id: None,
            document_id: DocumentId::new(THEN),
            title: words,
            url: "https://a.example/".to_owned(),
            role: ItemRole::Source,
            pinned: false,
        }
    }

    fn passage(words: String) -> SearchResult {
        SearchResult {
            document_id: DocumentId::new(THEN),
            chunk_id: ChunkId::new(THEN),
            bookmark_id: None,
            entry_id: None,
            title: String::new(),
            url: String::new(),
            content_type: ContentType::Article,
            snippet: words,
            score: 0.3,
            page_number: None,
            start_seconds: None,
            end_seconds: None,
        }
    }

    fn parts(context: &ReadContextResponse) -> [usize; 4] {
        let passages = context.passages.as_ref().map_or(0, Vec::len);
        [context.sources.len(), passages, context.notes.len(), context.decisions.len()]
    }

    /// One more of what was dropped last would be too much.
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
                project: ContextProject { id: ProjectId::new(THEN), name: "P".to_owned(), instructions },
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
        fn a_context_gives_way_in_order_from_the_ends_and_no_more_than_it_must(whole in any_context(), most in 100_usize..3000) {
            let mut cut = whole.clone();
            fit(&mut cut, most).unwrap();

            let (full, left) = (parts(&whole), parts(&cut));
            prop_assert_eq!(cut.truncated, left != full);
            prop_assert!(chars(&cut).unwrap() <= most || left == [0; 4]);
            for part in 0..4 {
                prop_assert!(left[part] == full[part] || left[..part].iter().all(|count| *count == 0));
            }
            let of = |words: &[ContextNote]| words.iter().map(|note| note.body.clone()).collect::<Vec<_>>();
            prop_assert!(of(&whole.notes).starts_with(&of(&cut.notes)));
            if cut.truncated {
                prop_assert!(one_more(&cut, &whole) > most);
            }
            prop_assert_eq!(cut.project.instructions, whole.project.instructions);
        }
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(chars(&"𝒳é\n\"").unwrap(), 8);
    }
}
