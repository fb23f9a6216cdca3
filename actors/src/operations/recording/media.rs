//! Opens the file from which a text was made: a recording, or a PDF.

use entity::document;
use futures_util::TryStreamExt;
use storage::blobs::{BlobError, ByteStream};
use values::id::DocumentId;
use values::kind::ContentType;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::originals::{Originals, media_type_of};
use errors::Error;

/// Bytes that are read to tell the media type of a file.
const HEAD_BYTES: u64 = 64;

/// The file of a recording or a PDF.
pub struct RecordingFile {
    originals: Originals,
    path: String,
    /// Its length in bytes, at least 1.
    pub length: u64,
    /// Its media type, by its first bytes.
    pub media_type: &'static str,
    /// The name under which it was uploaded, or the title of its document.
    pub name: String,
    /// Changes whenever its bytes may be other ones.
    pub version: String,
}

impl RecordingFile {
    /// Reads a part of the file, which must lie within it.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn read(&self, range: std::ops::Range<u64>) -> Result<ByteStream, Error> {
        Ok(self.originals.uploads().store.read_range(&self.path, range).await?)
    }
}

/// Opens the file of a recording or a PDF. One that is not stored is fetched again, which may take minutes.
///
/// # Errors
/// [`Error::NotFound`] when the caller has no such document; [`Error::Conflict`] with the reason when there is no file any more; the
/// errors of the store.
pub async fn open_media(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<RecordingFile, Error> {
    let found = document::Entity::one_visible_to(caller.user, document).one(ctx.core.db.read()).await?;
    let document = found.ok_or(Error::not_found())?;
    let original = ctx.originals.find(&document).await?;
    let store = &ctx.originals.uploads().store;
    let length = match store.length(&original.path).await {
        Ok(0) | Err(BlobError::Missing) => {
            return Err(Error::conflict("the file is not stored any more; its text can still be read"));
        }
        Ok(length) => length,
        Err(error) => return Err(error.into()),
    };
    let media_type = if document.content_type == ContentType::Pdf {
        "application/pdf"
    } else {
        let head = store.read_range(&original.path, 0..length.min(HEAD_BYTES)).await?;
        let head: Vec<_> = head.try_collect().await?;
        media_type_of(&head.concat(), document.content_type == ContentType::Video)
    };
    Ok(RecordingFile {
        originals: ctx.originals.clone(),
        // The path has the id of the file, which another file never gets.
        version: format!("{}-{length}", original.path.replace('/', "-")),
        path: original.path,
        length,
        media_type,
        name: original.filename.unwrap_or(document.title),
    })
}
