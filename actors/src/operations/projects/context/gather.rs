//! What a context is made of. Of each list no more is read than there could be room for: notes and decisions are measured
//! before their texts are read.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use entity::id::{DecisionId, NoteId};
use entity::kind::{DecisionStatus, ItemKind};
use entity::time::Timestamp;
use entity::{decision, note, project, project_item};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};

use super::super::items;
use super::{ContextDecision, ContextNote, ContextSource};
use crate::context::OperationContext;
use errors::Error;

/// An empty note is 23 characters of JSON, so more of them do not fit into any answer: 32,000 characters.
const MOST_TEXTS: u64 = 1400;
/// And an empty source is 122.
const MOST_SOURCES: u64 = 300;

/// Characters of title and body, in both databases' words.
fn length() -> Expr {
    Expr::cust("CAST(LENGTH(title) + LENGTH(body) AS BIGINT)")
}

/// The first of these, until their texts alone are more than there is room for.
fn until_full<I>(measured: impl IntoIterator<Item = (I, i64)>, most: usize) -> Vec<I> {
    let mut size = 0_usize;
    let within = measured.into_iter().take_while(|(_, length)| {
        let before = size;
        size = size.saturating_add(usize::try_from(*length).unwrap_or(usize::MAX));
        before <= most
    });
    within.map(|(id, _)| id).collect()
}

/// The texts of these, in this order.
fn in_order<I: Eq + Hash, T>(ids: Vec<I>, mut found: HashMap<I, T>) -> Vec<T> {
    ids.into_iter().filter_map(|id| found.remove(&id)).collect()
}

/// What was decided, newest first.
pub async fn decisions(
    ctx: &OperationContext,
    project: &project::Model,
    most: usize,
) -> Result<Vec<ContextDecision>, Error> {
    use decision::Column;
    let measured: Vec<(DecisionId, i64)> = decision::Entity::within(project)
        .filter(Column::Status.eq(DecisionStatus::Decided))
        .order_by_desc(Column::DecidedAt)
        .order_by_desc(Column::Id)
        .limit(MOST_TEXTS)
        .select_only()
        .column(Column::Id)
        .column_as(length(), "length")
        .into_tuple()
        .all(ctx.core.db.read())
        .await?;
    let wanted = until_full(measured, most);
    let rows = decision::Entity::within(project).filter(Column::Id.is_in(wanted.iter().copied()));
    let rows = rows.all(ctx.core.db.read()).await?.into_iter();
    let decided = |row: decision::Model| ContextDecision {
        title: row.title,
        status: row.status,
        decided_at: row.decided_at,
        body: row.body,
    };
    // One that was taken back between the two reads is left out.
    let held = rows.filter(|row| row.status == DecisionStatus::Decided);
    Ok(in_order(wanted, held.map(|row| (row.id, decided(row))).collect()))
}

/// A note that may be shown, before its text is read.
struct Measured {
    id: NoteId,
    pinned: bool,
    made: Timestamp,
    length: i64,
}

/// The project's own notes and those that are items of it: pinned ones first, newest first, each once.
pub async fn notes(
    ctx: &OperationContext,
    project: &project::Model,
    pinned_alone: bool,
    most: usize,
) -> Result<Vec<ContextNote>, Error> {
    let mut measured = own_notes(ctx, project).await?;
    measured.extend(note_items(ctx, project).await?);
    measured.retain(|note| note.pinned || !pinned_alone);
    measured.sort_by_key(|note| std::cmp::Reverse((note.pinned, note.made, note.id)));
    let mut seen = HashSet::new();
    measured.retain(|note| seen.insert(note.id));
    let wanted = until_full(measured.into_iter().map(|note| (note.id, note.length)), most);
    let rows = note::Entity::owned_by(project.user_id).filter(note::Column::Id.is_in(wanted.iter().copied()));
    let rows = rows.all(ctx.core.db.read()).await?.into_iter();
    let texts = rows.map(|row| (row.id, ContextNote { title: row.title, body: row.body }));
    Ok(in_order(wanted, texts.collect()))
}

async fn own_notes(ctx: &OperationContext, project: &project::Model) -> Result<Vec<Measured>, Error> {
    use note::Column;
    let rows: Vec<(NoteId, bool, Timestamp, i64)> = note::Entity::owned_by(project.user_id)
        .filter(Column::ProjectId.eq(project.id))
        .order_by_desc(Column::Pinned)
        .order_by_desc(Column::Id)
        .limit(MOST_TEXTS)
        .select_only()
        .columns([Column::Id, Column::Pinned, Column::CreatedAt])
        .column_as(length(), "length")
        .into_tuple()
        .all(ctx.core.db.read())
        .await?;
    Ok(rows.into_iter().map(|(id, pinned, made, length)| Measured { id, pinned, made, length }).collect())
}

/// Notes of other projects, and of bookmarks, that were put into this one: pinned as items of it.
async fn note_items(ctx: &OperationContext, project: &project::Model) -> Result<Vec<Measured>, Error> {
    let items = project_item::Entity::within(project)
        .filter(project_item::Column::Kind.eq(ItemKind::Note))
        .order_by_desc(project_item::Column::Pinned)
        .order_by_desc(project_item::Column::Id)
        .limit(MOST_TEXTS)
        .all(ctx.core.db.read())
        .await?;
    let pinned: HashMap<_, _> = items.into_iter().map(|item| (item.document_id, item.pinned)).collect();
    let rows: Vec<(NoteId, entity::id::DocumentId, Timestamp, i64)> = note::Entity::owned_by(project.user_id)
        .filter(note::Column::DocumentId.is_in(pinned.keys().copied()))
        .select_only()
        .columns([note::Column::Id, note::Column::DocumentId, note::Column::CreatedAt])
        .column_as(length(), "length")
        .into_tuple()
        .all(ctx.core.db.read())
        .await?;
    let measured = rows.into_iter().map(|(id, document, made, length)| Measured {
        id,
        pinned: pinned.get(&document).copied().unwrap_or_default(),
        made,
        length,
    });
    Ok(measured.collect())
}

/// The items that are no notes: pinned ones first, then the newest, those of one request in its order.
pub async fn sources(ctx: &OperationContext, project: &project::Model) -> Result<Vec<ContextSource>, Error> {
    use project_item::Column;
    let rows = project_item::Entity::within(project)
        .filter(Column::Kind.ne(ItemKind::Note))
        .order_by_desc(Column::Pinned)
        .order_by_desc(Column::AddedAt)
        .order_by_asc(Column::Id)
        .limit(MOST_SOURCES)
        .all(ctx.core.db.read())
        .await?;
    let documents = items::documents(ctx.core.db.read(), project.user_id, &rows).await?;
    let sources = rows.into_iter().filter_map(|row| {
        let document = documents.get(&row.document_id)?;
        Some(ContextSource {
            bookmark_id: document.bookmark_id,
            document_id: document.id,
            title: document.title.clone(),
            url: ctx.core.url_of(document),
            role: row.role,
            pinned: row.pinned,
        })
    });
    Ok(sources.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use validation::Kind;

    #[test]
    fn more_is_looked_at_than_any_answer_has_room_for() {
        let note = serde_json::to_string(&ContextNote { title: String::new(), body: String::new() }).unwrap();
        let source = serde_json::to_string(&ContextSource {
            bookmark_id: None,
            document_id: entity::id::DocumentId::new(Timestamp::from_millis(0)),
            title: String::new(),
            url: String::new(),
            role: entity::kind::ItemRole::Source,
            pinned: true,
        });
        let Kind::Integer { max, .. } = super::super::CONTEXT_MAX_CHARS.kind else { panic!("not a number") };

        // Each with a comma behind it.
        assert!((note.len() as u64 + 1) * MOST_TEXTS > max.unsigned_abs());
        assert!((source.unwrap().len() as u64 + 1) * MOST_SOURCES > max.unsigned_abs());
    }

    #[test]
    fn texts_are_read_until_one_that_finds_no_room() {
        let measured = [(1, 400), (2, 500), (3, 300), (4, 1)];

        assert_eq!(until_full(measured, 1000), [1, 2, 3]);
        assert_eq!(until_full(measured, 32_000), [1, 2, 3, 4]);
        assert_eq!(until_full([(1, 90_000), (2, 1)], 1000), [1]);
    }
}
