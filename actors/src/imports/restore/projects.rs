//! Projects, with their decisions, notes and the places of things in them.

use entity::id::{BookmarkId, DecisionId, EntryId, HighlightId, NoteId, ProjectId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{decision, note, project, project_item, user};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use uuid::Uuid;

use super::super::take::{Became, Taking};
use super::{NAME, UNKNOWN, WORDS, lost};
use crate::error::Error;
use crate::exports::record::{Decision, Item, Note, Project};
use crate::ingest::queue::Priority;
use crate::ops::notes::{self, NewNote};
use crate::ops::projects::{self, Named, Wanted};
use crate::text;

/// Characters of instructions.
const INSTRUCTIONS: usize = 20_000;

/// A project; one of the same name and age is the same.
pub async fn project(taking: &Taking, txn: &impl ConnectionTrait, given: Project) -> Result<Became, Error> {
    let (user, name) = (taking.import().user_id, text::cut(given.name.trim(), NAME));
    if name.is_empty() {
        return Ok(Became::Passed(UNKNOWN.to_owned()));
    }
    let same = project::Entity::owned_by(user)
        .filter(project::Column::Name.eq(&name))
        .filter(project::Column::CreatedAt.eq(given.created_at));
    if let Some(there) = same.one(txn).await? {
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

/// The project that a line belongs to.
async fn project_of(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    old: Uuid,
) -> Result<Option<project::Model>, Error> {
    let Some(id) = taking.became_a(txn, ImportedKind::Project, old).await? else { return Ok(None) };
    Ok(project::Entity::one_of(taking.import().user_id, ProjectId(id)).one(txn).await?)
}

/// A decision of a project.
pub async fn decision(taking: &Taking, txn: &impl ConnectionTrait, given: Decision) -> Result<Became, Error> {
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let title = text::cut(given.title.trim(), NAME);
    let same = decision::Entity::within(&project)
        .filter(decision::Column::Title.eq(&title))
        .filter(decision::Column::CreatedAt.eq(given.created_at));
    if let Some(there) = same.one(txn).await? {
        return Ok(Became::of(ImportedKind::Decision, there.id.0, false));
    }
    let row = decision::Model {
        id: DecisionId::new(given.created_at),
        user_id: project.user_id,
        project_id: project.id,
        title,
        body: text::cut(&given.body, WORDS),
        status: given.status,
        decided_at: given.decided_at,
        created_at: given.created_at,
        updated_at: given.created_at,
    };
    let id = row.id.0;
    decision::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(Became::of(ImportedKind::Decision, id, true))
}

/// A note of a project.
pub async fn note(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: Note,
    now: Timestamp,
) -> Result<Became, Error> {
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let new = NewNote {
        title: text::cut(given.title.trim(), NAME),
        body: text::cut(&given.body, WORDS),
        pinned: given.pinned,
    };
    let same = note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::Title.eq(&new.title))
        .filter(note::Column::CreatedAt.eq(given.created_at));
    if let Some(there) = same.one(txn).await? {
        return Ok(Became::of(ImportedKind::Note, there.id.0, false));
    }
    let passages = notes::passages(&new.body);
    let row = notes::add_to_project(txn, &project, new, passages, Priority::Backlog, now).await?;
    note::Entity::update_many()
        .col_expr(note::Column::CreatedAt, Expr::value(given.created_at))
        .filter(note::Column::UserId.eq(project.user_id))
        .filter(note::Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    Ok(Became::of(ImportedKind::Note, row.id.0, true))
}

/// A thing's place in a project.
pub async fn item(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: Item,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = taking.import().user_id;
    let Some(project) = project_of(taking, txn, given.project).await? else { return Ok(lost()) };
    let named = match taking.became(txn, given.thing).await? {
        Some((ImportedKind::Bookmark, id)) => Named::Bookmark(BookmarkId(id)),
        Some((ImportedKind::Highlight, id)) => Named::Highlight(HighlightId(id)),
        Some((ImportedKind::Note, id)) => Named::Note(NoteId(id)),
        Some((ImportedKind::Entry, id)) => Named::Entry(EntryId(id)),
        Some(_) | None => return Ok(lost()),
    };
    let owner = user::Entity::find_by_id(user).one(txn).await?.ok_or(Error::NotFound)?;
    let most = taking.means().desk.plans.limits(owner.plan).items_per_project;
    let chosen = match projects::find(txn, user, &Wanted { named, role: given.role }).await {
        Ok(Some(chosen)) => chosen,
        Ok(None) | Err(Error::NotFound) => return Ok(lost()),
        Err(error) => return Err(error),
    };
    let put = match projects::put(txn, &project, &[chosen], most, now).await {
        Ok(put) => put,
        Err(Error::ProjectLimit) => {
            return Ok(Became::Passed("the project has as many items as the plan allows".to_owned()));
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
    Ok(Became::of(ImportedKind::Item, new.id.0, true))
}
