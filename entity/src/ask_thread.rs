//! A question of the web app with its follow-up questions.

use sea_orm::entity::prelude::*;
use values::id::{AskThreadId, UserId};
use values::time::Timestamp;

/// A question of the web app with its follow-up questions, all asked of the same part of the library.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "ask_thread")]
pub struct Model {
    /// Id of the thread, by which its page is found.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AskThreadId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The part of the library that is asked: `all`, `collection:ID`, `project:ID`, or `picked:ID,ID`.
    #[sea_orm(column_type = "Text")]
    pub scope: String,
    /// The first question.
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// Time of the first question.
    pub created_at: Timestamp,
    /// Time of the last question.
    pub asked_at: Timestamp,
}

crate::owned::owned_table!(AskThreadId);
