//! The orders of a list of bookmarks, and the positions in it.

use database::compare_rows;
use entity::bookmark;
use library::bookmarks::BookmarkSet;
use sea_orm::sea_query::{BinOper, Expr, SelectStatement};
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
    key: SortKey,
    pub(super) id: BookmarkId,
}

/// The value by which a row is sorted, in the orders by a time and by title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SortKey {
    /// Milliseconds since 1970. The text of a time is longer, and has no year after 9999.
    TimeMillis(i64),
    Title(String),
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

    /// Returns the column of the rows of a set by which the list is sorted, if the list can be read in their order
    /// (`BookmarkFilter::scanned_set`).
    pub(super) fn key_in(self, set: &BookmarkSet) -> Expr {
        if self.is_by_saving() { set.saved_at() } else { set.title_key() }
    }

    /// Adds the columns of a candidate to a statement: [`ID`], and [`SORT_KEY`] if the list is sorted by the time of saving. The other keys
    /// are only in the table of the bookmarks.
    pub(super) fn select_candidate(self, rows: &mut SelectStatement, id: Expr, saved_at: Expr) {
        rows.expr_as(id, ID);
        if self.is_by_saving() {
            rows.expr_as(saved_at, SORT_KEY);
        }
    }

    /// Sorts the rows of a statement with the columns [`SORT_KEY`] and [`ID`], and keeps the first ones.
    pub(super) fn sort(self, statement: &mut SelectStatement, limit: u64) {
        let order = if self.is_descending() { Order::Desc } else { Order::Asc };
        statement.order_by(SORT_KEY, order.clone()).order_by(ID, order).limit(limit);
    }

    /// Returns the condition that a row with these columns comes after a position.
    pub(super) fn is_after(self, key: Expr, id: Expr, after: &BookmarkPosition) -> Expr {
        let comparison = if self.is_descending() { BinOper::SmallerThan } else { BinOper::GreaterThan };
        compare_rows([key, id], comparison, after.values())
    }

    /// Returns the condition that a row with these columns is at a position or before it.
    pub(super) fn is_until(self, key: Expr, id: Expr, until: &BookmarkPosition) -> Expr {
        let comparison =
            if self.is_descending() { BinOper::GreaterThanOrEqual } else { BinOper::SmallerThanOrEqual };
        compare_rows([key, id], comparison, until.values())
    }

    /// Reads a row with the columns [`SORT_KEY`] and [`ID`].
    ///
    /// # Errors
    /// [`DbErr`] when the row has no such columns.
    pub(super) fn read(self, row: &QueryResult) -> Result<BookmarkPosition, DbErr> {
        let key = match self {
            Self::SavedAt | Self::SavedAtDescending | Self::UpdatedAt | Self::UpdatedAtDescending => {
                SortKey::TimeMillis(row.try_get::<Timestamp>("", SORT_KEY)?.millis())
            }
            Self::Title => SortKey::Title(row.try_get("", SORT_KEY)?),
        };
        Ok(BookmarkPosition { key, id: row.try_get("", ID)? })
    }
}

impl BookmarkPosition {
    /// Returns the values of the columns [`SORT_KEY`] and [`ID`].
    fn values(&self) -> [Expr; 2] {
        let key = match &self.key {
            SortKey::TimeMillis(millis) => Expr::value(Timestamp::from_millis(*millis)),
            SortKey::Title(title) => Expr::value(title.as_str()),
        };
        [key, Expr::value(self.id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_of_a_cursor_is_read_as_it_was_written() {
        // 10000-01-01.
        let late = SortKey::TimeMillis(253_402_300_800_000);
        for key in [late, SortKey::TimeMillis(-1), SortKey::Title("Heron".to_owned())] {
            let written = BookmarkPosition { key, id: BookmarkId::new(Timestamp::from_millis(0)) };

            let read: BookmarkPosition =
                serde_json::from_str(&serde_json::to_string(&written).unwrap()).unwrap();

            assert_eq!(read, written);
        }
    }
}
