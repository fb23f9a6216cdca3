//! Files inside an archive. They are copied into the store before the transaction that attaches them to their uploads.

use std::fmt;

use entity::{import, user};
use parse::archive::FileRecord;
use sandbox::SandboxError;
use sandbox::import::ImportReader;
use sea_orm::EntityTrait;
use sha2::{Digest, Sha256};
use tokio_util::bytes::Bytes;

use super::super::context::ImportContext;
use super::super::rows::result::RowResult;
use super::error::ReadError;
use crate::stored_files::{FileLease, FileWriter};
use crate::uploads::{self, MediaType};
use errors::Error;

/// The outcome of a file inside an archive.
pub enum ArchiveFile {
    /// It is in the store, with this SHA-256 in hexadecimal digits, and belongs to nothing yet.
    Stored(FileLease, String),
    /// It was not copied, for this reason.
    Refused(FileRefusal),
}

/// Why a file inside an archive is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileRefusal {
    /// The archive is faulty; the reason.
    Faulty(&'static str),
    /// A limit of the plan is reached; the reason.
    OverPlan(&'static str),
}

impl FileRefusal {
    /// Returns the result of a row that holds only the file.
    pub fn into_row_result(self) -> RowResult {
        match self {
            // Only faults of the file count towards the run of faults that ends an import.
            Self::Faulty(why) => RowResult::Skipped(why.to_owned()),
            Self::OverPlan(why) => RowResult::OverPlan(why.to_owned()),
        }
    }
}

impl fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArchiveFile::Stored(..) => "Stored",
            ArchiveFile::Refused(_) => "Refused",
        })
    }
}

/// Copies a file from the archive into the store. `uncounted_bytes` are those of the files that this batch copied before: they
/// count towards the limit of the plan, but no upload has them yet.
///
/// # Errors
/// [`ReadError`] when the store fails, or the child process that reads the archive.
pub async fn store(
    context: &ImportContext,
    import: &import::Model,
    reader: &mut ImportReader,
    file: &FileRecord,
    uncounted_bytes: u64,
) -> Result<ArchiveFile, ReadError> {
    if let Some(refusal) = check_limits(context, import, file, uncounted_bytes).await? {
        return Ok(ArchiveFile::Refused(refusal));
    }
    match reader.open_file(file.path.clone()).await {
        Ok(()) => {}
        Err(SandboxError::Import(_)) => {
            return Ok(ArchiveFile::Refused(FileRefusal::Faulty("its file is not in the archive")));
        }
        Err(error) => return Err(error.into()),
    }
    let (core, store) = (&context.core, &*context.store);
    let mut writer = FileWriter::begin(core, store).await?;
    match copy(reader, Some(&mut writer), file).await {
        Ok(Some(sha256)) => Ok(ArchiveFile::Stored(writer.finish(core, store).await?, sha256)),
        // A faulty file costs its row alone; the error of the store below ends the attempt, so that it is tried again.
        Ok(None) => {
            writer.abort(core, store).await;
            Ok(ArchiveFile::Refused(FileRefusal::Faulty("its file does not match the export")))
        }
        Err(ReadError::Sandbox(SandboxError::Import(_))) => {
            writer.abort(core, store).await;
            Ok(ArchiveFile::Refused(FileRefusal::Faulty("its file is damaged")))
        }
        Err(error) => {
            writer.abort(core, store).await;
            Err(error)
        }
    }
}

/// Returns the SHA-256 of a file without copying it; `None` when the file is missing or is not as its record says.
///
/// # Errors
/// [`ReadError`] when the child process that reads the archive fails.
pub async fn digest(reader: &mut ImportReader, file: &FileRecord) -> Result<Option<String>, ReadError> {
    let sha256 = match reader.open_file(file.path.clone()).await {
        Ok(()) => copy(reader, None, file).await,
        Err(error) => Err(error.into()),
    };
    match sha256 {
        Err(ReadError::Sandbox(SandboxError::Import(_))) => Ok(None),
        sha256 => sha256,
    }
}

/// Returns why a file is refused before it is read: by its type, its length, or the limits of the plan. `uncounted_bytes` are
/// added to the bytes of the user's uploads.
pub async fn check_limits(
    context: &ImportContext,
    import: &import::Model,
    file: &FileRecord,
    uncounted_bytes: u64,
) -> Result<Option<FileRefusal>, Error> {
    let db = context.core.db.read();
    let Some(owner) = user::Entity::find_by_id(import.user_id).one(db).await? else {
        return Ok(Some(FileRefusal::Faulty("the account was removed")));
    };
    let limits = context.core.plans.limits(owner.plan);
    if MediaType::parse(&file.content_type).and_then(|kind| kind.content_type()).is_none() {
        return Ok(Some(FileRefusal::Faulty("its file type is not supported")));
    }
    if file.bytes == 0 {
        return Ok(Some(FileRefusal::Faulty("its file is empty")));
    }
    if file.bytes > limits.upload_bytes {
        return Ok(Some(FileRefusal::OverPlan("its file is larger than the plan allows")));
    }
    let stored = uploads::stored_bytes(db, owner.id, context.core.clock.now()).await?;
    let is_full = stored.saturating_add(uncounted_bytes).saturating_add(file.bytes) > limits.stored_bytes;
    Ok(is_full.then_some(FileRefusal::OverPlan(
        "its file does not fit: the bytes of uploads that the plan allows are used up",
    )))
}

/// Reads the opened file to its end, and writes it where it is to be written. Returns its SHA-256; `None` when its length or its
/// digest is not that of its record.
async fn copy(
    reader: &mut ImportReader,
    mut writer: Option<&mut FileWriter>,
    file: &FileRecord,
) -> Result<Option<String>, ReadError> {
    let (mut digest, mut length) = (Sha256::new(), 0_u64);
    loop {
        let piece = reader.next_piece().await?;
        if piece.is_empty() {
            break;
        }
        length += piece.len() as u64;
        // Checked before the piece is written: the quota was asked for the declared length.
        if length > file.bytes {
            return Ok(None);
        }
        digest.update(&piece);
        if let Some(writer) = &mut writer {
            writer.write(Bytes::from(piece)).await?;
        }
    }
    let sha256 = base16ct::lower::encode_string(&digest.finalize());
    let is_as_recorded =
        length == file.bytes && file.sha256.as_ref().is_none_or(|declared| *declared == sha256);
    Ok(is_as_recorded.then_some(sha256))
}
