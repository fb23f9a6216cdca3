//! Lists projects, most recently active first (spec.md: GET /projects, list_projects).
//!
//! A project that becomes active while a client reads the pages jumps to the front, over the pages that were read already. So a
//! cursor contains, besides the position of the next page, which projects were returned and the time of the list's first project.
//! Projects that jumped since and were not returned come next. The pages are complete and without repeats.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::project::{Column, Entity, Model};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect, Select};
use serde::{Deserialize, Serialize};
use values::id::{ProjectId, UserId};
use values::kind::ProjectStatus;
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, ProjectView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, PageRequest};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::{Choice, Integer, request};

/// The field `limit` of a list of projects: 1 to 50 (spec.md: Limits, rule 6).
pub type ProjectLimit = Integer<1, 50>;
const DEFAULT_LIMIT: u64 = 20;
/// Maximum number of returned projects in a cursor, which must stay short. Beyond it, projects that jump to the front are missing
/// until the client reads the list from its start.
const MAX_CURSOR_PROJECTS: usize = 900;

/// Lists the projects of a status, most recently active first.
#[derive(Debug)]
pub struct ListProjects {
    status: ProjectStatus,
    page: PageRequest,
}

request! {
    /// A page of the projects of the user.
    pub struct ListProjectsRequest {
        /// Status of the projects. Default `active`.
        pub status?: Choice<ProjectStatus>,
        /// Maximum number of projects. Default 20.
        pub limit?: ProjectLimit,
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
    }
}

impl FromRequest for ListProjects {
    type Request = ListProjectsRequest;

    fn from_request(_: &Target, request: ListProjectsRequest) -> Result<Self, Error> {
        Ok(Self::new(request))
    }
}

impl ListProjects {
    fn new(request: ListProjectsRequest) -> Self {
        Self {
            status: request.status.map_or(ProjectStatus::Active, Choice::into_inner),
            page: PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT),
        }
    }

    /// Requests the first page. Without `status` it has the active projects, without `limit` up to 20.
    pub fn first_page(status: Option<Choice<ProjectStatus>>, limit: Option<ProjectLimit>) -> Self {
        Self::new(ListProjectsRequest { status, limit, cursor: None })
    }
}

/// A page of projects, most recently active first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListProjectsResponse {
    /// The projects of the page.
    pub projects: Vec<ProjectView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListProjects {
    type Reply = ListProjectsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    fn count(reply: &ListProjectsResponse) -> Option<usize> {
        Some(reply.projects.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListProjectsResponse, Error> {
        let list = self.page.of_list(ctx, caller, ListName::selected_by("projects", self.status));
        let before: Option<ProjectPosition> = list.position()?;
        let mut rows = self.rows(caller.user, &ctx.core, before.as_ref(), list.fetch_limit()).await?;
        let limit = usize::try_from(list.limit()).unwrap_or(usize::MAX);
        let has_next = rows.len() > limit;
        rows.truncate(limit);
        let position = ProjectPosition::after(before, &rows).filter(|_| has_next);
        let next_cursor = position.map(|position| list.seal(&position));
        Ok(ListProjectsResponse {
            projects: view::load_views(ctx.core.db.read(), caller.user, rows).await?,
            next_cursor,
        })
    }
}

impl ListProjects {
    /// Returns the rows after a position, at most `limit` of them apart from those that jumped.
    async fn rows(
        &self,
        user: UserId,
        core: &CoreContext,
        before: Option<&ProjectPosition>,
        limit: u64,
    ) -> Result<Vec<Model>, Error> {
        let listed = || select_projects(user, Some(self.status));
        let mut rows = Vec::new();
        let mut rest = listed();
        if let Some(before) = before {
            if let Some(shown) = before.shown() {
                rows = listed().filter(before.jumped()).all(core.db.read()).await?;
                rows.retain(|row| !shown.contains(&random_part(row.id)));
            }
            rest = rest.filter(before.behind());
        }
        let missing = limit.saturating_sub(rows.len() as u64);
        rows.extend(rest.limit(missing).all(core.db.read()).await?);
        Ok(rows)
    }
}

/// Selects the projects of a user, most recently active first: those of a status, or all.
pub(super) fn select_projects(user: UserId, status: Option<ProjectStatus>) -> Select<Entity> {
    let own = Entity::owned_by(user).order_by_desc(Column::UpdatedAt).order_by_desc(Column::Id);
    match status {
        Some(status) => own.filter(Column::Status.eq(status)),
        None => own,
    }
}

/// Returns all projects of a user, or all with a status, most recently active first, for the command line.
pub async fn list_projects(
    core: &CoreContext,
    user: UserId,
    status: Option<ProjectStatus>,
) -> Result<Vec<ProjectView>, Error> {
    let rows = select_projects(user, status).all(core.db.read()).await?;
    view::load_views(core.db.read(), user, rows).await
}

/// The end of a page.
#[derive(Serialize, Deserialize)]
struct ProjectPosition {
    /// When the first project of the list was last active at the time of the first page, in milliseconds.
    began: i64,
    /// When the last returned project of the original order was active, in milliseconds.
    at: i64,
    /// Id of that project, for projects with the same time.
    id: ProjectId,
    /// Eight bytes of the id of each returned project, in Base64.
    shown: String,
}

impl ProjectPosition {
    /// Returns the position after these rows; `None` if the list is empty.
    fn after(before: Option<ProjectPosition>, rows: &[Model]) -> Option<Self> {
        let mut position = match before {
            Some(before) => before,
            None => {
                let first = rows.first()?;
                let at = first.updated_at.millis();
                ProjectPosition { began: at, at, id: first.id, shown: String::new() }
            }
        };
        let mut shown = URL_SAFE_NO_PAD.decode(&position.shown).ok()?;
        // One more than the maximum is kept, so that the next page sees that the cursor is incomplete.
        shown.extend(rows.iter().flat_map(|row| random_part(row.id)));
        position.shown = URL_SAFE_NO_PAD.encode(shown.get(..(MAX_CURSOR_PROJECTS + 1) * 8).unwrap_or(&shown));
        // The oldest row: projects that jumped are newer than the position, and must not move it back to the front.
        let last = (position.at, position.id);
        (position.at, position.id) =
            rows.iter().map(|row| (row.updated_at.millis(), row.id)).fold(last, Ord::min);
        Some(position)
    }

    /// Selects the projects behind the position, in the order that the list had at its start.
    fn behind(&self) -> Condition {
        let at = Timestamp::from_millis(self.at);
        let same_time = Condition::all().add(Column::UpdatedAt.eq(at)).add(Column::Id.lt(self.id));
        Condition::any().add(Column::UpdatedAt.lt(at)).add(same_time)
    }

    /// Selects the projects that may have jumped over the pages that were read: they existed at the start and were active
    /// since.
    fn jumped(&self) -> Condition {
        let began = Timestamp::from_millis(self.began);
        Condition::all()
            .add(Column::UpdatedAt.gte(began))
            .add(Column::CreatedAt.lte(began))
            .add(self.behind().not())
    }

    /// Returns which projects were returned; `None` if they are too many for a cursor.
    fn shown(&self) -> Option<HashSet<[u8; 8]>> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.shown).ok()?;
        let (shown, _) = bytes.as_chunks::<8>();
        (shown.len() <= MAX_CURSOR_PROJECTS).then(|| shown.iter().copied().collect())
    }
}

/// Returns the random part of an id, which no two projects of a user share.
fn random_part(id: ProjectId) -> [u8; 8] {
    id.0.as_u64_pair().1.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use values::id::UserId;

    use super::*;

    fn row(at: i64) -> Model {
        let now = Timestamp::from_millis(at);
        Model {
            id: ProjectId::new(now),
            user_id: UserId::new(now),
            name: String::new(),
            description: None,
            instructions: String::new(),
            status: ProjectStatus::Active,
            created_at: now,
            updated_at: now,
        }
    }

    #[test]
    fn position_is_the_last_row_in_the_original_order() {
        let first = [row(9), row(7)];
        let position = ProjectPosition::after(None, &first).unwrap();
        assert_eq!((position.began, position.at, position.id), (9, 7, first[1].id));

        let jumped = [row(12), row(11)];
        let position = ProjectPosition::after(Some(position), &jumped).unwrap();
        assert_eq!((position.began, position.at, position.id), (9, 7, first[1].id));
        let shown = position.shown().unwrap();
        assert!(first.iter().chain(&jumped).all(|row| shown.contains(&random_part(row.id))));
    }

    #[test]
    fn cursor_stays_short_with_many_projects() {
        let rows: Vec<Model> = (0..2000).map(row).collect();
        let position = ProjectPosition::after(None, &rows).unwrap();

        assert!(position.shown().is_none());
        assert!(position.shown.len() < 10_000);
        assert!(ProjectPosition::after(Some(position), &rows).unwrap().shown().is_none());
    }

    proptest! {
        /// The pages of a list in memory, while projects jump to its front between them.
        #[test]
        fn pages_are_complete_without_repeats_while_projects_jump(
            count in 1_usize..30, limit in 1_usize..7, jumps in prop::collection::vec(prop::collection::vec(0_usize..30, 0..4), 0..30)
        ) {
            let mut rows: Vec<Model> = (0..count).map(|n| row(i64::try_from(n / 2).unwrap())).collect();
            let (mut clock, mut read, mut before) = (100, Vec::new(), None::<ProjectPosition>);
            for page in 0.. {
                rows.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.id)));
                let mut next: Vec<Model> = match &before {
                    None => rows.clone(),
                    Some(before) => {
                        let shown = before.shown().unwrap();
                        let behind = |row: &Model| (row.updated_at.millis(), row.id) < (before.at, before.id);
                        let jumped = |row: &Model| row.updated_at.millis() >= before.began && !behind(row);
                        let unseen = rows.iter().filter(|row| jumped(row) && !shown.contains(&random_part(row.id)));
                        unseen.chain(rows.iter().filter(|row| behind(row))).cloned().collect()
                    }
                };
                let has_next = next.len() > limit;
                next.truncate(limit);
                read.extend(next.iter().map(|row| row.id));
                if !has_next {
                    break;
                }
                before = ProjectPosition::after(before, &next);
                for jump in jumps.get(page).into_iter().flatten() {
                    clock += 1;
                    let index = jump % rows.len();
                    rows[index].updated_at = Timestamp::from_millis(clock);
                }
            }
            prop_assert_eq!(read.iter().collect::<HashSet<_>>().len(), read.len());
            prop_assert_eq!(read.len(), count);
        }
    }
}
