//! Each notice is told by a letter too (contract.md, section 11: App). The job is asked for in the transaction that writes
//! the notice, so neither is there without the other, and the letter is sent in the background until it has left.

use entity::id::NoticeId;
use entity::{job, notice, user};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel};
use storage::mail::{Email, SendError};

use crate::app::App;
use crate::error::Error;
use crate::ingest::Failure;
use crate::ingest::queue::{self, Priority, Work};

/// Writes a notice, and asks for its letter.
pub(crate) async fn write(txn: &impl ConnectionTrait, row: notice::Model) -> Result<(), sea_orm::DbErr> {
    let (user, id, now) = (row.user_id, row.id, row.created_at);
    notice::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    queue::ask(txn, user, Work::Letter, id.0, Priority::Now, now).await
}

/// Sends the letter of a notice; without a way for letters, or when the notice is gone, there is nothing to do.
pub(crate) async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = NoticeId(job.subject);
    let told = notice::Entity::one_of(job.user_id, id).one(app.db.read()).await?;
    let owner = user::Entity::find_by_id(job.user_id).one(app.db.read()).await?;
    if let (Some(mailer), Some(told), Some(owner)) = (&app.mail, told, owner) {
        mailer.send(&email(app, told, owner)).await.map_err(failure)?;
    }
    queue::finish(app.db.write(), job, app.clock.now()).await?;
    Ok(())
}

fn email(app: &App, told: notice::Model, owner: user::Model) -> Email {
    let text = format!(
        "{}\n\n{}\n\n-- \nCarrel, {}\nYou get one letter for each notice in the app.",
        told.title, told.body, app.base_url
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

fn failure(error: SendError) -> Failure {
    match error {
        SendError::Busy => Failure::Inside(Error::Busy(std::time::Duration::from_secs(1))),
        SendError::Transient(_) => Failure::Passing { reason: error.to_string(), after: None },
        SendError::Permanent(_) => Failure::Permanent(error.to_string()),
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
