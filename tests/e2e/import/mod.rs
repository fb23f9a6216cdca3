//! Imports from other programs, and their undo.

pub mod imports;
mod undo;
