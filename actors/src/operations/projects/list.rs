//! The list of projects, most recently active first (spec.md: GET /projects, list_projects).
//!
//! A project that becomes active while somebody pages jumps to the front, over the pages that were read already. So a
//! cursor holds, beside the place where the next page begins, which projects were shown and how recent the list was at
//! its start: what jumped since and was not shown comes next. The pages stay complete, and nothing comes twice.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::id::{ProjectId, UserId};
use entity::kind::ProjectStatus;
use entity::project::{Column, Entity, Model};
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use serde::{Deserialize, Serialize};

use super::view::{self, ProjectView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use crate::pipeline::Operation;

/// Which projects are listed.
pub const LIST_STATUS: Field = Field::optional(
    "status",
    Kind::Choice(ProjectStatus::NAMES),
    "Status of the projects. Default `active`.",
);
/// How many.
pub const LIST_LIMIT: Field =
    Field::optional("limit", Kind::Integer { min: 1, max: 50 }, "Maximum number of projects. Default 20.");
const DEFAULT_LIMIT: u64 = 20;
/// A cursor holds no more shown projects; with more of them, what jumps to the front stays away until the list is read anew.
const MOST_SHOWN: usize = 900;

/// A page of projects.
#[derive(Debug)]
pub struct ListProjects {
    status: ProjectStatus,
    page: PageOf,
}

impl ListProjects {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[LIST_STATUS, LIST_LIMIT, CURSOR];

    /// Reads the parameters.
    pub fn read(_: &Target, values: Values) -> Result<Self, Error> {
        Ok(Self::from_values(values))
    }

    /// Reads the fields, wherever they come from.
    pub fn from_values(mut values: Values) -> Self {
        let status = values.name("status").and_then(|name| name.parse().ok());
        Self {
            status: status.unwrap_or(ProjectStatus::Active),
            page: PageOf::read(&mut values, DEFAULT_LIMIT),
        }
    }
}

/// A page of projects, most recently active first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListProjectsResponse {
    /// The projects.
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
        let list = format!("projects:{}", self.status);
        let before: Option<Position> = self.page.position(ctx, caller.user, &list)?;
        let mut rows = self.rows(caller.user, ctx, before.as_ref()).await?;
        let most = usize::try_from(self.page.limit).unwrap_or(usize::MAX);
        let more = rows.len() > most;
        rows.truncate(most);
        let position = Position::after(before, &rows).filter(|_| more);
        let next_cursor = position.map(|position| ctx.cursors.seal(caller.user.0, &list, &position));
        Ok(ListProjectsResponse {
            projects: view::many(ctx.core.db.read(), caller.user, rows).await?,
            next_cursor,
        })
    }
}

impl ListProjects {
    /// The rows of the page and one more, where there are more.
    async fn rows(&self, user: UserId, ctx: &OperationContext, before: Option<&Position>) -> Result<Vec<Model>, Error> {
        let listed = || {
            let own = Entity::owned_by(user).filter(Column::Status.eq(self.status));
            own.order_by_desc(Column::UpdatedAt).order_by_desc(Column::Id)
        };
        let mut rows = Vec::new();
        let mut rest = listed();
        if let Some(before) = before {
            if let Some(shown) = before.shown() {
                rows = listed().filter(before.jumped()).all(ctx.core.db.read()).await?;
                rows.retain(|row| !shown.contains(&short(row.id)));
            }
            rest = rest.filter(before.behind());
        }
        let room = (self.page.limit + 1).saturating_sub(rows.len() as u64);
        rows.extend(rest.limit(room).all(ctx.core.db.read()).await?);
        Ok(rows)
    }
}

/// Where a page ended.
#[derive(Serialize, Deserialize)]
struct Position {
    /// How recent the list was at its start, in milliseconds.
    began: i64,
    /// The last project in the order of that time: when it was active, in milliseconds, and which it is.
    at: i64,
    id: ProjectId,
    /// Eight bytes of each project that was shown.
    shown: String,
}

impl Position {
    /// After these rows; `None` where there was nothing at all.
    fn after(before: Option<Position>, rows: &[Model]) -> Option<Self> {
        let mut position = match before {
            Some(before) => before,
            None => {
                let first = rows.first()?;
                let at = first.updated_at.millis();
                Position { began: at, at, id: first.id, shown: String::new() }
            }
        };
        let mut shown = URL_SAFE_NO_PAD.decode(&position.shown).ok()?;
        shown.extend(rows.iter().flat_map(|row| short(row.id)));
        position.shown = URL_SAFE_NO_PAD.encode(shown.get(..(MOST_SHOWN + 1) * 8).unwrap_or(&shown));
        let place = |at: i64, id: ProjectId| (at, id);
        let here = place(position.at, position.id);
        let furthest = rows.iter().map(|row| place(row.updated_at.millis(), row.id)).fold(here, Ord::min);
        (position.at, position.id) = furthest;
        Some(position)
    }

    /// What was not reached yet, in the order of the list's start.
    fn behind(&self) -> Condition {
        let at = Timestamp::from_millis(self.at);
        let alike = Condition::all().add(Column::UpdatedAt.eq(at)).add(Column::Id.lt(self.id));
        Condition::any().add(Column::UpdatedAt.lt(at)).add(alike)
    }

    /// What may have jumped over the pages that were read: it was there at the start and was active since.
    fn jumped(&self) -> Condition {
        let began = Timestamp::from_millis(self.began);
        Condition::all()
            .add(Column::UpdatedAt.gte(began))
            .add(Column::CreatedAt.lte(began))
            .add(self.behind().not())
    }

    /// What was shown; `None` where it is too much to hold.
    fn shown(&self) -> Option<HashSet<[u8; 8]>> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.shown).ok()?;
        let (shown, _) = bytes.as_chunks::<8>();
        (shown.len() <= MOST_SHOWN).then(|| shown.iter().copied().collect())
    }
}

/// The part of an id that is left to chance: two of one person's projects do not share it.
fn short(id: ProjectId) -> [u8; 8] {
    id.0.as_u64_pair().1.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use entity::id::UserId;
    use proptest::prelude::*;

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
    fn a_position_is_the_last_row_in_the_order_of_the_start_and_knows_all_that_was_shown() {
        let first = [row(9), row(7)];
        let position = Position::after(None, &first).unwrap();
        assert_eq!((position.began, position.at, position.id), (9, 7, first[1].id));

        let jumped = [row(12), row(11)];
        let position = Position::after(Some(position), &jumped).unwrap();
        assert_eq!((position.began, position.at, position.id), (9, 7, first[1].id));
        let shown = position.shown().unwrap();
        assert!(first.iter().chain(&jumped).all(|row| shown.contains(&short(row.id))));
    }

    #[test]
    fn a_cursor_stays_short_however_many_projects_were_shown() {
        let rows: Vec<Model> = (0..2000).map(row).collect();
        let position = Position::after(None, &rows).unwrap();

        assert!(position.shown().is_none());
        assert!(position.shown.len() < 10_000);
        assert!(Position::after(Some(position), &rows).unwrap().shown().is_none());
    }

    proptest! {
        /// The pages of a list in memory, while projects jump to its front between them.
        #[test]
        fn pages_are_complete_and_without_repeats_while_projects_jump(
            count in 1_usize..30, limit in 1_usize..7, jumps in prop::collection::vec(prop::collection::vec(0_usize..30, 0..4), 0..30)
        ) {
            let mut rows: Vec<Model> = (0..count).map(|n| row(i64::try_from(n / 2).unwrap())).collect();
            let (mut clock, mut read, mut before) = (100, Vec::new(), None::<Position>);
            for page in 0.. {
                rows.sort_by_key(|row| std::cmp::Reverse((row.updated_at, row.id)));
                let mut next: Vec<Model> = match &before {
                    None => rows.clone(),
                    Some(before) => {
                        let shown = before.shown().unwrap();
                        let behind = |row: &Model| (row.updated_at.millis(), row.id) < (before.at, before.id);
                        let jumped = |row: &Model| row.updated_at.millis() >= before.began && !behind(row);
                        let unseen = rows.iter().filter(|row| jumped(row) && !shown.contains(&short(row.id)));
                        unseen.chain(rows.iter().filter(|row| behind(row))).cloned().collect()
                    }
                };
                let more = next.len() > limit;
                next.truncate(limit);
                read.extend(next.iter().map(|row| row.id));
                if !more {
                    break;
                }
                before = Position::after(before, &next);
                for jump in jumps.get(page).into_iter().flatten() {
                    clock += 1;
                    let place = jump % rows.len();
                    rows[place].updated_at = Timestamp::from_millis(clock);
                }
            }
            prop_assert_eq!(read.iter().collect::<HashSet<_>>().len(), read.len());
            prop_assert_eq!(read.len(), count);
        }
    }
}
