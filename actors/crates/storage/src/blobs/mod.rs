//! Stores of files: a folder of this machine, or a bucket that speaks S3, both through the library `object_store`. Paths are made
//! from ids ([`blob_path`], [`incoming_path`]), never from names that a user chose.
//!
//! The two stores differ in who receives the bytes of uploads. With a folder the server does. With a bucket the client sends them
//! to the bucket itself, to a presigned URL ([`BlobStore::upload_bucket`]). Files that the server writes go the same way to
//! either ([`BlobStore::create`]).

mod blob_error;
mod blob_store;
mod folder;
mod local_file;
mod paths;
mod s3;
mod s3_blob_store;
mod s3_probe;

pub use blob_error::BlobError;
pub use blob_store::{BlobStore, BlobWriter, ByteStream, PART_BYTES};
pub use folder::FolderStore;
pub use local_file::LocalFile;
pub use paths::{blob_path, incoming_path};
pub use s3::{ReceivedObject, S3Settings, S3Store};
pub use s3_probe::BucketFault;
