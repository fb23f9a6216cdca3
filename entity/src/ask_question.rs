//! A question of a thread, with its answer.

use sea_orm::entity::prelude::*;
use values::id::{AskQuestionId, AskThreadId, UserId};
use values::kind::QuestionState;
use values::time::Timestamp;

/// A question of a thread, with its answer.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "ask_question")]
pub struct Model {
    /// Id of the question, which is also the subject of the job that answers it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AskQuestionId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The thread that contains it.
    pub thread_id: AskThreadId,
    /// Its number in the thread, from 1.
    pub number: i32,
    /// The question in the words of the user.
    #[sea_orm(column_type = "Text")]
    pub question: String,
    /// Whether the answer is being prepared, is there, or failed.
    pub state: QuestionState,
    /// The answer with its citations, as JSON; `None` unless it was answered.
    #[sea_orm(column_type = "Text", nullable)]
    pub answer: Option<String>,
    /// The code of the error for which it was not answered; `None` unless it failed.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Time at which it was asked, or asked again.
    pub asked_at: Timestamp,
    /// Time at which it was answered or failed.
    pub ended_at: Option<Timestamp>,
}

crate::owned::owned_table!(AskQuestionId);
