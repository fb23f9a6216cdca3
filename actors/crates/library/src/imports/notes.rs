//! Texts without a page, as notes. A note belongs to a project, so these get a separate project.

use entity::{note, project};
use parse::bookmarks::Note;
use sea_orm::sea_query::LockType;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect, Select,
};
use uuid::Uuid;
use values::id::{NoteId, ProjectId, UserId};
use values::kind::{ImportedKind, ProjectStatus};
use values::time::Timestamp;

use super::limits::MAX_NAME_CHARS;
use super::rows::result::RowResult;
use super::session::ImportSession;
use crate::documents::ChunkedDocument;
use crate::notes::{self, NewNote};
use errors::Error;
use jobs::Priority;

/// Name of the project of imported notes.
const PROJECT_NAME: &str = "Imported notes";

impl ImportSession {
    /// Creates a note in the project of imported notes, unless there is one with the same title and text. Also returns the
    /// project if it was created for the note.
    pub(super) async fn save_note(
        &self,
        txn: &impl ConnectionTrait,
        draft: Note,
        now: Timestamp,
    ) -> Result<(RowResult, Option<ProjectId>), Error> {
        let new = match read_note(&draft) {
            Ok(new) => new,
            Err(reason) => return Ok((RowResult::Skipped(reason.to_owned()), None)),
        };
        let user = self.import().user_id;
        // Locked, so that it is not deleted before the note is inserted. An archived project takes no notes, so a new one is created
        // then.
        let existing = notes_project(user).lock(LockType::KeyShare).one(txn).await?;
        let (project, created) = match existing {
            Some(project) => (project, None),
            None => {
                let project = create_project(txn, user, now).await?;
                let id = project.id;
                (project, Some(id))
            }
        };
        if let Some(existing) = same_note(&project, &new).one(txn).await? {
            return Ok((RowResult::of(ImportedKind::Note, existing.id.0, false), created));
        }
        let passages = ChunkedDocument::of_input(&new.body);
        let saved_at = draft.saved_at.as_deref().and_then(Timestamp::parse).unwrap_or(now);
        let row = notes::add_to_project(txn, &project, new, passages, Priority::Backlog, now).await?;
        notes::set_times(txn, &row, saved_at, now).await?;
        Ok((RowResult::of(ImportedKind::Note, row.id.0, true), created))
    }

    /// Previews [`ImportSession::save_note`] for a dry run.
    pub(super) async fn preview_note(
        &mut self,
        db: &impl ConnectionTrait,
        draft: Note,
    ) -> Result<RowResult, Error> {
        let new = match read_note(&draft) {
            Ok(new) => new,
            Err(reason) => return Ok(RowResult::Skipped(reason.to_owned())),
        };
        let existing = match notes_project(self.import().user_id).one(db).await? {
            Some(project) => same_note(&project, &new).one(db).await?.map(|note| note.id),
            None => None,
        };
        let is_new = existing.is_none() && self.record_seen(format!("{}\n{}", new.title, new.body));
        Ok(RowResult::of(ImportedKind::Note, existing.map_or(Uuid::nil(), |NoteId(id)| id), is_new))
    }
}

/// Reads a note. The error is the reason for skipping it.
fn read_note(draft: &Note) -> Result<NewNote, &'static str> {
    // Refused rather than cut: the note may be the only copy of the text.
    if text::char_count(&draft.body) > notes::MAX_BODY_CHARS {
        return Err("is longer than the 100,000 characters of a note");
    }
    let title = draft.title.as_deref().map(|title| text::cut(&text::without_controls(title), MAX_NAME_CHARS));
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| notes::derive_title(&draft.body));
    Ok(NewNote { title, body: draft.body.clone(), pinned: draft.pinned })
}

/// Selects the active projects of imported notes, the oldest first.
fn notes_project(user: UserId) -> Select<project::Entity> {
    project::Entity::owned_by(user)
        .filter(project::Column::Name.eq(PROJECT_NAME))
        .filter(project::Column::Status.eq(ProjectStatus::Active))
        .order_by_asc(project::Column::Id)
}

async fn create_project(
    txn: &impl ConnectionTrait,
    user: UserId,
    now: Timestamp,
) -> Result<project::Model, Error> {
    let row = project::Model {
        id: ProjectId::new(now),
        user_id: user,
        name: PROJECT_NAME.to_owned(),
        description: Some("Texts that imports brought and that belong to no page.".to_owned()),
        instructions: String::new(),
        status: ProjectStatus::Active,
        created_at: now,
        updated_at: now,
    };
    project::Entity::insert(row.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(row)
}

/// Selects the notes of a project with the same title and text.
fn same_note(project: &project::Model, new: &NewNote) -> Select<note::Entity> {
    note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::Title.eq(&new.title))
        .filter(note::Column::Body.eq(&new.body))
}
