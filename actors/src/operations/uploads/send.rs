//! Stores a whole file as an upload, for clients that cannot send its bytes to a separate URL, such as a form without script.

use disk::ScratchFile;
use values::scope::Scope;

use super::complete::CompleteUploadResponse;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;
use library::uploads::{self, NewUpload, UploadCompletion};

/// Stores a file that was received, as an upload that is complete.
pub struct SendUpload {
    /// The file.
    pub file: ScratchFile,
    /// Its name, media type and length.
    pub new: NewUpload,
}

impl Operation for SendUpload {
    type Reply = CompleteUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CompleteUploadResponse, Error> {
        let owner = caller.owner();
        let ticket = uploads::announce(&ctx.core, &ctx.uploads, &owner, self.new).await?;
        uploads::receive_file(&ctx.core, &ctx.uploads, &ctx.disk, &ticket.upload, self.file.path()).await?;
        let completion = UploadCompletion { upload: ticket.upload.id, sha256: None };
        let completed = uploads::complete(&ctx.core, &ctx.uploads, &owner, completion).await?;
        ctx.job_signal.notify();
        Ok(completed.into())
    }
}
