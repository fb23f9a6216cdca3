//! Restores projects, with their decisions, notes and items.

use entity::{decision, note, project, project_item, user};
use parse::archive::{DecisionRecord, NoteRecord, ProjectItemRecord, ProjectRecord};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, Select};
use uuid::Uuid;
use values::id::{BookmarkId, DecisionId, EntryId, HighlightId, NoteId, ProjectId, UserId};
use values::kind::{ImportedKind, ItemKind};
use values::time::Timestamp;

use super::super::limits::{MAX_TEXT_CHARS, read_name};
use super::super::rows::result::RowResult;
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use crate::documents::ChunkedDocument;
use crate::notes::{self, NewNote};
use crate::projects::{self, ItemRef, NewItem, ResolvedItem};
use errors::Error;
use jobs::Priority;

/// Characters of the instructions of a project.
const MAX_INSTRUCTIONS_CHARS: usize = 20_000;

/// Restores a project. One of the same name and time of creation is the same.
pub async fn restore_project(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: ProjectRecord,
) -> Result<RowResult, Error> {
    let (user, name) = (session.import().user_id, read_name(&record.name));
    if name.is_empty() {
        return Ok(RowResult::unknown_record());
    }
    if let Some(existing) = same_project(user, &record).one(txn).await? {
        return Ok(RowResult::of(ImportedKind::Project, existing.id.0, false));
    }
    let row = project::Model {
        id: ProjectId::new(record.created_at),
        user_id: user,
        name,
        description: record.description.map(|words| text::cut(&words, MAX_TEXT_CHARS)),
        instructions: text::cut(&record.instructions, MAX_INSTRUCTIONS_CHARS),
        status: record.status,
        created_at: record.created_at,
        updated_at: record.updated_at,
    };
    let id = row.id.0;
    project::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(RowResult::of(ImportedKind::Project, id, true))
}

/// Selects the project of the same name and time of creation.
pub fn same_project(user: UserId, record: &ProjectRecord) -> Select<project::Entity> {
    project::Entity::owned_by(user)
        .filter(project::Column::Name.eq(read_name(&record.name)))
        .filter(project::Column::CreatedAt.eq(record.created_at))
}

/// Returns the project that a line belongs to; `None` when it was not imported.
pub async fn project_of(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    source: Uuid,
) -> Result<Option<project::Model>, Error> {
    let project = session.find_imported_of_kind(txn, ImportedKind::Project, source).await?;
    let Some(id) = project else { return Ok(None) };
    Ok(project::Entity::one_of(session.import().user_id, ProjectId(id)).one(txn).await?)
}

/// Restores a decision of an imported project. A decision of the same title and time of creation there counts as the same.
pub async fn restore_decision(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: DecisionRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let Some(project) = project_of(session, txn, record.project).await? else {
        return Ok(RowResult::missing_parent());
    };
    let title = read_name(&record.title);
    if let Some(existing) = same_decision(&project, &record).one(txn).await? {
        return Ok(RowResult::of(ImportedKind::Decision, existing.id.0, false));
    }
    let row = decision::Model {
        id: DecisionId::new(now),
        user_id: project.user_id,
        project_id: project.id,
        title,
        body: text::cut(&record.body, MAX_TEXT_CHARS),
        status: record.status,
        decided_at: record.decided_at,
        created_at: record.created_at,
        updated_at: record.updated_at.unwrap_or(record.created_at),
    };
    let id = row.id.0;
    decision::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(RowResult::of(ImportedKind::Decision, id, true))
}

/// Selects the decision of the same title and time of creation.
pub fn same_decision(project: &project::Model, record: &DecisionRecord) -> Select<decision::Entity> {
    decision::Entity::within(project)
        .filter(decision::Column::Title.eq(read_name(&record.title)))
        .filter(decision::Column::CreatedAt.eq(record.created_at))
}

/// Restores a note of an imported project, with its times. A note of the same title and time of creation there counts as the same.
pub async fn restore_note(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: NoteRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let Some(project) = project_of(session, txn, record.project).await? else {
        return Ok(RowResult::missing_parent());
    };
    let new = NewNote {
        title: read_name(&record.title),
        body: text::cut(&record.body, MAX_TEXT_CHARS),
        pinned: record.pinned,
    };
    if let Some(existing) = same_note(&project, &record).one(txn).await? {
        return Ok(RowResult::of(ImportedKind::Note, existing.id.0, false));
    }
    let passages = ChunkedDocument::of_input(&new.body);
    let row = notes::add_to_project(txn, &project, new, passages, Priority::Backlog, now).await?;
    notes::set_times(txn, &row, record.created_at, record.updated_at.unwrap_or(now)).await?;
    Ok(RowResult::of(ImportedKind::Note, row.id.0, true))
}

/// Selects the note of the same title and time of creation.
pub fn same_note(project: &project::Model, record: &NoteRecord) -> Select<note::Entity> {
    note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::Title.eq(read_name(&record.title)))
        .filter(note::Column::CreatedAt.eq(record.created_at))
}

/// Finds the object that an item refers to; `None` when it was not imported or was deleted.
pub async fn resolve_item(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    record: &ProjectItemRecord,
) -> Result<Option<ResolvedItem>, Error> {
    let item = match session.find_imported(db, record.thing).await? {
        Some((ImportedKind::Bookmark, id)) if record.named == Some(ItemKind::Note) => {
            let own = note::Entity::owned_by(session.import().user_id);
            let own = own.filter(note::Column::BookmarkId.eq(id)).one(db).await?;
            let Some(note) = own else { return Ok(None) };
            ItemRef::Note(note.id)
        }
        Some((ImportedKind::Bookmark, id)) => ItemRef::Bookmark(BookmarkId(id)),
        Some((ImportedKind::Highlight, id)) => ItemRef::Highlight(HighlightId(id)),
        Some((ImportedKind::Note, id)) => ItemRef::Note(NoteId(id)),
        Some((ImportedKind::Entry, id)) => ItemRef::Entry(EntryId(id)),
        Some(_) | None => return Ok(None),
    };
    let new = NewItem { item, role: record.role };
    match projects::resolve_item(db, session.import().user_id, &new).await {
        Ok(resolved) => Ok(resolved.map(|resolved| match (resolved.kind, record.named) {
            (ItemKind::Bookmark, Some(ItemKind::Url)) => ResolvedItem { kind: ItemKind::Url, ..resolved },
            _ => resolved,
        })),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether objects of this kind can be items of projects.
pub fn can_be_item(kind: ImportedKind) -> bool {
    matches!(
        kind,
        ImportedKind::Bookmark | ImportedKind::Highlight | ImportedKind::Note | ImportedKind::Entry
    )
}

/// Restores an item of an imported project, if its object was imported too and the plan allows one more item.
pub async fn restore_item(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: ProjectItemRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let user = session.import().user_id;
    let Some(project) = project_of(session, txn, record.project).await? else {
        return Ok(RowResult::missing_parent());
    };
    let Some(item) = resolve_item(session, txn, &record).await? else {
        return Ok(RowResult::missing_parent());
    };
    let owner = user::Entity::find_by_id(user).one(txn).await?.ok_or(Error::not_found())?;
    let max_items = session.context().core.plans.limits(owner.plan).items_per_project;
    let added = match projects::add_items(txn, &project, &[item], max_items, now).await {
        Ok(added) => added,
        Err(Error::ProjectLimit { .. }) => {
            return Ok(RowResult::OverPlan("the project has as many items as the plan allows".to_owned()));
        }
        Err(error) => return Err(error),
    };
    if let Some(existing) = added.existing.first() {
        return Ok(RowResult::of(ImportedKind::Item, existing.id.0, false));
    }
    let Some(new) = added.new.first() else { return Ok(RowResult::missing_parent()) };
    // `add_items` adds items as a request does: unpinned, and now.
    project_item::Entity::update_owned(user)
        .col_expr(project_item::Column::Pinned, Expr::value(record.pinned))
        .col_expr(project_item::Column::AddedAt, Expr::value(record.added_at))
        .filter(project_item::Column::Id.eq(new.id))
        .exec(txn)
        .await?;
    // Restoring an item does not count as a change of the project.
    project::Entity::update_owned(user)
        .col_expr(project::Column::UpdatedAt, Expr::value(project.updated_at))
        .filter(project::Column::Id.eq(project.id))
        .exec(txn)
        .await?;
    let is_own = session.has_created(txn, ImportedKind::Project, project.id.0).await?;
    Ok(RowResult::Created(ImportedKind::Item, new.id.0, RowTrace::addition(!is_own)))
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QueryTrait};
    use values::kind::{DecisionStatus, ProjectStatus};

    use super::*;

    #[tokio::test]
    async fn rows_that_an_import_brings_again_are_found_by_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let (id, title, at) = (Uuid::from_u128(1), "Heron".to_owned(), Timestamp::from_millis(1));
        let project = project::Model {
            id: ProjectId(id),
            user_id: UserId(id),
            name: title.clone(),
            description: None,
            instructions: String::new(),
            status: ProjectStatus::Active,
            created_at: at,
            updated_at: at,
        };
        let decision = DecisionRecord {
            id,
            project: id,
            title: title.clone(),
            body: String::new(),
            status: DecisionStatus::Decided,
            decided_at: Some(at),
            created_at: at,
            updated_at: None,
        };
        let body = String::new();
        let note =
            NoteRecord { id, project: id, title, body, pinned: false, created_at: at, updated_at: None };

        for (statement, index) in [
            (same_decision(&project, &decision).build(DbBackend::Sqlite), "decision_created (project_id=?"),
            (same_note(&project, &note).build(DbBackend::Sqlite), "note_project_created (project_id=?"),
        ] {
            let plan = QueryPlan::of(&db, statement).await.unwrap();

            assert!(plan.has_step(index), "{plan:#?}");
        }
    }
}
