//! Projects, with their decisions, notes and the places of things in them.

use entity::id::{BookmarkId, DecisionId, EntryId, HighlightId, NoteId, ProjectId, UserId};
use entity::kind::{ImportedKind, ItemKind};
use entity::time::Timestamp;
use entity::{decision, note, project, project_item, user};
use parse::archive::{DecisionRecord, NoteRecord, ProjectItemRecord, ProjectRecord};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, Select};
use uuid::Uuid;

use super::super::row_trace::RowTrace;
use super::super::take::{Became, Taking};
use super::{NAME, UNKNOWN, WORDS, lost};
use errors::Error;
use jobs::Priority;
use actors::operations::notes::{self, NewNote};
use actors::operations::projects::{self, Chosen, Named, Wanted};

/// Characters of instructions.
const INSTRUCTIONS: usize = 20_000;

/// A project; one of the same name and age is the same.
pub async fn project(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: ProjectRecord,
) -> Result<Became, Error> {
    let (user, name) = (taking.import().user_id, text::cut(given.name.trim(), NAME));
    if name.is_empty() {
        return Ok(Became::Passed(UNKNOWN.to_owned()));
    }
    if let Some(there) = same_project(user, &given).one(txn).await? {
        return Ok(Became::of(ImportedKind::Project, there.id.0, false));
    }
    let row = project::Model {
        id: ProjectId::new(given.created_at),
        user_id: user,
        name,
        description: given.description.map(|words| text::cut(&words, WORDS)),
        instructions: text::cut(&given.instructions, INSTRUCTIONS),
        status: given.status,
        created_at: given.created_at,
        updated_at: given.updated_at,
    };
    let id = row.id.0;
    project::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(Became::of(ImportedKind::Project, id, true))
}

/// The project of the same name and age.
pub(super) fn same_project(user: UserId, given: &ProjectRecord) -> Select<project::Entity> {
    project::Entity::owned_by(user)
        .filter(project::Column::Name.eq(text::cut(given.name.trim(), NAME)))
        .filter(project::Column::CreatedAt.eq(given.created_at))
}

/// The project that a line belongs to.
pub(super) async fn project_of(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    old: Uuid,
) -> Result<Option<project::Model>, Error> {
    let Some(id) = taking.became_a(txn, ImportedKind::Project, old).await? else { return Ok(None) };
    Ok(project::Entity::one_of(taking.import().user_id, ProjectId(id)).one(txn).await?)
}

/// A decision of a project.
pub async fn decision(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: DecisionRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let title = text::cut(given.title.trim(), NAME);
    if let Some(there) = same_decision(&project, &given).one(txn).await? {
        return Ok(Became::of(ImportedKind::Decision, there.id.0, false));
    }
    let row = decision::Model {
        id: DecisionId::new(now),
        user_id: project.user_id,
        project_id: project.id,
        title,
        body: text::cut(&given.body, WORDS),
        status: given.status,
        decided_at: given.decided_at,
        created_at: given.created_at,
        updated_at: given.updated_at.unwrap_or(given.created_at),
    };
    let id = row.id.0;
    decision::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(Became::of(ImportedKind::Decision, id, true))
}

/// The decision of the same title and age.
pub(super) fn same_decision(project: &project::Model, given: &DecisionRecord) -> Select<decision::Entity> {
    decision::Entity::within(project)
        .filter(decision::Column::Title.eq(text::cut(given.title.trim(), NAME)))
        .filter(decision::Column::CreatedAt.eq(given.created_at))
}

/// A note of a project.
pub async fn note(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: NoteRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let new = NewNote {
        title: text::cut(given.title.trim(), NAME),
        body: text::cut(&given.body, WORDS),
        pinned: given.pinned,
    };
    if let Some(there) = same_note(&project, &given).one(txn).await? {
        return Ok(Became::of(ImportedKind::Note, there.id.0, false));
    }
    let passages = notes::passages(&new.body);
    let row = notes::add_to_project(txn, &project, new, passages, Priority::Backlog, now).await?;
    notes::was_made(txn, &row, given.created_at, given.updated_at.unwrap_or(now)).await?;
    Ok(Became::of(ImportedKind::Note, row.id.0, true))
}

/// The note of the same title and age.
pub(super) fn same_note(project: &project::Model, given: &NoteRecord) -> Select<note::Entity> {
    note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::Title.eq(text::cut(given.title.trim(), NAME)))
        .filter(note::Column::CreatedAt.eq(given.created_at))
}

/// The thing that is to stand in a project; none where it is not there.
pub(super) async fn thing_of(
    taking: &Taking,
    db: &impl ConnectionTrait,
    given: &ProjectItemRecord,
) -> Result<Option<Chosen>, Error> {
    let named = match taking.became(db, given.thing).await? {
        Some((ImportedKind::Bookmark, id)) if given.named == Some(ItemKind::Note) => {
            let own = note::Entity::owned_by(taking.import().user_id);
            let own = own.filter(note::Column::BookmarkId.eq(id)).one(db).await?;
            let Some(note) = own else { return Ok(None) };
            Named::Note(note.id)
        }
        Some((ImportedKind::Bookmark, id)) => Named::Bookmark(BookmarkId(id)),
        Some((ImportedKind::Highlight, id)) => Named::Highlight(HighlightId(id)),
        Some((ImportedKind::Note, id)) => Named::Note(NoteId(id)),
        Some((ImportedKind::Entry, id)) => Named::Entry(EntryId(id)),
        Some(_) | None => return Ok(None),
    };
    match projects::find(db, taking.import().user_id, &Wanted { named, role: given.role }).await {
        Ok(chosen) => Ok(chosen.map(|chosen| match (chosen.kind, given.named) {
            (ItemKind::Bookmark, Some(ItemKind::Url)) => Chosen { kind: ItemKind::Url, ..chosen },
            _ => chosen,
        })),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether things of this kind have places in projects.
pub(super) fn may_stand(kind: ImportedKind) -> bool {
    matches!(
        kind,
        ImportedKind::Bookmark | ImportedKind::Highlight | ImportedKind::Note | ImportedKind::Entry
    )
}

/// A thing's place in a project.
pub async fn item(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: ProjectItemRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = taking.import().user_id;
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let Some(chosen) = thing_of(taking, txn, &given).await? else { return Ok(lost()) };
    let owner = user::Entity::find_by_id(user).one(txn).await?.ok_or(Error::not_found())?;
    let most = taking.means().core.plans.limits(owner.plan).items_per_project;
    let put = match projects::put(txn, &project, &[chosen], most, now).await {
        Ok(put) => put,
        Err(Error::ProjectLimit { .. }) => {
            return Ok(Became::OverPlan("the project has as many items as the plan allows".to_owned()));
        }
        Err(error) => return Err(error),
    };
    if let Some(there) = put.there.first() {
        return Ok(Became::of(ImportedKind::Item, there.id.0, false));
    }
    let Some(new) = put.new.first() else { return Ok(lost()) };
    project_item::Entity::update_many()
        .col_expr(project_item::Column::Pinned, Expr::value(given.pinned))
        .col_expr(project_item::Column::AddedAt, Expr::value(given.added_at))
        .filter(project_item::Column::UserId.eq(user))
        .filter(project_item::Column::Id.eq(new.id))
        .exec(txn)
        .await?;
    // It is as old as it was.
    project::Entity::update_many()
        .col_expr(project::Column::UpdatedAt, Expr::value(project.updated_at))
        .filter(project::Column::UserId.eq(user))
        .filter(project::Column::Id.eq(project.id))
        .exec(txn)
        .await?;
    let is_own = taking.has_created(txn, ImportedKind::Project, project.id.0).await?;
    Ok(Became::Created(ImportedKind::Item, new.id.0, RowTrace::addition(!is_own)))
}
