//! The passages before and after short ones. A heading, a caption or a page of a PDF often means little without them.

use entity::chunk;
use errors::Error;
use library::context::CoreContext;
use sea_orm::{ColumnTrait, Condition, QueryFilter};
use text::char_count;
use values::id::UserId;

use crate::retrieval::SearchHit;
use crate::retrieval::passage::{Passage, PassageColumns};

/// Number of the best passages that are given with their neighbours if they are short.
const EXPANDED_PASSAGES: usize = 3;
/// A passage with fewer characters is short.
const SHORT_PASSAGE_CHARS: usize = 500;

/// Returns the passages before and after the best of these if they are short, without those that are among them already. The order is
/// arbitrary.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn load(
    passages: &[Passage],
    core: &CoreContext,
    user: UserId,
) -> Result<Vec<Passage>, Error> {
    let short: Vec<&Passage> =
        passages.iter().take(EXPANDED_PASSAGES).filter(|passage| is_short(passage)).collect();
    if short.is_empty() {
        return Ok(Vec::new());
    }
    let mut neighbours = Condition::any();
    for passage in &short {
        let ordinals = [passage.row.ordinal.saturating_sub(1), passage.row.ordinal.saturating_add(1)];
        let of_passage = Condition::all()
            .add(chunk::Column::DocumentId.eq(passage.row.document_id))
            .add(chunk::Column::Version.eq(passage.row.version))
            .add(chunk::Column::Ordinal.is_in(ordinals));
        neighbours = neighbours.add(of_passage);
    }
    let rows = chunk::Entity::owned_by(user).filter(neighbours).all(core.db.read()).await?;
    let is_new = |row: &chunk::Model| passages.iter().all(|passage| passage.row.id != row.id);
    let mut found = Vec::new();
    for row in rows.into_iter().filter(|row| is_new(row) && !row.text.trim().is_empty()) {
        let best = short.iter().find(|passage| passage.row.document_id == row.document_id);
        if let Some(best) = best {
            found.push(neighbour(best, row));
        }
    }
    Ok(found)
}

/// Returns a passage before or after another one of its document.
fn neighbour(passage: &Passage, row: chunk::Model) -> Passage {
    let id = row.id;
    let row = PassageColumns {
        id,
        version: row.version,
        ordinal: row.ordinal,
        start_offset: row.start_offset,
        page: row.page,
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
        text: row.text,
        ..passage.row.clone()
    };
    // It has the score of the hit, to which it belongs, but was not compared with the question.
    Passage { row, found: SearchHit { chunk: id, cosine: None, ..passage.found } }
}

fn is_short(passage: &Passage) -> bool {
    char_count(&passage.row.text) < SHORT_PASSAGE_CHARS
}
