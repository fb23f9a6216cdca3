//! # Parsers of untrusted bytes
//!
//! Turns bytes that come from outside, such as web pages, PDFs, feeds, recordings and files of other programs, into values
//! that the library stores.
//!
//! | To | Call |
//! |---|---|
//! | read the article of a web page, with its title, author and the like | [`html::read_article`] |
//! | read the text of a PDF in reading order | [`pdf::read_pdf`] |
//! | draw a page of a PDF, read its size, or the places of its words | [`pdf::draw_page`], [`pdf::read_page_sizes`], [`pdf::read_page_layer`] |
//! | decode a picture of a page and encode it again | [`picture::read_picture`] |
//! | prepare the stored HTML of a text for a page of the web app | [`html::display`] |
//! | read a feed, or find the feeds that a page names | [`feed::read_feed`] |
//! | read a list of feeds (OPML) | [`feed::read_opml`] |
//! | decode a recording to samples of one channel | [`audio::Recording::open`] |
//! | read the bookmarks of another program, or an export of this one | [`bookmarks::ImportSource::open`] |
//! | read or write a line of an export | [`archive::Record`] |
//!
//! Every result is bounded, whatever the input: names to 300 characters, the texts of one feed to 6 MiB, the elements of a page
//! to 512 within each other, an archive to 100 times its length when it is unpacked. A text is normalised (NFC), and HTML in a
//! result is safe to show. Offsets count Unicode scalar values.
//!
//! The caller bounds time, memory and stack. Most parsers take time that grows with the length of the input; those of
//! other libraries may still take long, overflow the stack or panic, so the server calls this crate in the child processes of
//! the sandbox, and a file is given as a descriptor that is open for reading. The server itself uses the
//! values alone.
//!
//! This crate opens no file, no socket and no process, keeps no state and writes no log. No error holds a word of the input.

pub mod archive;
pub mod audio;
pub mod bookmarks;
pub mod feed;
pub mod html;
pub mod pdf;
pub mod picture;
