//! The highlights of a bookmark, and what imports said of them.

use std::collections::{HashMap, HashSet};

use entity::id::{BookmarkId, HighlightId, UserId};
use entity::kind::ImportedKind;
use entity::{highlight, import_row};
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::said::{self, Added};
use super::sums;
use crate::error::Error;
use crate::ingest::marks::key;
use crate::ops::bookmarks::save::AT_ONCE;

/// The highlights of a bookmark.
#[derive(Debug, Default)]
pub struct KnownHighlights {
    /// By words and note.
    noted: HashMap<(String, Option<String>), HighlightId>,
    /// By words alone.
    said: HashMap<String, HighlightId>,
    /// By the sums of what imports said: their person may have changed it since.
    brought: HashMap<String, HighlightId>,
    /// Those that imports made, or found.
    imported: HashSet<HighlightId>,
}

impl KnownHighlights {
    /// Those that are there.
    ///
    /// # Errors
    /// The database.
    pub async fn of(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<Self, Error> {
        let rows = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
        let rows = rows.order_by_asc(highlight::Column::Id).all(txn).await?;
        let mut all = Self::default();
        for row in &rows {
            all.add(row);
        }
        for said in said_of(txn, user, rows.iter().map(|row| row.id)).await? {
            let highlight = said.made_id.map(HighlightId);
            all.imported.extend(highlight);
            let sum = Added::read(said.detail.as_deref())?.sum;
            all.brought.extend(sum.zip(highlight));
        }
        Ok(all)
    }

    /// One more, which this import makes.
    pub fn add(&mut self, row: &highlight::Model) {
        let words = key(&row.text);
        self.noted.entry((words.clone(), row.note.clone())).or_insert(row.id);
        self.said.entry(words).or_insert(row.id);
    }

    /// Whether an import made this one, or found it.
    pub fn is_imported(&self, id: HighlightId) -> bool {
        self.imported.contains(&id)
    }

    /// The highlight that says the same already, or did when an import brought it.
    pub fn find(&self, row: &highlight::Model) -> Option<HighlightId> {
        let words = key(&row.text);
        let alone = self.said.get(&words).filter(|_| row.note.is_none());
        let brought = self.brought.get(&sums::of_highlight(row));
        brought.or(alone).or_else(|| self.noted.get(&(words, row.note.clone()))).copied()
    }
}

/// What imports say of these highlights.
///
/// # Errors
/// The database.
pub async fn said_of(
    txn: &impl ConnectionTrait,
    user: UserId,
    highlights: impl IntoIterator<Item = HighlightId>,
) -> Result<Vec<import_row::Model>, Error> {
    let (ids, mut all): (Vec<_>, _) = (highlights.into_iter().map(|id| id.0).collect(), Vec::new());
    for some in ids.chunks(AT_ONCE) {
        let rows = import_row::Entity::owned_by(user)
            .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
            .filter(import_row::Column::MadeId.is_in(some.iter().copied()));
        all.extend(rows.all(txn).await?);
    }
    Ok(all)
}

/// What its person put elsewhere stays theirs, whatever becomes of the imports that brought it.
///
/// # Errors
/// The database.
pub async fn keep_own(txn: &impl ConnectionTrait, user: UserId, id: HighlightId) -> Result<(), Error> {
    for row in said_of(txn, user, [id]).await? {
        let added = Added::read(row.detail.as_deref())?;
        if added.made {
            said::keep(txn, &row, &Added { made: false, ..added }).await?;
        }
    }
    Ok(())
}

/// The highlights of a bookmark that goes stay in it, to be restored with it.
///
/// # Errors
/// The database.
pub async fn stay_in(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<(), Error> {
    let inside = Query::select()
        .column(highlight::Column::Id)
        .from(highlight::Entity)
        .and_where(highlight::Column::UserId.eq(user))
        .and_where(highlight::Column::BookmarkId.eq(id))
        .to_owned();
    import_row::Entity::update_many()
        .col_expr(import_row::Column::MadeId, Expr::value(None::<Uuid>))
        .filter(import_row::Column::UserId.eq(user))
        .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
        .filter(import_row::Column::MadeId.in_subquery(inside))
        .exec(txn)
        .await?;
    Ok(())
}
