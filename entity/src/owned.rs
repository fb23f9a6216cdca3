//! Finders and changes shared by all tables that belong to users. They start from the owner, so that a query cannot omit it.
//!
//! A name selects the same rows in every table:
//!
//! | Name | Rows |
//! |---|---|
//! | `owned_by` | all rows of the user, in a table without deleted or hidden rows |
//! | `with_deleted`, `with_hidden` | all bookmarks, all documents of the user, including deleted and hidden ones |
//! | `update_owned`, `delete_owned` | all rows of the user, including deleted and hidden ones |
//! | `update_owned_row`, `delete_owned_row` | of these, the one with the primary key of the given row |
//! | `one_of` | of these, the one with this id |
//! | `visible_to` | the rows that the user may see: without deleted and hidden ones |
//! | `one_visible_to` | of these, the one with this id |
//! | `one_of_document` | the row that belongs to a document with this id |
//! | `of_documents` | the rows that belong to documents with these ids |
//! | `of_every_user`, `with_hidden_of_every_user`, `visible_of_every_user` | as `owned_by`, `with_hidden` and `visible_to`, of all users |
//! | `is_beyond_newest` | a condition: the rows of the user that are older than a number of newest ones |

/// Declares that a table has no relations; finders name the tables that they join.
macro_rules! no_relations {
    () => {
        /// Relations to other tables: none.
        #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
        pub enum Relation {}

        impl ActiveModelBehavior for ActiveModel {}
    };
}

/// Declares changes of a table with a column `user_id`.
macro_rules! owned_changes {
    () => {
        crate::owned::no_relations!();

        impl Entity {
            /// Returns an update of rows of this user.
            pub fn update_owned(user: UserId) -> sea_orm::UpdateMany<Entity> {
                Self::update_many().filter(Column::UserId.eq(user))
            }

            /// Returns a deletion of rows of this user.
            pub fn delete_owned(user: UserId) -> sea_orm::DeleteMany<Entity> {
                Self::delete_many().filter(Column::UserId.eq(user))
            }

            /// Writes the changed columns of one row of this user, and returns the row.
            ///
            /// # Errors
            /// [`DbErr::RecordNotUpdated`] when the user has no row with this primary key; another [`DbErr`] when the database
            /// fails.
            pub async fn update_owned_row(
                db: &impl ConnectionTrait,
                user: UserId,
                changed: ActiveModel,
            ) -> Result<Model, DbErr> {
                let own = Self::update(changed).validate()?.filter(Column::UserId.eq(user));
                let row = own.exec(db).await?;
                // Without a changed column `exec` writes nothing and reads the row by its primary key alone.
                if row.user_id == user { Ok(row) } else { Err(DbErr::RecordNotUpdated) }
            }

            /// Deletes one row of this user. Returns `false` if it did not exist any more.
            ///
            /// # Errors
            /// [`DbErr`] when the database fails.
            pub async fn delete_owned_row(
                db: &impl ConnectionTrait,
                user: UserId,
                row: Model,
            ) -> Result<bool, DbErr> {
                let own = Self::delete(ActiveModel::from(row)).validate()?.filter(Column::UserId.eq(user));
                Ok(own.exec(db).await?.rows_affected == 1)
            }
        }
    };
}

/// Declares finders and changes of a table with a column `user_id`. Given the type of its ids, also declares the finder of one row.
macro_rules! owned_table {
    () => {
        crate::owned::owned_changes!();

        impl Entity {
            /// Returns all rows of this user.
            pub fn owned_by(user: UserId) -> Select<Entity> {
                Self::find().filter(Column::UserId.eq(user))
            }
        }
    };
    ($id:ty) => {
        crate::owned::owned_table!();

        impl Entity {
            /// Returns the row with this id, if it belongs to this user.
            pub fn one_of(user: UserId, id: $id) -> Select<Entity> {
                Self::owned_by(user).filter(Column::Id.eq(id))
            }
        }
    };
}

/// Declares the condition by which old rows of a user are deleted when their number is bounded. Given the type of the ids, which sort by
/// creation time. An index of the table must have the columns `user_id` and `id`, in this order.
macro_rules! newest_rows {
    ($id:ty) => {
        impl Entity {
            /// Returns the condition that a row of this user is neither one of the newest `kept` rows nor the one that was just
            /// inserted. That one stays even if the clock was set back and older rows have later ids.
            pub fn is_beyond_newest(user: UserId, kept: u64, inserted: $id) -> Expr {
                use sea_orm::sea_query::{ExprTrait, Order, Query};

                // The newest row that is not kept. The user may have fewer rows; then it is NULL, which no id compares with.
                let newest_beyond = Query::select()
                    .column(Column::Id)
                    .from(Entity)
                    .and_where(Column::UserId.eq(user))
                    .order_by(Column::Id, Order::Desc)
                    .limit(1)
                    .offset(kept)
                    .take();
                Expr::col((Entity, Column::Id)).lte(newest_beyond).and(Column::Id.ne(inserted))
            }
        }
    };
}

pub(crate) use {newest_rows, no_relations, owned_changes, owned_table};
