//! Files that come in an archive, brought into the store before the transaction that gives them to their uploads.

use std::fmt;

use entity::{import, user};
use parse::archive::FileRecord;
use sandbox::SandboxError;
use sandbox::import::ImportReader;
use sea_orm::EntityTrait;
use sha2::{Digest, Sha256};
use text::hexadecimal;
use tokio_util::bytes::Bytes;

use super::super::Means;
use super::super::take::{Became, Unread};
use errors::Error;
use crate::stored_files::{Held, Written};
use crate::uploads::{self, MediaType};

/// What came of bringing a file.
pub enum Brought {
    /// It is in the store, with this sum, and waits to be given to its upload.
    Here(Held, String),
    /// It is not taken, and why.
    Refused(Refusal),
}

/// Why a file is not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The archive is faulty.
    Faulty(&'static str),
    /// A limit of the plan is reached.
    OverPlan(&'static str),
}

impl Refusal {
    /// The outcome of a row that holds only the file.
    pub fn outcome(self) -> Became {
        match self {
            Self::Faulty(why) => Became::Passed(why.to_owned()),
            Self::OverPlan(why) => Became::OverPlan(why.to_owned()),
        }
    }
}

impl fmt::Debug for Brought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Brought::Here(..) => "Here",
            Brought::Refused(_) => "Refused",
        })
    }
}

/// Brings a file out of the archive into the store; `before` are bytes that were brought and are not counted yet.
///
/// # Errors
/// The store, or the child that reads the archive.
pub async fn bring(
    means: &Means,
    import: &import::Model,
    reading: &mut ImportReader,
    file: &FileRecord,
    before: u64,
) -> Result<Brought, Unread> {
    if let Some(why) = refusal(means, import, file, before).await? {
        return Ok(Brought::Refused(why));
    }
    match reading.open_file(file.path.clone()).await {
        Ok(()) => {}
        Err(SandboxError::Import(_)) => {
            return Ok(Brought::Refused(Refusal::Faulty("its file is not in the archive")));
        }
        Err(error) => return Err(error.into()),
    }
    let store = &*means.store;
    let mut written = Written::begin(&means.core, store).await?;
    match copy(reading, Some(&mut written), file).await {
        Ok(Some(sum)) => Ok(Brought::Here(written.finish(&means.core, store).await?, sum)),
        Ok(None) => {
            written.abort(&means.core, store).await;
            Ok(Brought::Refused(Refusal::Faulty("its file does not match the export")))
        }
        Err(Unread::Sandbox(SandboxError::Import(_))) => {
            written.abort(&means.core, store).await;
            Ok(Brought::Refused(Refusal::Faulty("its file is damaged")))
        }
        Err(error) => {
            written.abort(&means.core, store).await;
            Err(error)
        }
    }
}

/// The sum of a file that is left where it is; `None` where it is not as the list says.
///
/// # Errors
/// The child that reads the archive.
pub async fn sum_of(reading: &mut ImportReader, file: &FileRecord) -> Result<Option<String>, Unread> {
    let sum = match reading.open_file(file.path.clone()).await {
        Ok(()) => copy(reading, None, file).await,
        Err(error) => Err(error.into()),
    };
    match sum {
        Err(Unread::Sandbox(SandboxError::Import(_))) => Ok(None),
        sum => sum,
    }
}

/// Why a file is not even looked at.
///
/// # Errors
/// The database.
pub async fn refusal(
    means: &Means,
    import: &import::Model,
    file: &FileRecord,
    before: u64,
) -> Result<Option<Refusal>, Error> {
    let db = means.core.db.read();
    let Some(owner) = user::Entity::find_by_id(import.user_id).one(db).await? else {
        return Ok(Some(Refusal::Faulty("the account was removed")));
    };
    let limits = means.core.plans.limits(owner.plan);
    if MediaType::parse(&file.content_type).and_then(|kind| kind.content_type()).is_none() {
        return Ok(Some(Refusal::Faulty("its file type is not supported")));
    }
    if file.bytes == 0 {
        return Ok(Some(Refusal::Faulty("its file is empty")));
    }
    if file.bytes > limits.upload_bytes {
        return Ok(Some(Refusal::OverPlan("its file is larger than the plan allows")));
    }
    let stored = uploads::stored_bytes(db, owner.id, means.core.clock.now()).await?;
    let full = stored.saturating_add(before).saturating_add(file.bytes) > limits.stored_bytes;
    Ok(full.then_some(Refusal::OverPlan(
        "its file does not fit: the bytes of uploads that the plan allows are used up",
    )))
}

/// The sum of what was copied; `None` where it is not what was said.
async fn copy(
    reading: &mut ImportReader,
    mut written: Option<&mut Written>,
    file: &FileRecord,
) -> Result<Option<String>, Unread> {
    let (mut sum, mut got) = (Sha256::new(), 0_u64);
    loop {
        let piece = reading.next_piece().await?;
        if piece.is_empty() {
            break;
        }
        got += piece.len() as u64;
        if got > file.bytes {
            return Ok(None);
        }
        sum.update(&piece);
        if let Some(written) = &mut written {
            written.write(Bytes::from(piece)).await?;
        }
    }
    let sum = hexadecimal(&sum.finalize());
    let same = got == file.bytes && file.sha256.as_ref().is_none_or(|said| *said == sum);
    Ok(same.then_some(sum))
}
