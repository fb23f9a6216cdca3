//! # Child processes that parse untrusted bytes
//!
//! The parsers of crate [`parse`] run in child processes that can reach nothing and may die. A page that crashes or hangs its
//! child, or needs too much memory, fails its own job only (faults-and-threats.md, section 4.2;
//! rows 35, 38, P1, P6).
//!
//! | To | Call |
//! |---|---|
//! | start a sandbox | [`Sandbox::new`], with a [`SandboxCommand`] and [`SandboxSettings`] |
//! | read a page, a PDF, a feed, a list of feeds | [`Sandbox::read_article`], [`Sandbox::read_pdf`], [`Sandbox::read_feed`], [`Sandbox::read_opml`] |
//! | draw a page of a PDF, read the sizes of its pages, or the places of its words | [`Sandbox::draw_pdf_page`], [`Sandbox::read_pdf_sizes`], [`Sandbox::read_pdf_layer`] |
//! | decode a picture of a page and encode it again | [`Sandbox::read_picture`] |
//! | decode a recording piece by piece | [`Sandbox::open_audio`] |
//! | read a file of another program row by row | [`Sandbox::open_import`] |
//! | list the mechanisms of confinement that this kernel has | [`Sandbox::confinement`] |
//! | run as the child | [`child::run`], first of all in a program that is started with [`SUBCOMMAND`] |
//!
//! The child is this same program, started as `carrel parse-worker`: no environment, no files, no sockets, no other programs
//! (landlock and seccomp), and bounds of memory, processor time and open files (rlimits). What a kernel lacks is reported and
//! logged. Parent and child exchange frames over a socket: a JSON header, then bytes, both bounded before they are read. Pages,
//! documents, pages of PDFs and pictures share a few children each, which are reused; a recording or a file of another program has a
//! separate child, which receives it as a read-only descriptor. A future that is dropped, or whose time is up, kills its child.
//!
//! [`SandboxSettings`] holds all bounds. This crate depends on no rows or jobs: the caller decides what an error means for a job.
//! No error and no log line contains any of the input.

pub mod audio;
pub mod child;
mod command;
mod confinement;
pub mod import;
mod pdf_pages;
mod pool;
mod sandbox;
mod sandbox_error;
mod settings;
#[cfg(test)]
mod tests;
mod wire;

pub use command::{SUBCOMMAND, SandboxCommand};
pub use confinement::{Confinement, Mechanism};
pub use pdf_pages::DrawnPage;
pub use sandbox::{Page, PdfText, Sandbox};
pub use sandbox_error::SandboxError;
pub use settings::SandboxSettings;
