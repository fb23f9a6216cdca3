//! The handler of [`JobKind::SendEmail`](jobs::JobKind::SendEmail): sends a notice, or the link of a password reset, by e-mail until a
//! server has accepted it.

use std::time::Duration;

use entity::{job, notice, user};
use errors::Error;
use jobs::JobError;
use library::context::CoreContext;
use sea_orm::EntityTrait;
use storage::mail::{Email, Mailer, SendError};
use values::id::{NoticeId, PasswordResetId};

use crate::auth::password_resets;

/// Delay of the next attempt when the mailer is busy.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// Sends the e-mail of a notice or a password reset. Without a mailer, or when the row was removed, the job finishes and sends nothing.
///
/// # Errors
/// [`JobError::Transient`] or [`JobError::Permanent`] as the server answered; [`JobError::Internal`] when the database fails.
pub(crate) async fn run(
    core: &CoreContext,
    mailer: Option<&Mailer>,
    job: &job::Model,
) -> Result<(), JobError> {
    // The server may have accepted an e-mail whose job did not end because of a crash; it is sent once more then. Both have the
    // id of the notice, so a mail program can recognise the duplicate.
    let owner = user::Entity::find_by_id(job.user_id).one(core.db.read()).await?;
    if let (Some(mailer), Some(owner)) = (mailer, owner)
        && let Some(email) = find_email(core, job, owner).await?
    {
        mailer.send(&email).await.map_err(job_error)?;
    }
    jobs::finish(core.db.write(), job, core.clock.now()).await?;
    Ok(())
}

/// Returns the e-mail that is the subject of a job: that of a notice or, if there is none with this id, of a password reset.
async fn find_email(
    core: &CoreContext,
    job: &job::Model,
    owner: user::Model,
) -> Result<Option<Email>, Error> {
    let notice = notice::Entity::one_of(job.user_id, NoticeId(job.subject)).one(core.db.read()).await?;
    match notice {
        Some(notice) => Ok(Some(compose(core, notice, owner))),
        None => password_resets::compose(core, &owner, PasswordResetId(job.subject), job.attempts).await,
    }
}

fn compose(core: &CoreContext, notice: notice::Model, owner: user::Model) -> Email {
    let text = format!(
        "{}\n\n{}\n\n-- \nCarrel, {}\nCarrel sends an e-mail for each notice. The operator can turn these e-mails off (setting mail.url).",
        notice.title, notice.body, core.base_url
    );
    Email {
        id: notice.id.to_string(),
        to: owner.email,
        subject: on_one_line(&notice.title),
        text,
        written_at: notice.created_at,
    }
}

/// Replaces control characters. Names of users and clients must not add lines to the header of an e-mail.
fn on_one_line(text: &str) -> String {
    // A space and not nothing, so that words on two lines stay apart.
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn job_error(error: SendError) -> JobError {
    match error {
        // Not the fault of the e-mail: `Busy` waits without using up an attempt.
        SendError::Busy => JobError::Internal(Error::Busy(BUSY_RETRY)),
        SendError::Transient(_) => JobError::Transient { reason: error.to_string(), after: None },
        SendError::Permanent(_) => JobError::Permanent(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_adds_no_line_to_the_header() {
        assert_eq!(on_one_line("The key “a\r\nBcc: x” was used"), "The key “a  Bcc: x” was used");
    }
}
