//! The orders of a list of bookmarks, and the positions in it.

use entity::bookmark;
use sea_orm::sea_query::{Expr, ExprTrait, SelectStatement};
use sea_orm::{ColumnTrait, DbErr, Order, QueryResult};
use serde::{Deserialize, Serialize};
use validation::choices;
use values::id::BookmarkId;
use values::time::Timestamp;

choices! {
    /// The order of a list of bookmarks.
    pub enum BookmarkSort {
        /// By the time of saving, oldest first.
        SavedAt = "savedAt",
        /// By the time of saving, newest first.
        SavedAtDescending = "-savedAt",
        /// By title, in ascending order.
        Title = "title",
        /// By the time of the last change, oldest first.
        UpdatedAt = "updatedAt",
        /// By the time of the last change, newest first.
        UpdatedAtDescending = "-updatedAt",
    }
}

/// Column of the statements of a list: the value by which it is sorted.
pub(super) const SORT_KEY: &str = "sort_key";
/// Column of the statements of a list: the bookmark.
pub(super) const ID: &str = "id";

/// A row of the list: its sort key, and its id for rows with the same key. The one of the last row is the cursor of the next page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BookmarkPosition {
    number: i64,
    title: String,
    pub(super) id: BookmarkId,
}

impl BookmarkSort {
    /// Returns whether the list is sorted by the time of saving.
    pub(super) fn is_by_saving(self) -> bool {
        matches!(self, Self::SavedAt | Self::SavedAtDescending)
    }

    /// Returns whether the list is sorted by the time of the last change.
    pub(super) fn is_by_change(self) -> bool {
        matches!(self, Self::UpdatedAt | Self::UpdatedAtDescending)
    }

    /// Returns whether the list begins with the largest key.
    pub(super) fn is_descending(self) -> bool {
        matches!(self, Self::SavedAtDescending | Self::UpdatedAtDescending)
    }

    /// Returns the column of bookmarks by which the list is sorted. By title these are the first 600 characters, as compared by the
    /// database: byte by byte on SQLite, by the collation of the database on PostgreSQL.
    pub(super) fn key(self) -> Expr {
        match self {
            Self::SavedAt | Self::SavedAtDescending => bookmark::Column::SavedAt.into_expr(),
            Self::UpdatedAt | Self::UpdatedAtDescending => bookmark::Column::UpdatedAt.into_expr(),
            Self::Title => Expr::col((bookmark::Entity, bookmark::ComputedColumn::TitleKey)),
        }
    }

    /// Sorts the rows of a statement with the columns [`SORT_KEY`] and [`ID`], and keeps the first ones.
    pub(super) fn sort(self, statement: &mut SelectStatement, limit: u64) {
        let order = if self.is_descending() { Order::Desc } else { Order::Asc };
        statement.order_by(SORT_KEY, order.clone()).order_by(ID, order).limit(limit);
    }

    /// Returns the condition that a row with these columns comes after a position.
    pub(super) fn is_after(self, key: Expr, id: Expr, after: &BookmarkPosition) -> Expr {
        let (row, last) = self.compared(key, id, after);
        if self.is_descending() { row.lt(last) } else { row.gt(last) }
    }

    /// Returns the condition that a row with these columns is at a position or before it.
    pub(super) fn is_until(self, key: Expr, id: Expr, until: &BookmarkPosition) -> Expr {
        let (row, last) = self.compared(key, id, until);
        if self.is_descending() { row.gte(last) } else { row.lte(last) }
    }

    /// Returns the columns and the values of a position as rows: an index is not searched by the alternatives of an OR.
    fn compared(self, key: Expr, id: Expr, position: &BookmarkPosition) -> (Expr, Expr) {
        let value = if self == Self::Title {
            Expr::value(position.title.as_str())
        } else {
            Expr::value(Timestamp::from_millis(position.number))
        };
        (Expr::tuple([key, id]), Expr::tuple([value, Expr::value(position.id)]))
    }

    /// Reads a row with the columns [`SORT_KEY`] and [`ID`].
    ///
    /// # Errors
    /// [`DbErr`] when the row has no such columns.
    pub(super) fn read(self, row: &QueryResult) -> Result<BookmarkPosition, DbErr> {
        // Only the key of this order is part of the cursor, so that cursors by time are short.
        let (number, title) = if self == Self::Title {
            (0, row.try_get("", SORT_KEY)?)
        } else {
            (row.try_get::<Timestamp>("", SORT_KEY)?.millis(), String::new())
        };
        Ok(BookmarkPosition { number, title, id: row.try_get("", ID)? })
    }
}
