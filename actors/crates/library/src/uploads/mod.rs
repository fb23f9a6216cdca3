//! Uploads: a client announces a file, sends it to a signed URL and completes the upload, which makes a bookmark of it.
//!
//! An upload has a row from its announcement on. Its bytes are a file of the store ([`crate::stored_files`]). Either this server
//! receives them ([`UploadReceiver`]), or the client sends them to the store directly, and they are checked when the upload is
//! completed ([`complete()`]). Completion creates the document, the bookmark and the job that extracts the text in one
//! transaction, once.

mod announce;
mod complete;
mod direct_upload;
mod media;
mod receive;
mod receive_file;
mod receive_locks;
mod receive_slots;
mod sweep;
mod upload_store;
mod url_signer;
mod usage;

pub use announce::{NewUpload, UploadTicket, announce, put_url};
pub use complete::{CompletedUpload, UploadCompletion, complete};
pub use direct_upload::find_direct_upload;
pub use media::MediaType;
pub use receive::{PutRequest, UploadReceiver};
pub use receive_file::receive_file;
pub use receive_locks::{ReceiveLock, ReceiveLocks};
pub use receive_slots::ReceiveSlots;
pub use sweep::sweep;
pub use upload_store::Uploads;
pub use url_signer::UrlSigner;
pub use usage::stored_bytes;
