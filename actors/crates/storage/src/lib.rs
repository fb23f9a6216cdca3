//! # Files and e-mail
//!
//! [`blobs`] stores the bytes of files, in a folder of this machine or in a bucket that speaks S3; [`mail`] sends e-mail, over
//! SMTP or as files into a folder.
//!
//! | To | Call |
//! |---|---|
//! | open a store | [`blobs::FolderStore::open`], [`blobs::S3Store::open`] |
//! | write a file | [`blobs::BlobStore::create`], then [`blobs::BlobWriter`] |
//! | check whether a bucket can be used | [`blobs::S3Store::probe`] |
//! | read a file by its path | [`blobs::BlobStore::local_file`] |
//! | let a client send bytes to the bucket itself | [`blobs::BlobStore::upload_bucket`], [`blobs::S3Store::presign_put`] |
//! | remove a file | [`blobs::BlobStore::remove`] |
//! | make the path of a file | [`blobs::blob_path`], [`blobs::incoming_path`] |
//! | send an e-mail | [`mail::Mailer::send`] |
//!
//! A file appears in the store whole or not at all, and outlives a crash of the machine once its write has finished. A store in a
//! folder announces its bytes to crate `disk` before it writes them, and refuses them below the floor. A file that is being
//! written takes at most two parts of memory: 1 MiB each in a folder, 32 MiB each in a bucket. One e-mail is sent at a time.
//!
//! This crate depends on no rows, actors or settings. It does not retry: jobs do. No error or log line contains credentials, the
//! address of a recipient, or the text of an e-mail.

pub mod blobs;
pub mod mail;
