//! Exports of a library.

pub mod exports;
