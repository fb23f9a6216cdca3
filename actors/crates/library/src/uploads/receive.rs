//! Bytes on their way in, where this service takes them: written as they come and never held in memory, and given to
//! their upload once they are whole and on the disk. A second arrival before completion replaces the first; one that
//! breaks off changes nothing and leaves nothing.

use database::on_behalf_of;
use entity::id::UploadId;
use entity::time::Timestamp;
use entity::upload::{Column, Entity, Model};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use sha2::{Digest, Sha256};
use storage::blobs::{BlobError, BlobWriter, PART_BYTES, blob_path};
use text::hexadecimal;
use tokio::task::JoinHandle;
use tokio_util::bytes::Bytes;

use super::media::MediaType;
use super::stored::{self, Held};
use super::turns::Turn;
use actors::context::CoreContext;
use errors::Error;

/// What stands in an upload's address.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Which upload.
    pub upload: UploadId,
    /// Good until then.
    pub until: Timestamp,
    /// That it is our own.
    pub signature: String,
}

/// What a request says of the bytes that follow.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Their media type.
    pub content_type: Option<String>,
    /// Their length, where it is told beforehand.
    pub bytes: Option<u64>,
}

/// See the file's head.
pub struct Arrival {
    ctx: CoreContext,
    upload: Model,
    announced: u64,
    held: Held,
    writing: Box<dyn BlobWriter>,
    part: Vec<u8>,
    got: u64,
    /// The parts so far; digested off this thread, while the next part comes.
    digest: JoinHandle<Sha256>,
    turn: Turn,
}

impl Arrival {
    /// Looks at the address and at what is said of the bytes, then ends what other bytes come for the upload.
    ///
    /// # Errors
    /// [`Error::UploadRefused`] for a signature that is not ours or an address past its time, [`Error::NotFound`] for an
    /// upload that is gone, [`Error::Conflict`] for one that is complete, [`Error::TooLarge`] and [`Error::Invalid`] for
    /// another length or type than announced, [`Error::StorageFull`] where the disk has no room for all of it.
    pub async fn begin(core: &CoreContext, pass: &Pass, said: Said) -> Result<Self, Error> {
        admitted(ctx, pass)?;
        let upload = awaited(ctx, pass).await?;
        let announced = u64::try_from(upload.bytes).unwrap_or_default();
        fits(&upload, announced, &said)?;
        let turn = ctx.uploads.turns.of(pass.upload).await;
        // The bytes before may have been completed while these waited for their turn.
        let upload = awaited(ctx, pass).await?;
        if ctx.uploads.store.presigned_uploads().is_some() {
            return Err(BlobError::PresignedOnly.into());
        }
        // A row of the file would be written before the store refuses it.
        ctx.disk.require_room()?;
        let held = stored::hold(ctx, Some(upload.id), blob_path).await?;
        let writing = match ctx.uploads.store.create(&held.path, Some(announced)).await {
            Ok(writing) => writing,
            Err(error) => {
                stored::discard(ctx, &*ctx.uploads.store, held).await;
                return Err(error.into());
            }
        };
        let digest = tokio::task::spawn_blocking(Sha256::new);
        Ok(Self {
            app: ctx.clone(),
            upload,
            announced,
            held,
            writing,
            part: Vec::new(),
            got: 0,
            digest,
            turn,
        })
    }

    /// Takes bytes in.
    ///
    /// # Errors
    /// [`Error::TooLarge`] once there are more than announced, or those of the store. The arrival is to be ended then.
    pub async fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.got += bytes.len() as u64;
        if self.got > self.announced {
            return Err(longer_than(self.announced));
        }
        self.part.extend_from_slice(bytes);
        if self.part.len() >= PART_BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(PART_BYTES + PART_BYTES / 8));
        let mut digest = (&mut self.digest).await.map_err(Error::internal)?;
        let bytes = Bytes::from(part);
        let same = bytes.clone();
        self.digest = tokio::task::spawn_blocking(move || {
            digest.update(&same);
            digest
        });
        Ok(self.writing.write(bytes).await?)
    }

    /// Waits until another request has come for the same upload: then this one is to be ended.
    pub async fn replaced(&self) {
        self.turn.over().await;
    }

    /// Nothing more comes: gives the bytes to their upload.
    ///
    /// # Errors
    /// [`Error::Invalid`] where bytes are missing, [`Error::Conflict`] where the upload was completed meanwhile.
    /// Nothing of the bytes is left then.
    pub async fn finish(mut self) -> Result<(), Error> {
        let (got, announced) = (self.got, self.announced);
        if got < announced {
            self.end().await;
            return Err(Error::invalid("body", format!("has {got} bytes, and {announced} were announced")));
        }
        if let Err(error) = self.flush().await {
            self.end().await;
            return Err(error);
        }
        let Self { app, upload, held, writing, digest, turn: _turn, .. } = self;
        let given = async {
            let digest = digest.await.map_err(Error::internal)?.finalize();
            writing.finish().await?;
            give(&ctx, &upload, &held, hexadecimal(&digest)).await
        };
        let given = given.await;
        if given.is_err() {
            stored::discard(&ctx, &*ctx.uploads.store, held).await;
        }
        given
    }

    /// Takes back what came.
    pub async fn end(self) {
        self.writing.abort().await;
        stored::discard(&self.app, &*self.app.uploads.store, self.held).await;
    }
}

fn admitted(core: &CoreContext, pass: &Pass) -> Result<(), Error> {
    if !ctx.uploads.signatures.is_own(pass.upload, pass.until, &pass.signature) {
        return Err(Error::UploadRefused(
            "the signature of the upload URL is not valid; use putUrl as it was returned",
        ));
    }
    if core.clock.now() >= pass.until {
        return Err(Error::UploadRefused("the upload URL has expired; create a new upload"));
    }
    Ok(())
}

/// The upload, whose bytes are still to come or to be replaced.
async fn awaited(core: &CoreContext, pass: &Pass) -> Result<Model, Error> {
    let upload = Entity::by_signed_url(pass.upload).one(core.db.read()).await?.ok_or(Error::not_found())?;
    if upload.completed_at.is_some() { Err(COMPLETE) } else { Ok(upload) }
}

const COMPLETE: Error = Error::Conflict("the upload is complete; its file can no longer be replaced");

fn longer_than(announced: u64) -> Error {
    Error::TooLarge { what: "the file", limit: announced }
}

fn fits(upload: &Model, announced: u64, said: &Said) -> Result<(), Error> {
    let said_type = said.content_type.as_deref().and_then(MediaType::parse);
    if said_type.is_none_or(|said| Some(said) != MediaType::parse(&upload.content_type)) {
        return Err(Error::invalid("Content-Type", "must be the contentType that was announced"));
    }
    match said.bytes {
        Some(bytes) if bytes > announced => Err(longer_than(announced)),
        Some(bytes) if bytes < announced => Err(Error::invalid(
            "Content-Length",
            format!("must be the {announced} bytes that were announced"),
        )),
        Some(_) | None => Ok(()),
    }
}

async fn give(core: &CoreContext, upload: &Model, held: &Held, sha256: String) -> Result<(), Error> {
    let now = core.clock.now();
    let txn = on_behalf_of(upload.user_id, core.db.begin()).await?;
    let arrived = Entity::update_many()
        .col_expr(Column::ArrivedAt, Expr::value(Some(now)))
        .col_expr(Column::Sha256, Expr::value(Some(sha256)))
        .filter(Column::Id.eq(upload.id))
        .filter(Column::CompletedAt.is_null())
        .exec(&txn)
        .await?;
    if arrived.rows_affected == 0 {
        return Err(COMPLETE);
    }
    if !stored::attach(&txn, held.id, upload.id, now).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    Ok(txn.commit().await?)
}
