//! Each notice is told by a letter too (contract.md, section 11: IngestContext). The job is asked for in the transaction that writes
//! the notice, so neither is there without the other, and the letter is sent in the background until it has left.

use entity::id::NoticeId;
use entity::{job, notice, user};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel};
use storage::mail::{Email, SendError};

use crate::ingest::context::IngestContext;
use errors::Error;
use jobs::JobError;
use jobs::{Priority, JobKind};

/// Writes a notice, and asks for its letter.
pub(crate) async fn write(txn: &impl ConnectionTrait, row: notice::Model) -> Result<(), sea_orm::DbErr> {
    let (user, id, now) = (row.user_id, row.id, row.created_at);
    notice::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    jobs::enqueue(txn, user, JobKind::SendEmail, id.0, Priority::Now, now).await
}

/// Sends the letter of a notice; without a way for letters, or when the notice is gone, there is nothing to do.
pub(crate) async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = NoticeId(job.subject);
    let told = notice::Entity::one_of(job.user_id, id).one(ctx.core.db.read()).await?;
    let owner = user::Entity::find_by_id(job.user_id).one(ctx.core.db.read()).await?;
    if let (Some(mailer), Some(told), Some(owner)) = (&ctx.mail, told, owner) {
        mailer.send(&email(ctx, told, owner)).await.map_err(failure)?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}

fn email(ctx: &IngestContext, told: notice::Model, owner: user::Model) -> Email {
    let text = format!(
        "{}\n\n{}\n\n-- \nCarrel, {}\nYou get one letter for each notice in the ctx.",
        told.title, told.body, ctx.core.base_url
    );
    Email {
        id: told.id.to_string(),
        to: owner.email,
        subject: on_one_line(&told.title),
        text,
        written_at: told.created_at,
    }
}

/// What people and clients call themselves ends no line of a letter's head.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn failure(error: SendError) -> JobError {
    match error {
        SendError::Busy => JobError::Internal(Error::Busy(std::time::Duration::from_secs(1))),
        SendError::Transient(_) => JobError::Transient { reason: error.to_string(), after: None },
        SendError::Permanent(_) => JobError::Permanent(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_adds_no_line_to_a_letters_head() {
        assert_eq!(on_one_line("The key “a\r\nBcc: x” was used"), "The key “a  Bcc: x” was used");
    }
}
