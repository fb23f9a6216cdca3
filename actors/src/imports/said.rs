//! What rows of imports say of a bookmark or an entry that is there: what was new to it, and what it had already.

use entity::id::CollectionId;
use entity::import_row::{Column, Entity, Model};
use entity::kind::RowOutcome;
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Labels, marks, progress and notes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Said {
    pub(super) tags: Vec<String>,
    pub(super) collections: Vec<CollectionId>,
    pub(super) favorite: bool,
    pub(super) archived: bool,
    pub(super) progress: Option<f64>,
    /// Of what is new, with the space that parts it from the notes before it.
    pub(super) notes: Option<String>,
    /// When the notes before it were changed last.
    pub(super) noted_at: Option<Timestamp>,
    /// An entry is read.
    pub(super) read: bool,
    /// An entry is starred.
    pub(super) starred: bool,
}

impl Said {
    /// The marks of an entry.
    pub fn marks(read: bool, starred: bool) -> Self {
        Self { read, starred, ..Self::default() }
    }

    /// Takes out what this says too.
    fn part(&mut self, known: &Self) -> Self {
        let both = Self {
            tags: self.tags.iter().filter(|tag| known.tags.contains(tag)).cloned().collect(),
            collections: self
                .collections
                .iter()
                .filter(|id| known.collections.contains(id))
                .copied()
                .collect(),
            favorite: self.favorite && known.favorite,
            archived: self.archived && known.archived,
            progress: self.progress.filter(|progress| known.progress == Some(*progress)),
            notes: self.notes.clone().filter(|notes| known.notes.as_ref().is_some_and(|n| notes.contains(n))),
            noted_at: None,
            read: self.read && known.read,
            starred: self.starred && known.starred,
        };
        let both = Self { noted_at: self.noted_at.filter(|_| both.notes.is_some()), ..both };
        self.tags.retain(|tag| !both.tags.contains(tag));
        self.collections.retain(|id| !both.collections.contains(id));
        self.favorite &= !both.favorite;
        self.archived &= !both.archived;
        self.progress = self.progress.filter(|_| both.progress.is_none());
        self.notes = self.notes.take().filter(|_| both.notes.is_none());
        self.noted_at = self.noted_at.filter(|_| both.notes.is_none());
        self.read &= !both.read;
        self.starred &= !both.starred;
        both
    }

    /// Says this as well.
    fn join(&mut self, more: Self) {
        self.tags.extend(more.tags);
        self.collections.extend(more.collections);
        self.favorite |= more.favorite;
        self.archived |= more.archived;
        self.progress = self.progress.or(more.progress);
        self.notes = self.notes.take().or(more.notes);
        self.noted_at = self.noted_at.or(more.noted_at);
        self.read |= more.read;
        self.starred |= more.starred;
    }
}

/// What a row added, and what of it was there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Added {
    #[serde(flatten)]
    pub(super) new: Said,
    /// Goes over to this row where another import that had added it is taken back.
    #[serde(default)]
    pub(super) known: Said,
}

impl Added {
    /// As it is kept with its row; nothing for nothing.
    pub fn kept(&self) -> Option<String> {
        (*self != Self::default()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Reads what was kept.
    pub fn read(kept: Option<&str>) -> Self {
        kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default()
    }
}

/// What only this row added to a thing that is held. The rest is handed on to the rows of other imports that say it too.
///
/// # Errors
/// The database.
pub async fn alone(txn: &impl ConnectionTrait, row: &Model) -> Result<Said, Error> {
    // Read again: another import may have handed something on until the thing was held.
    let own = Entity::within(row.user_id, row.import_id).filter(Column::Id.eq(row.id)).one(txn).await?;
    let mut new = Added::read(own.and_then(|row| row.detail).as_deref()).new;
    let others = Entity::owned_by(row.user_id)
        .filter(Column::MadeId.eq(row.made_id))
        .filter(Column::ImportId.ne(row.import_id))
        .filter(Column::Outcome.eq(RowOutcome::Updated))
        .order_by_asc(Column::Id);
    for other_row in others.all(txn).await? {
        let mut other = Added::read(other_row.detail.as_deref());
        let both = new.part(&other.known);
        if both != Said::default() {
            other.new.join(both);
            Entity::update_many()
                .col_expr(Column::Detail, Expr::value(other.kept()))
                .filter(Column::UserId.eq(row.user_id))
                .filter(Column::Id.eq(other_row.id))
                .exec(txn)
                .await?;
        }
    }
    Ok(new)
}
