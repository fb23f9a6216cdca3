//! What rows of imports say of a bookmark or an entry that is there: what was new to it, and what it had already.

use entity::id::CollectionId;
use entity::import_row::{Column, Entity, Model};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};

use super::paragraphs;
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
    /// Paragraphs of its notes.
    pub(super) written: Vec<String>,
    /// An entry is read.
    pub(super) read: bool,
    /// An entry is starred.
    pub(super) starred: bool,
}

impl Said {
    /// The marks of an entry.
    pub fn flags(read: bool, starred: bool) -> Self {
        Self { read, starred, ..Self::default() }
    }

    /// Whether a text says something that is written here, or is said by it.
    fn is_written_in(&self, text: &str) -> bool {
        self.written.iter().any(|own| paragraphs::says(text, own) || paragraphs::says(own, text))
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
            written: self.written.iter().filter(|text| known.is_written_in(text)).cloned().collect(),
            read: self.read && known.read,
            starred: self.starred && known.starred,
        };
        self.tags.retain(|tag| !both.tags.contains(tag));
        self.collections.retain(|id| !both.collections.contains(id));
        self.favorite &= !both.favorite;
        self.archived &= !both.archived;
        self.progress = self.progress.filter(|_| both.progress.is_none());
        self.written.retain(|text| !both.written.contains(text));
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
        self.written.extend(more.written);
        self.read |= more.read;
        self.starred |= more.starred;
    }
}

/// What a row added, and what of it was there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// The row made the thing itself.
    #[serde(default)]
    pub(super) made: bool,
    #[serde(flatten)]
    pub(super) new: Said,
    /// Goes over to this row where another import that had added it is taken back.
    #[serde(default)]
    pub(super) known: Said,
    /// The sum of what the row made ([`super::sums`]), or says of what was there.
    #[serde(default)]
    pub(super) sum: Option<String>,
}

impl Added {
    /// Of what the row made.
    pub fn with(new: Said) -> Box<Self> {
        Box::new(Self { new, ..Self::default() })
    }

    /// Of what was there, and a row says in its own way.
    pub fn said(sum: String) -> Box<Self> {
        Box::new(Self { sum: Some(sum), ..Self::default() })
    }

    /// As it is kept with its row; nothing for nothing.
    ///
    /// # Errors
    /// It cannot be put into JSON.
    pub fn kept(&self) -> Result<Option<String>, Error> {
        let says_something = *self != Self::default();
        says_something.then(|| serde_json::to_string(self).map_err(Error::internal)).transpose()
    }

    /// Reads what was kept.
    ///
    /// # Errors
    /// It is damaged.
    pub fn read(kept: Option<&str>) -> Result<Self, Error> {
        kept.map_or(Ok(Self::default()), |kept| serde_json::from_str(kept).map_err(Error::internal))
    }
}

/// What only this row added. The rest is handed on to the rows of other imports that say it too.
///
/// # Errors
/// The database.
pub async fn alone(txn: &impl ConnectionTrait, row: &Model) -> Result<Said, Error> {
    let mut new = Added::read(row.detail.as_deref())?.new;
    let others = Entity::owned_by(row.user_id)
        .filter(Column::MadeId.eq(row.made_id))
        .filter(Column::ImportId.ne(row.import_id))
        .order_by_asc(Column::Id);
    for other in others.all(txn).await? {
        let mut added = Added::read(other.detail.as_deref())?;
        let both = new.part(&added.known);
        if both != Said::default() {
            added.new.join(both);
            keep(txn, &other, &added).await?;
        }
    }
    Ok(new)
}

/// Writes down with a row what it added from now on.
///
/// # Errors
/// The database.
pub async fn keep(txn: &impl ConnectionTrait, row: &Model, added: &Added) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::Detail, Expr::value(added.kept()?))
        .filter(Column::UserId.eq(row.user_id))
        .filter(Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    Ok(())
}
