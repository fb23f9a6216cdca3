//! Texts that were kept without a page, as notes: notes belong to a project, so they get one of their own.

use entity::id::{NoteId, ProjectId, UserId};
use entity::kind::{ImportedKind, ProjectStatus};
use entity::time::Timestamp;
use entity::{note, project};
use parse::bookmarks::Note;
use sea_orm::sea_query::LockType;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect, Select,
};
use uuid::Uuid;

use super::take::{Became, Taking};
use errors::Error;
use jobs::Priority;
use actors::operations::notes::{self, NewNote};

/// The project of what imports bring without an address.
const NAME: &str = "Imported notes";
/// Characters of a title.
const TITLE: usize = 300;

impl Taking {
    /// A note of the project for such texts; the project too, where it was made for it.
    pub(super) async fn note(
        &self,
        txn: &impl ConnectionTrait,
        given: Note,
        now: Timestamp,
    ) -> Result<(Became, Option<ProjectId>), Error> {
        let new = match read(&given) {
            Ok(new) => new,
            Err(why) => return Ok((Became::Passed(why.to_owned()), None)),
        };
        let user = self.import().user_id;
        // Held, so that nobody deletes it before the note is in.
        let (project, made) = match home(user).lock(LockType::KeyShare).one(txn).await? {
            Some(project) => (project, None),
            None => {
                let project = make(txn, user, now).await?;
                let id = project.id;
                (project, Some(id))
            }
        };
        if let Some(there) = same(&project, &new).one(txn).await? {
            return Ok((Became::of(ImportedKind::Note, there.id.0, false), made));
        }
        let passages = notes::passages(&new.body);
        let saved_at = given.saved_at.as_deref().and_then(Timestamp::parse).unwrap_or(now);
        let row = notes::add_to_project(txn, &project, new, passages, Priority::Backlog, now).await?;
        notes::was_made(txn, &row, saved_at, now).await?;
        Ok((Became::of(ImportedKind::Note, row.id.0, true), made))
    }

    /// What would become of such a text.
    pub(super) async fn would_note(
        &mut self,
        db: &impl ConnectionTrait,
        given: Note,
    ) -> Result<Became, Error> {
        let new = match read(&given) {
            Ok(new) => new,
            Err(why) => return Ok(Became::Passed(why.to_owned())),
        };
        let there = match home(self.import().user_id).one(db).await? {
            Some(project) => same(&project, &new).one(db).await?.map(|there| there.id),
            None => None,
        };
        let is_new = there.is_none() && self.seen.insert(format!("{}\n{}", new.title, new.body));
        Ok(Became::of(ImportedKind::Note, there.map_or(Uuid::nil(), |NoteId(id)| id), is_new))
    }
}

fn read(given: &Note) -> Result<NewNote, &'static str> {
    if text::char_count(&given.body) > notes::LONGEST {
        return Err("is longer than the 100,000 characters of a note");
    }
    let title = given.title.as_deref().map(|title| text::cut(title, TITLE)).filter(|title| !title.is_empty());
    let title = title.unwrap_or_else(|| notes::first_line(&given.body));
    Ok(NewNote { title, body: given.body.clone(), pinned: given.pinned })
}

fn home(user: UserId) -> Select<project::Entity> {
    project::Entity::owned_by(user)
        .filter(project::Column::Name.eq(NAME))
        .filter(project::Column::Status.eq(ProjectStatus::Active))
        .order_by_asc(project::Column::Id)
}

async fn make(txn: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<project::Model, Error> {
    let row = project::Model {
        id: ProjectId::new(now),
        user_id: user,
        name: NAME.to_owned(),
        description: Some("Texts that imports brought and that belong to no page.".to_owned()),
        instructions: String::new(),
        status: ProjectStatus::Active,
        created_at: now,
        updated_at: now,
    };
    project::Entity::insert(row.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(row)
}

/// The note that says the same.
fn same(project: &project::Model, new: &NewNote) -> Select<note::Entity> {
    note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::Title.eq(&new.title))
        .filter(note::Column::Body.eq(&new.body))
}
