//! Adding items to a project.

use std::collections::{HashMap, HashSet};

use entity::{note, project, project_count, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use uuid::Uuid;
use values::id::{DocumentId, ProjectItemId};
use values::kind::ItemKind;
use values::time::Timestamp;

use super::item_ref::ResolvedItem;
use super::touch;
use errors::Error;

/// The items of a request after they were added.
#[derive(Debug, Default)]
pub struct AddedItems {
    /// Items that were added, in the order of the request.
    pub new: Vec<project_item::Model>,
    /// Items that the project contained already; they are unchanged.
    pub existing: Vec<project_item::Model>,
}

/// Adds items to a project that the transaction has locked ([`super::lock_active`]), each once. `max_items` is the number of items
/// that the plan allows in the project.
///
/// # Errors
/// [`Error::ProjectLimit`] when the project would have more items.
pub async fn add_items(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    items: &[ResolvedItem],
    max_items: u32,
    now: Timestamp,
) -> Result<AddedItems, Error> {
    let mut existing = existing_items(txn, project, items).await?;
    // A project contains its own notes already; they are not items of it.
    let own = own_notes(txn, project, items).await?;
    let (mut added, mut seen) = (AddedItems::default(), HashSet::new());
    let others = items.iter().filter(|item| !own.contains(&item.document));
    for item in others.filter(|item| seen.insert(item.object_id())) {
        match existing.remove(&item.object_id()) {
            Some(row) => added.existing.push(row),
            None => added.new.push(item_row(project, item, now)),
        }
    }
    if added.new.is_empty() {
        return Ok(added);
    }
    // The lock on the project makes the check and the insert one step.
    let count = project_count::Entity::owned_by(project.user_id)
        .filter(project_count::Column::ProjectId.eq(project.id))
        .one(txn)
        .await?;
    let count = count.and_then(|count| u64::try_from(count.items).ok()).unwrap_or_default();
    if count + added.new.len() as u64 > u64::from(max_items) {
        return Err(Error::ProjectLimit { limit: max_items });
    }
    delete_hidden_duplicates(txn, project, &added.new).await?;
    let rows = added.new.iter().cloned().map(IntoActiveModel::into_active_model);
    project_item::Entity::insert_many(rows).exec_without_returning(txn).await?;
    touch(txn, project, now).await?;
    Ok(added)
}

/// Returns the documents of those items that are notes of the project itself.
async fn own_notes(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    items: &[ResolvedItem],
) -> Result<HashSet<DocumentId>, Error> {
    let notes = items.iter().filter(|item| item.kind == ItemKind::Note);
    let notes: Vec<DocumentId> = notes.map(|item| item.document).collect();
    if notes.is_empty() {
        return Ok(HashSet::new());
    }
    let own = note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::DocumentId.is_in(notes))
        .select_only()
        .column(note::Column::DocumentId);
    Ok(own.into_tuple().all(txn).await?.into_iter().collect())
}

async fn existing_items(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    items: &[ResolvedItem],
) -> Result<HashMap<Uuid, project_item::Model>, Error> {
    let same = project_item::Column::ObjectId.is_in(items.iter().map(ResolvedItem::object_id));
    let rows = project_item::Entity::within(project).filter(same).all(txn).await?;
    Ok(rows.into_iter().map(|row| (row.object_id, row)).collect())
}

/// Deletes hidden items of the same objects, such as an entry whose bookmark was an item and was deleted: an object is an item once.
async fn delete_hidden_duplicates(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    new: &[project_item::Model],
) -> Result<(), Error> {
    project_item::Entity::delete_owned(project.user_id)
        .filter(project_item::Column::ProjectId.eq(project.id))
        .filter(project_item::Column::ObjectId.is_in(new.iter().map(|item| item.object_id)))
        .exec(txn)
        .await?;
    Ok(())
}

fn item_row(project: &project::Model, item: &ResolvedItem, now: Timestamp) -> project_item::Model {
    project_item::Model {
        id: ProjectItemId::new(now),
        user_id: project.user_id,
        project_id: project.id,
        kind: item.kind,
        object_id: item.object_id(),
        document_id: item.document,
        highlight_id: item.highlight,
        role: item.role,
        pinned: false,
        added_at: now,
        is_visible: true,
    }
}
