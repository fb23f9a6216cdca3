//! The sets by which lists of bookmarks and searches are filtered: the bookmarks with a tag, and those in a collection.

use entity::{bookmark, bookmark_tag, collection_bookmark};
use sea_orm::ColumnTrait;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use values::id::{CollectionId, UserId};

/// A set of bookmarks that the user made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkSet {
    /// The bookmarks with a tag.
    Tag(String),
    /// The bookmarks in a collection.
    Collection(CollectionId),
}

impl BookmarkSet {
    /// Selects the rows of the set, without columns. An index has those with equal flags in the order of the time of saving, and of titles.
    pub fn select(&self, user: UserId) -> SelectStatement {
        let mut rows = Query::select();
        match self {
            Self::Tag(name) => rows
                .from(bookmark_tag::Entity)
                .and_where(bookmark_tag::Column::UserId.eq(user))
                .and_where(bookmark_tag::Column::Name.eq(name.as_str())),
            Self::Collection(id) => rows
                .from(collection_bookmark::Entity)
                .and_where(collection_bookmark::Column::UserId.eq(user))
                .and_where(collection_bookmark::Column::CollectionId.eq(*id)),
        };
        rows
    }

    /// Selects the rows whose bookmarks have one of these values of the flags ([`bookmark::ComputedColumn::Flags`]); with `None` the rows
    /// of any, as an index has them before a time.
    pub fn select_with_flags(&self, user: UserId, flags: Option<Vec<i32>>) -> SelectStatement {
        let flags = flags.unwrap_or_else(|| bookmark::ALL_FLAGS.collect());
        self.select(user).and_where(self.flags().is_in(flags)).take()
    }

    /// Returns the column with the id of the bookmark.
    pub fn bookmark_id(&self) -> Expr {
        match self {
            Self::Tag(_) => bookmark_tag::Column::BookmarkId.into_expr(),
            Self::Collection(_) => collection_bookmark::Column::BookmarkId.into_expr(),
        }
    }

    /// Returns the column with the time at which the bookmark was saved.
    pub fn saved_at(&self) -> Expr {
        match self {
            Self::Tag(_) => bookmark_tag::Column::SavedAt.into_expr(),
            Self::Collection(_) => collection_bookmark::Column::SavedAt.into_expr(),
        }
    }

    /// Returns the column with the flags of the bookmark ([`bookmark::ComputedColumn::Flags`]).
    pub fn flags(&self) -> Expr {
        match self {
            Self::Tag(_) => bookmark_tag::Column::Flags.into_expr(),
            Self::Collection(_) => collection_bookmark::Column::Flags.into_expr(),
        }
    }

    /// Returns the column with the beginning of the title of the bookmark ([`bookmark::ComputedColumn::TitleKey`]).
    pub fn title_key(&self) -> Expr {
        match self {
            Self::Tag(_) => bookmark_tag::Column::TitleKey.into_expr(),
            Self::Collection(_) => collection_bookmark::Column::TitleKey.into_expr(),
        }
    }

    /// Returns the condition that the bookmark of the outer statement is in the set.
    pub fn contains(&self, user: UserId) -> Expr {
        let mut row = self.select(user);
        row.expr(Expr::cust("1"))
            .and_where(self.bookmark_id().equals((bookmark::Entity, bookmark::Column::Id)));
        Expr::exists(row)
    }
}
